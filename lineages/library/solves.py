"""What solvers left in audits, kept so that it can be graded again.

A later audit that regrades (`Audit.regrade`) grades this instead of running the solver again, where nothing
that the solver's work hangs on has changed: new tests, a new rubric or a new gate need no new solver run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.db.models import Q

from lineages.gates.base import Subject
from lineages.library import blobs
from lineages.library.models import GateResult, Handover, HandoverFile, Solve
from sandboxes.files import TaskFile
from sandboxes.handover import Delivery
from sandboxes.text import clean
from sandboxes.trial import Solved

MOST_BYTES = 64 * 1024 * 1024
MOST_FILES = 10_000
"""Of one solve; what left more is run again next time."""


@dataclass(frozen=True)
class KeptSolves(Mapping[str, Solved]):
    """Kept solves by key, for threads without a database; bytes are read when they are asked for."""

    rows: Mapping[str, tuple[tuple[Handover, tuple[HandoverFile, ...]], ...]]

    def __getitem__(self, key: str) -> Solved:
        return Solved(tuple(_delivery(handover, files) for handover, files in self.rows[key]))

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


def kept(subject: Subject) -> KeptSolves:
    """What solvers left in the environment that this subject is, whatever its tests were then."""
    prefixes = {subject.solve_context(reads_solution=reads) for reads in (True, False)}
    of_it = Q(*(("key__startswith", prefix) for prefix in sorted(prefixes)), _connector=Q.OR)
    solves = Solve.objects.filter(of_it).prefetch_related("handovers__files")
    return KeptSolves(
        {
            solve.key: tuple((each, tuple(each.files.all())) for each in solve.handovers.all())
            for solve in solves
        }
    )


def keep(left: Mapping[str, Solved], result: GateResult) -> None:
    """Store what solvers left, inside the caller's transaction; the first one under a key stays."""
    for key, solved in left.items():
        if not _storable(solved):
            continue
        # Another audit of the same content may keep the same at this moment.
        solve, new = Solve.objects.get_or_create(key=key, defaults={"result": result})
        if not new:
            continue
        for position, delivery in enumerate(solved.deliveries):
            _keep(delivery, solve, position)


def _keep(delivery: Delivery, solve: Solve, position: int) -> None:
    handover = Handover.objects.create(
        solve=solve,
        position=position,
        source=delivery.source,
        folder=delivery.folder,
        refused=clean(delivery.refused),
    )
    digests = blobs.keep(file.data for file in delivery.files.values())
    HandoverFile.objects.bulk_create(
        HandoverFile(handover=handover, path=path, mode=file.mode, link=file.link or "", blob_id=digest)
        for (path, file), digest in zip(delivery.files.items(), digests, strict=True)
    )


def _storable(solved: Solved) -> bool:
    """Whether its size and its names, which a solver chose, are fit to be stored."""
    files = [file for each in solved.deliveries for file in each.files.values()]
    names = [name for each in solved.deliveries for name in (each.source, *each.files)]
    links = [file.link for file in files if file.link]
    small = len(files) <= MOST_FILES and sum(len(file.data) for file in files) <= MOST_BYTES
    return small and all(clean(name) == name for name in (*names, *links))


def _delivery(handover: Handover, files: tuple[HandoverFile, ...]) -> Delivery:
    return Delivery(
        source=handover.source,
        folder=handover.folder,
        files={row.path: TaskFile(blobs.read(row.blob_id), row.mode, row.link or None) for row in files},
        refused=handover.refused,
    )
