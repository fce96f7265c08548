"""collect: remove stored content that nothing refers to any more. Asked for by the sweep."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now

from lineages.library import collecting
from lineages.library.models import Job
from lineages.lifecycle import Lease

KIND = "collect"


def run(job: Job, lease: Lease) -> None:
    removed, size = collecting.collect(lease.beat)
    with lease.writing():
        note = f"{removed} blobs removed, {size / 2**20:.1f} MiB"
        Job.objects.filter(pk=job.pk).update(note=note)


def due() -> bool:
    """Whether the last collection was asked for long enough ago."""
    every = timedelta(hours=settings.COLLECT_HOURS)
    return not Job.objects.filter(job_kind=KIND, created_at__gt=Now() - every).exists()
