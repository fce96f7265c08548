"""audit: run the gates over an environment again. The subject is its reference."""

from __future__ import annotations

from agents.authors import author
from lineages.gates.base import Subject
from lineages.growth.subjects import of_environment
from lineages.library import audits
from lineages.library.models import Audit, Environment, Job
from lineages.library.references import find
from lineages.lifecycle import Lease
from sandboxes.errors import MachineFault


def run(job: Job, lease: Lease) -> None:
    """Raises `MachineFault` where the audit ended in error, so that the job is tried again."""
    environment = find(job.subject)
    subject = of_environment(environment, author("offline"))
    audit = job.audit
    if audit is None or (audit.status == Audit.Status.QUEUED and not audits.resumable(audit, subject)):
        audit = _open(job, environment, subject, lease)
    if audit.status == Audit.Status.QUEUED:
        audits.run(audit, subject, lease)
    audit.refresh_from_db()
    if audit.status in (Audit.Status.ERROR, Audit.Status.ABANDONED):
        with lease.writing():
            Job.objects.filter(pk=job.pk).update(audit=None)
        raise MachineFault(audit.last_reason)


def _open(job: Job, environment: Environment, subject: Subject, lease: Lease) -> Audit:
    parent = environment.parent.snapshot if environment.parent else None
    with lease.writing():
        job.audit = audits.open_audit(
            environment.snapshot, subject, profile=audits.WHOLE_PROFILE, parent=parent
        )
        job.save(update_fields=["audit"])
    return job.audit
