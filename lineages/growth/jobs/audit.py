"""audit: run the gates over an environment again. The subject is its reference."""

from __future__ import annotations

from agents.authors import author

from lineages.growth.subjects import of_environment
from lineages.library import audits
from lineages.library.models import Audit, Job
from lineages.library.references import find
from lineages.lifecycle import Lease

PROFILE = "standard"


def run(job: Job, lease: Lease) -> None:
    environment = find(job.subject)
    subject = of_environment(environment, author("offline"))
    half_done = environment.snapshot.audits.filter(status=Audit.Status.QUEUED, profile=PROFILE).first()
    audit = half_done or audits.open_audit(
        environment.snapshot,
        subject,
        profile=PROFILE,
        parent=environment.parent.snapshot if environment.parent else None,
    )
    audits.run(audit, subject, lease)
