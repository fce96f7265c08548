"""import: take in every task of an uploaded archive. The subject is the archive's own name.

Each batch is stored together with its rows of `ImportedTask`, so a worker that takes over goes on where
the last one was. The upload is removed at the end; one that failed for good is kept for a day.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from django.conf import settings
from django.db.models import F

from lineages.growth import uploads
from lineages.library.importing import Outcome, Refused, take_in
from lineages.library.models import ImportedTask, Job
from lineages.library.sources import Source, in_archive
from lineages.lifecycle import Lease
from sandboxes.text import clean

KIND = "import"


def run(job: Job, lease: Lease) -> None:
    """Raises `OSError` where the upload is gone or the disk is to blame."""
    if not job.upload:  # the last worker ended right after its last write
        return
    for _ in take_in(_left(job, lease), fence=lease.writing, record=partial(_record, job)):
        pass
    with lease.writing():
        found = job.tasks.count()
        Job.objects.filter(pk=job.pk).update(upload="", done=found, total=found)
    uploads.remove(job.upload)


def _left(job: Job, lease: Lease) -> Iterator[Source]:
    """The tasks of the archive that no worker has stored yet; says how many there are in all."""
    stored = set(job.tasks.values_list("path", flat=True))
    archive = uploads.folder() / job.upload

    def found(count: int) -> None:
        with lease.writing():
            Job.objects.filter(pk=job.pk).update(total=count)

    shown, scratch = Path(job.subject), uploads.folder()
    for source in in_archive(archive, shown, scratch=scratch, found=found, tick=_beats(lease)):
        if path_of(job, source.path) not in stored:
            yield source


def _beats(lease: Lease) -> Callable[[], None]:
    """To be called often: renews the lease now and then. Raises `LeaseLost`."""
    last = time.monotonic()

    def beat() -> None:
        nonlocal last
        if time.monotonic() - last >= settings.LEASE_BEAT_SECONDS:
            last = time.monotonic()
            lease.beat()

    return beat


def _record(job: Job, outcomes: Sequence[Outcome]) -> None:
    ImportedTask.objects.bulk_create(_row(job, outcome) for outcome in outcomes)
    Job.objects.filter(pk=job.pk).update(done=F("done") + len(outcomes))


def _row(job: Job, outcome: Outcome) -> ImportedTask:
    row = ImportedTask(job=job, path=path_of(job, outcome.path))
    if isinstance(outcome, Refused):
        row.outcome = ImportedTask.Outcome.REFUSED
        refusal = outcome.refusal
        row.reason = clean(refusal.reason if refusal.path == str(outcome.path) else str(refusal))
    else:
        row.outcome = ImportedTask.Outcome.IMPORTED if outcome.new else ImportedTask.Outcome.UNCHANGED
        row.environment_id = outcome.pk
        row.warnings = "\n".join(outcome.warnings)
    return row


def path_of(job: Job, path: Path) -> str:
    """Where the task is in the archive, or the archive's name where that is the task, or was refused."""
    inside = path.relative_to(job.subject)
    return clean(str(inside) if inside.parts else job.subject)
