"""Taking tasks in: each found folder is imported, unchanged or refused, and counted as one of the three."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from django.db import DatabaseError, IntegrityError, transaction
from django.utils.text import slugify

from agents.authors import author
from agents.plan import Composition, Pair, Sequence
from lineages import difficulty
from lineages.library.models import Environment, Lineage
from lineages.library.snapshots import store
from sandboxes.errors import TaskRefused
from sandboxes.intake import Intake, find_tasks, read_folder
from sandboxes.task import Task
from sandboxes.text import clean

RACES = 10
LONGEST_TITLE, LONGEST_SOURCE = 200, 500

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Imported:
    path: Path
    environment: Environment
    warnings: tuple[str, ...] = ()


@dataclass
class Report:
    """imported + unchanged + refused = found."""

    imported: list[Imported] = field(default_factory=list)
    unchanged: list[Imported] = field(default_factory=list)
    refused: list[tuple[Path, TaskRefused]] = field(default_factory=list)

    @property
    def found(self) -> int:
        return len(self.imported) + len(self.unchanged) + len(self.refused)


def import_folders(paths: list[Path]) -> Report:
    """Import every task at or below the paths. A path that holds none is refused by that reason."""
    report = Report()
    for path in paths:
        tasks = find_tasks(path) if path.is_dir() else []
        if not tasks:
            report.refused.append((path, TaskRefused(str(path), _nothing_there(path))))
        for folder in tasks:
            _import_one(folder, report)
    return report


def _nothing_there(path: Path) -> str:
    if not path.exists():
        return "there is no such folder"
    return "no task in it: a task is a folder with a task.toml" if path.is_dir() else "not a folder"


def _import_one(folder: Path, report: Report) -> None:
    try:
        _take_in(folder, report)
    except TaskRefused as refusal:
        report.refused.append((folder, refusal))
    except (OSError, DatabaseError):
        raise  # the disk or the database: no task is to blame
    except Exception as problem:
        log.exception("%s could not be taken in", folder)
        reason = f"it cannot be taken in ({type(problem).__name__}: {problem})"
        report.refused.append((folder, TaskRefused(str(folder), reason)))


def _take_in(folder: Path, report: Report) -> None:
    """Raises `TaskRefused`."""
    intake = read_folder(folder)
    for tries_left in reversed(range(RACES)):
        known = _seed_of(intake.task)
        if known:
            report.unchanged.append(Imported(folder, known))
            return
        try:
            environment = plant(intake, folder.name, source=str(folder))
        except IntegrityError:  # another import took the name, or the same task, just now: look again
            if not tries_left:
                raise
        else:
            report.imported.append(Imported(folder, environment, tuple(intake.warnings)))
            return


def _seed_of(task: Task) -> Environment | None:
    return (
        Environment.objects.select_related("lineage")
        .filter(snapshot__digest=task.digest, generation=0)
        .first()
    )


def plant(intake: Intake, name: str, *, source: str) -> Environment:
    """A new lineage with this task as its generation 0, in one transaction."""
    task = intake.task
    domain = domain_of(task)
    sequence = _storable(author("offline").extractor.extract(task))
    measured = difficulty.difficulty(sequence, domain, difficulty.shipped())
    with transaction.atomic():
        lineage = Lineage.objects.create(
            slug=_free_slug(name),
            title=clean(task.config.task_name or name)[:LONGEST_TITLE],
            domain=domain,
            source=clean(source)[-LONGEST_SOURCE:],
        )
        return Environment.objects.create(
            lineage=lineage,
            snapshot=store(task),
            generation=0,
            sequence_json=sequence.model_dump(),
            composition_json=Composition().model_dump(),
            length=measured.length,
            novelty=measured.novelty,
            rarity=measured.rarity,
            difficulty=measured.total,
            reference_table=difficulty.shipped().digest,
            warnings="\n".join(intake.warnings),
            source_digest=intake.source_digest,
        )


def domain_of(task: Task) -> str:
    """g: the task's category in words, `general` where it has none."""
    category = task.config.category or "general"
    return clean(category).replace("-", " ").replace("_", " ").lower()[:80]


def _storable(sequence: Sequence) -> Sequence:
    """A script may hold a NUL, which PostgreSQL keeps in no text."""
    pairs = ({name: clean(text) for name, text in pair} for pair in sequence.pairs)
    return Sequence(pairs=tuple(map(Pair.model_validate, pairs)))


def _free_slug(name: str) -> str:
    wanted = slugify(name)[:70] or "task"
    for slug in _candidates(wanted):
        if not Lineage.objects.filter(slug=slug).exists():
            return slug
    raise AssertionError("unreachable: the candidates do not end")


def _candidates(wanted: str) -> Iterator[str]:
    yield wanted
    yield from (f"{wanted}-{number}" for number in itertools.count(2))
