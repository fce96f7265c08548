"""A task's content in the database and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import transaction

from lineages.library import blobs
from lineages.library.models import Snapshot, SnapshotFile
from sandboxes.files import TaskFile
from sandboxes.task import Task


def store(task: Task) -> Snapshot:
    """The snapshot of this content, made if it is new. Safe to race: the digest is unique."""
    kept = keep_files([task])
    with transaction.atomic():
        return store_rows([task], kept)[task.digest]


def keep_files(tasks: Sequence[Task]) -> Mapping[Task, Sequence[str]]:
    """Each task's content in the blob folder, safe from a power cut; digests in the order of its files."""
    digests = iter(blobs.keep(file.data for task in tasks for file in task.files.values()))
    return {task: [next(digests) for _ in task.files] for task in tasks}


def store_rows(tasks: Sequence[Task], kept: Mapping[Task, Sequence[str]]) -> dict[str, Snapshot]:
    """The snapshots by digest, with the rows of their files where they are new, in a few queries.

    To be called in a transaction, with what `keep_files` answered. Where another one stores the same
    content just now, this waits for its end.
    """
    wanted = {task.digest: task for task in tasks}
    rows = [Snapshot(digest=digest, source_digest=wanted[digest].source_digest) for digest in sorted(wanted)]
    Snapshot.objects.bulk_create(rows, ignore_conflicts=True)
    snapshots = {each.digest: each for each in Snapshot.objects.filter(digest__in=list(wanted))}
    filled = set(
        SnapshotFile.objects.filter(snapshot__in=snapshots.values()).values_list("snapshot_id", flat=True)
    )
    SnapshotFile.objects.bulk_create(
        SnapshotFile(snapshot=snapshot, path=path, mode=file.mode, link=file.link or "", blob_id=content)
        for digest, snapshot in snapshots.items()
        if snapshot.pk not in filled
        for (path, file), content in zip(wanted[digest].files.items(), kept[wanted[digest]], strict=True)
    )
    return snapshots


def load(snapshot: Snapshot) -> Task:
    """The task as it was stored. Raises `BlobLost` when the blob folder has lost a file."""
    rows = snapshot.files.all()
    return Task.of({row.path: TaskFile(blobs.read(row.blob_id), row.mode, row.link or None) for row in rows})
