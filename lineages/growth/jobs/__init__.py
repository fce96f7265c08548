"""Long work without states of its own. A kind is a file here with a `run(job, lease)`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import F

from lineages import messages
from lineages.growth.jobs import audit, collect, importing
from lineages.library import audits
from lineages.library.machine import NotNow
from lineages.library.models import Environment, Job
from lineages.lifecycle import Busy, Lease, LifecycleError, claim, later
from sandboxes.text import clean

log = logging.getLogger(__name__)

BATCH, TOLD = 1000, 100

KINDS: Mapping[str, Callable[[Job, Lease], None]] = {
    "audit": audit.run,
    "collect": collect.run,
    importing.KIND: importing.run,
}


def request_audit(
    environment: Environment,
    by: User,
    *,
    profile: str = audits.WHOLE_PROFILE,
    repeats: int = 0,
    regrade: bool = False,
) -> Job:
    """Have the gates of a profile run over an environment again (`Audit` tells what the choices mean).

    A request that still waits is given back instead, whatever it chose.
    """
    waiting = Job.objects.filter(
        job_kind="audit", subject=environment.reference, status=Job.Status.QUEUED
    ).first()
    if waiting:
        return waiting
    job = Job.objects.create(
        job_kind="audit",
        subject=environment.reference,
        status=Job.Status.QUEUED,
        started_by=by,
        profile=profile,
        repeats=repeats,
        regrade=regrade,
    )
    nudge(job)
    return job


def request_audits(environments: Iterable[Environment], by: User) -> int:
    """As `request_audit` for thousands at once; returns how many they are.

    Workers are told of the first of them only; the sweep finds the others.
    """
    wanted = {environment.reference for environment in environments}
    open_ones = Job.objects.filter(job_kind="audit", status=Job.Status.QUEUED)
    missing = sorted(wanted.difference(open_ones.values_list("subject", flat=True)))
    made = Job.objects.bulk_create(
        [
            Job(job_kind="audit", subject=reference, status=Job.Status.QUEUED, started_by=by)
            for reference in missing
        ],
        batch_size=BATCH,
    )
    for job in made[:TOLD]:
        nudge(job)
    return len(wanted)


def nudge(job: Job, *, swept: bool = False) -> None:
    messages.send("run_job", job.pk, queue=messages.SANDBOXES, swept=swept)


def run(job_id: int) -> None:
    """Run the job if it is free. What it raises is noted on it and tried again a few times."""
    job = Job.objects.get(pk=job_id)
    lease = claim(job)
    if lease is None:
        return
    try:
        if job.takeovers > settings.FAULT_RETRIES:
            raise RuntimeError(f"its worker died {job.takeovers} times")
        KINDS[job.job_kind](job, lease)
        lease.move(Job.Status.DONE, done=F("total"))
    except Busy as elsewhere:
        log.info("job %s: %s", job_id, elsewhere)
        later(lease, timedelta(seconds=settings.LEASE_BEAT_SECONDS))
    except NotNow as machine:
        log.warning("job %s waits for %s", job_id, machine.waits_for)
        later(lease, timedelta(seconds=machine.seconds), waiting_for=machine.waits_for)
    except LifecycleError as lost:
        log.info("job %s: %s", job_id, lost)
    except Exception as problem:
        log.exception("job %s failed", job_id)
        _record(lease, job, problem)
    finally:
        lease.release()


def _record(lease: Lease, job: Job, problem: Exception) -> None:
    note = clean(f"{type(problem).__name__}: {problem}")
    try:
        if max(job.tries, job.takeovers) >= settings.FAULT_RETRIES:
            lease.move(Job.Status.FAILED, reason=note, note=note)
        else:
            wait = timedelta(seconds=settings.FAULT_BACKOFF_SECONDS * 2**job.tries)
            later(lease, wait, tries=F("tries") + 1, note=note)
    except LifecycleError as lost:
        log.info("job %s: the failure is not ours to record: %s", job.pk, lost)
