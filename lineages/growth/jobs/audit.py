"""audit: run the gates over an environment again. The subject is its reference."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from django.contrib.auth.models import User

from agents.authors import author
from lineages.gates import all_gates
from lineages.gates.base import Result, Subject
from lineages.growth.subjects import of_environment
from lineages.growth.withdrawing import withdraw
from lineages.library import audits
from lineages.library.models import Audit, Environment, GateResult, Job
from lineages.library.references import find
from lineages.lifecycle import Lease, Stale
from sandboxes.errors import MachineFault


def run(job: Job, lease: Lease) -> None:
    """What a gate passed before and fails now is withdrawn.

    Raises `MachineFault` where the audit ended in error, so that the job is tried again.
    """
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
    if audit.status == Audit.Status.REJECTED and job.started_by:
        _hold_back(environment, audit, job.started_by)


def _hold_back(environment: Environment, audit: Audit, by: User) -> None:
    """Withdraw what a gate had passed in this version and fails now, in the name of whoever asked."""
    broken = next(_broken(audit), None)
    if broken:
        with contextlib.suppress(Stale):  # withdrawn already
            reason = f"the {broken.gate} gate failed when it ran again: {broken.summary}"
            withdraw(environment, reason=reason, by=by)


def _broken(audit: Audit) -> Iterator[GateResult]:
    """Failures of gates that no judge's opinion is in, which no person has voided.

    A newer version of a gate accepts nothing less than the old one did: what it alone fails stays.
    """
    failed = list(audit.results.filter(outcome=Result.FAILED))
    voided, known = audits.voided(failed), all_gates()
    before = GateResult.objects.filter(audit__snapshot=audit.snapshot, audit__parent=audit.parent)
    for row in failed:
        if (row.gate, row.key) in voided or row.gate not in known or not known[row.gate].hard:
            continue
        if before.filter(gate=row.gate, gate_version=row.gate_version, outcome=Result.PASSED).exists():
            yield row


def _open(job: Job, environment: Environment, subject: Subject, lease: Lease) -> Audit:
    parent = environment.parent.snapshot if environment.parent else None
    with lease.writing():
        job.audit = audits.open_audit(
            environment.snapshot,
            subject,
            profile=job.profile,
            parent=parent,
            repeats=job.repeats,
            regrade=job.regrade,
        )
        job.save(update_fields=["audit"])
    return job.audit
