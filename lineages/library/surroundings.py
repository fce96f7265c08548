"""What a gate may know of the archive, looked up before it runs: the gates have no database.

The cost does not grow with the archive: two indexed queries find the few environments of other lineages
that may be alike, whatever their number. An environment is in the archive from its acceptance on, and not
while it is withdrawn. What was accepted later than the environment in question is not looked at, so that
an old answer stays an answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from django.db import transaction
from django.db.models import Count, QuerySet

from lineages import similarity
from lineages.gates.surroundings import Archive, Earlier
from lineages.library import blobs
from lineages.library.models import Environment, Sketch, SketchBand, Snapshot, SnapshotFile
from lineages.library.snapshots import load
from sandboxes.files import TaskFile
from sandboxes.task import Task

MOST_ALIKE = 50
"""Of those that share a band, as many as share most are compared."""
LEAST_LIKENESS = 0.5
"""What is less alike is not told."""
SKETCHED_AT_ONCE = 8
"""Environments that were never looked at get their sketches bit by bit, so many with each new candidate."""


def archive(
    snapshot: Snapshot,
    task: Task,
    *,
    parent: Environment | None = None,
    own: Environment | None = None,
) -> Archive:
    """The accepted environments that this content, grown from `parent`, may repeat.

    `own` is the environment that it was accepted as. Stores the sketch of the content where it has none;
    that depends on nothing but the content, so no lease fences it. Nothing is stored of an environment that
    was audited before: a page that only looks may ask.
    """
    earlier = [*_relatives(parent, own), *_elsewhere(snapshot, task, parent, own)]
    said = sorted(f"{one.relation} {one.reference} {one.digest} {one.likeness:.3f}" for one in earlier)
    return Archive(hashlib.sha256("\n".join(said).encode()).hexdigest(), tuple(earlier))


def _accepted(own: Environment | None) -> QuerySet[Environment]:
    found = Environment.objects.filter(quarantined=False).select_related("lineage", "snapshot")
    return found.filter(pk__lt=own.pk) if own else found


def _relatives(parent: Environment | None, own: Environment | None) -> Iterator[Earlier]:
    if parent is None:
        return
    ancestors = _line(parent)
    siblings = list(_accepted(own).filter(parent=parent).order_by("pk"))
    tasks = _tasks([one.snapshot for one in (*ancestors, *siblings)])
    for relation, group in (("ancestor", ancestors), ("sibling", siblings)):
        for one in group:
            yield Earlier(one.reference, relation, one.snapshot.digest, tasks[one.snapshot_id])


def _line(parent: Environment) -> list[Environment]:
    """The parent and all before it. A withdrawn one was a state of the lineage too."""
    ids = dict(Environment.objects.filter(lineage=parent.lineage_id).values_list("pk", "parent_id"))
    line: list[int] = []
    here: int | None = parent.pk
    while here is not None:
        line.append(here)
        here = ids.get(here)
    found = Environment.objects.select_related("lineage", "snapshot").in_bulk(line)
    return [found[pk] for pk in line]


def _tasks(snapshots: Sequence[Snapshot]) -> dict[int, Task]:
    """The tasks by the snapshot's row; what relatives share is read once and held once."""
    rows = SnapshotFile.objects.filter(snapshot__in=snapshots)
    contents: dict[str, bytes] = {}
    files: dict[int, dict[str, TaskFile]] = {snapshot.pk: {} for snapshot in snapshots}
    for row in rows:
        if row.blob_id not in contents:
            contents[row.blob_id] = blobs.read(row.blob_id)
        files[row.snapshot_id][row.path] = TaskFile(contents[row.blob_id], row.mode, row.link or None)
    return {pk: Task.of(found) for pk, found in files.items()}


def _elsewhere(
    snapshot: Snapshot, task: Task, parent: Environment | None, own: Environment | None
) -> Iterator[Earlier]:
    """Those of other lineages whose whole is alike, most alike first."""
    values = _sketch_of(snapshot, task, own)
    if own is None:
        _fill(SKETCHED_AT_ONCE)
    alike = _sharing(similarity.bands(values), _own_lineages(snapshot, parent, own), own)
    likeness = {
        one.pk: similarity.likeness(values, similarity.unpack(one.snapshot.sketch.values)) for one in alike
    }
    for one in sorted(alike, key=lambda one: (-likeness[one.pk], one.pk)):
        if likeness[one.pk] >= LEAST_LIKENESS:
            yield Earlier(one.reference, "elsewhere", one.snapshot.digest, likeness=likeness[one.pk])


def _own_lineages(snapshot: Snapshot, parent: Environment | None, own: Environment | None) -> set[int]:
    """A folder handed to `verify` may be what a lineage holds already: it does not repeat itself."""
    if parent is not None or own is not None:
        return {one.lineage_id for one in (parent, own) if one is not None}
    return set(Environment.objects.filter(snapshot=snapshot).values_list("lineage_id", flat=True))


def _sharing(bands: Sequence[int], lineages: Iterable[int], own: Environment | None) -> list[Environment]:
    if not bands:
        return []
    sharing = (
        _accepted(own)
        .filter(snapshot__sketch__bands__band__in=bands)
        .exclude(lineage_id__in=list(lineages))
        .values("pk")
        .annotate(shared=Count("pk"))
        .order_by("-shared", "pk")[:MOST_ALIKE]
    )
    found = Environment.objects.filter(pk__in=[row["pk"] for row in sharing])
    return list(found.select_related("lineage", "snapshot__sketch"))


def _sketch_of(snapshot: Snapshot, task: Task, own: Environment | None) -> tuple[int, ...]:
    known = Sketch.objects.filter(snapshot=snapshot).first()
    if known:
        return similarity.unpack(known.values)
    if own and snapshot.audits.exists():
        return similarity.sketch(similarity.asked(task))  # of a time without sketches: `_fill` comes to it
    return _store(snapshot, task)


def _store(snapshot: Snapshot, task: Task) -> tuple[int, ...]:
    values = similarity.sketch(similarity.asked(task))
    with transaction.atomic():
        sketch, made = Sketch.objects.get_or_create(
            snapshot=snapshot, defaults={"values": similarity.pack(values)}
        )
        if made:
            SketchBand.objects.bulk_create(
                SketchBand(sketch=sketch, band=band) for band in similarity.bands(values)
            )
    return values


def _fill(most: int) -> None:
    bare = Environment.objects.filter(snapshot__sketch=None).select_related("snapshot").order_by("pk")
    for one in bare[:most]:
        _store(one.snapshot, load(one.snapshot))
