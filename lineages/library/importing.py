"""Taking tasks in: each found task is imported, unchanged or refused, and counted as one of the three.

Tasks are stored in batches, a transaction each: their content is in the blob folder, safe from a power
cut, before the rows that refer to it. Where a batch does not come through, its tasks are stored one by
one, so that one of them never keeps the others out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from django.db import DatabaseError, DataError, IntegrityError, transaction

from lineages.library.models import Environment
from lineages.library.planting import Seedling, grown, plant_all, seeds_of
from lineages.library.snapshots import keep_files
from lineages.library.sources import Source, sources
from sandboxes.errors import TaskRefused
from sandboxes.task import Task

RACES = 10
BATCH_TASKS = 100
BATCH_BYTES = 32 * 1024 * 1024

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Imported:
    """A task that is a seed now (`new`) or was one already. Small, since a run has tens of thousands."""

    path: Path
    pk: int
    reference: str
    digest: str
    warnings: tuple[str, ...] = ()
    new: bool = True

    @property
    def environment(self) -> Environment:
        return Environment.objects.select_related("lineage", "snapshot").get(pk=self.pk)


@dataclass(frozen=True, slots=True)
class Refused:
    path: Path
    refusal: TaskRefused


Outcome = Imported | Refused
Fence = Callable[[], AbstractContextManager[object]]
Record = Callable[[Sequence[Outcome]], None]


@dataclass
class Report:
    """imported + unchanged + refused = found."""

    imported: list[Imported] = field(default_factory=list)
    unchanged: list[Imported] = field(default_factory=list)
    refused: list[tuple[Path, TaskRefused]] = field(default_factory=list)

    @property
    def found(self) -> int:
        return len(self.imported) + len(self.unchanged) + len(self.refused)

    def add(self, outcome: Outcome) -> None:
        if isinstance(outcome, Refused):
            self.refused.append((outcome.path, outcome.refusal))
        else:
            (self.imported if outcome.new else self.unchanged).append(outcome)


def import_folders(paths: Iterable[Path]) -> Report:
    """Import every task at or below the paths. A path that holds none is refused by that reason."""
    report = Report()
    for outcome in import_paths(paths):
        report.add(outcome)
    return report


def import_paths(paths: Iterable[Path]) -> Iterator[Outcome]:
    """The same, an outcome at a time and in the order in which the tasks are found."""
    return take_in(source for path in paths for source in sources(path))


def _no_record(outcomes: Sequence[Outcome]) -> None:
    """Nothing beyond the seeds themselves is to be stored."""


def take_in(
    found: Iterable[Source], *, fence: Fence = transaction.atomic, record: Record = _no_record
) -> Iterator[Outcome]:
    """Store the tasks, and give an outcome for each once it is committed.

    `fence` opens the transaction of a batch; `record` is called in it with the batch's outcomes. Raises
    `OSError` and `DatabaseError` where the disk or the database is to blame and no task is.
    """
    for batch in _batches(found):
        yield from _store(batch, fence, record)


_Read = Seedling | Refused


def _batches(found: Iterable[Source]) -> Iterator[list[_Read]]:
    batch: list[_Read] = []
    size = 0
    for source in found:
        read = _read(source)
        batch.append(read)
        if isinstance(read, Seedling):
            size += sum(len(file.data) for file in read.task.files.values())
        if len(batch) >= BATCH_TASKS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _read(source: Source) -> _Read:
    try:
        return grown(source.read(), source)
    except TaskRefused as refusal:
        return Refused(source.path, refusal)
    except (OSError, DatabaseError, MemoryError):
        raise  # the machine or the database: no task is to blame
    except Exception as problem:
        log.exception("%s could not be taken in", source.path)
        reason = f"it cannot be taken in ({type(problem).__name__}: {problem})"
        return Refused(source.path, TaskRefused(str(source.path), reason))


def _store(batch: list[_Read], fence: Fence, record: Record) -> list[Outcome]:
    try:
        return _store_at_once(batch, fence, record)
    except DatabaseError as problem:
        log.info("a batch of %d tasks is stored one by one: %s", len(batch), problem)
    return [_store_one(read, fence, record) for read in batch]


def _store_one(read: _Read, fence: Fence, record: Record) -> Outcome:
    """Tried again where another import took the name, or the same task, just now."""
    for tries_left in reversed(range(RACES)):
        try:
            return _store_at_once([read], fence, record)[0]
        except (IntegrityError, DataError) as problem:
            if isinstance(read, Refused):
                raise
            if isinstance(problem, DataError) or not tries_left:
                reason = f"the database does not take it ({problem})"
                return _store_one(Refused(read.path, TaskRefused(str(read.path), reason)), fence, record)
    raise AssertionError("unreachable: the last try returns or raises")


def _store_at_once(batch: Sequence[_Read], fence: Fence, record: Record) -> list[Outcome]:
    seedlings = [read for read in batch if isinstance(read, Seedling)]
    known = seeds_of(one.task for one in seedlings)
    missing: list[Task] = list(
        {one.task.digest: one.task for one in seedlings if one.digest not in known}.values()
    )
    kept = keep_files(missing)
    with fence():
        seeds, new = plant_all(seedlings, kept)
        outcomes: list[Outcome] = []
        for read in batch:
            if isinstance(read, Refused):
                outcomes.append(read)
                continue
            seed = seeds[read.digest]
            fresh = read is new.get(read.digest)
            warnings = read.warnings if fresh else ()
            outcomes.append(Imported(read.path, seed.pk, seed.reference, read.digest, warnings, fresh))
        record(outcomes)
    return outcomes
