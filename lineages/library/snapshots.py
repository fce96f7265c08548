"""A task's content in the database and back."""

from __future__ import annotations

from django.db import transaction

from lineages.library import blobs
from lineages.library.models import Snapshot, SnapshotFile
from sandboxes.files import TaskFile
from sandboxes.task import Task


def store(task: Task) -> Snapshot:
    """The snapshot of this content, made if it is new. Safe to race: the digest is unique."""
    digests = blobs.keep(file.data for file in task.files.values())
    with transaction.atomic():
        snapshot, new = Snapshot.objects.get_or_create(
            digest=task.digest, defaults={"source_digest": task.source_digest}
        )
        if new:
            SnapshotFile.objects.bulk_create(
                SnapshotFile(
                    snapshot=snapshot, path=path, mode=file.mode, link=file.link or "", blob_id=digest
                )
                for (path, file), digest in zip(task.files.items(), digests, strict=True)
            )
    return snapshot


def load(snapshot: Snapshot) -> Task:
    """The task as it was stored. Raises `BlobLost` when the blob folder has lost a file."""
    rows = snapshot.files.all()
    return Task.of({row.path: TaskFile(blobs.read(row.blob_id), row.mode, row.link or None) for row in rows})
