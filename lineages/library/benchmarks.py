"""Sets of tasks that are marked as benchmarks: hashes of their runs of 13 tokens, never their text."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from django.db import transaction

from lineages.gates.surroundings import Benchmarks
from lineages.library.models import BenchmarkGram, BenchmarkSet
from lineages.library.sources import sources
from lineages.overlap import runs_of
from sandboxes.errors import TaskRefused
from sandboxes.task import Task
from sandboxes.text import clean

BOILERPLATE_TASKS = 3
"""A run that stands in so many tasks of one set is the set's own scaffolding."""
GRAMS_A_QUERY = 500
ROWS_AT_ONCE = 5000
LONGEST_NAME, LONGEST_TASK = 120, 200


class NoSuchSet(ValueError):
    """No set of that name is marked."""


@dataclass(frozen=True)
class Marked:
    """What `mark` made: `boilerplate` runs were left out, `refused` tasks could not be read."""

    row: BenchmarkSet
    grams: int
    boilerplate: int
    refused: tuple[tuple[Path, TaskRefused], ...] = ()


@dataclass
class _Reading:
    """The grams of a set while it is read, with the numbers of the tasks that they stand in.

    There are thousands of a task: those of one task share one tuple, and none is kept beyond what makes a
    gram boilerplate.
    """

    grams: dict[int, tuple[int, ...]] = field(default_factory=dict)
    tasks: list[str] = field(default_factory=list)
    names: Counter[str] = field(default_factory=Counter)
    digests: list[str] = field(default_factory=list)
    refused: list[tuple[Path, TaskRefused]] = field(default_factory=list)

    def take(self, name: str, task: Task) -> None:
        alone = (len(self.tasks),)
        self.tasks.append(self._named(clean(name)[:LONGEST_TASK]))
        self.digests.append(task.digest)
        for _, run in runs_of(task):
            known = self.grams.get(run.gram, ())
            if alone[0] not in known and len(known) < BOILERPLATE_TASKS:
                self.grams[run.gram] = known + alone if known else alone

    def _named(self, name: str) -> str:
        """Two tasks of one name, in two folders, are two."""
        self.names[name] += 1
        taken = self.names[name]
        return f"{name[: LONGEST_TASK - 8]} ({taken})" if taken > 1 else name

    def kept(self) -> Iterator[tuple[int, str]]:
        for gram, tasks in self.grams.items():
            if len(tasks) < BOILERPLATE_TASKS:
                yield from ((gram, self.tasks[task]) for task in tasks)

    @property
    def boilerplate(self) -> int:
        return sum(len(tasks) >= BOILERPLATE_TASKS for tasks in self.grams.values())


def mark(name: str, path: Path) -> Marked:
    """Mark the tasks of a folder or an archive as a benchmark, in Harbor's format or the old one.

    Tasks that cannot be read are told. Raises `ValueError` for a name that is taken or too long, and
    `TaskRefused` where no task can be read.
    """
    _check(name)
    reading = _Reading()
    for source in sources(path):
        try:
            reading.take(source.name, source.read().task)
        except TaskRefused as refusal:
            reading.refused.append((source.path, refusal))
    if not reading.tasks:
        raise reading.refused[0][1]
    digest = hashlib.sha256("\n".join(sorted(reading.digests)).encode()).hexdigest()
    with transaction.atomic():
        made = BenchmarkSet.objects.create(name=name, digest=digest, tasks=len(reading.tasks))
        grams, kept = 0, reading.kept()
        while rows := list(itertools.islice(kept, ROWS_AT_ONCE)):
            BenchmarkGram.objects.bulk_create(
                BenchmarkGram(benchmark=made, gram=gram, task=task) for gram, task in rows
            )
            grams += len(rows)
    return Marked(made, grams, reading.boilerplate, tuple(reading.refused))


def _check(name: str) -> None:
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        raise ValueError(f"a benchmark's name has 1 to {LONGEST_NAME} characters that can be printed")
    if BenchmarkSet.objects.filter(name=name).exists():
        raise ValueError(f"{name!r} is marked already: remove it first, or give another name")


def unmark(name: str) -> None:
    """Raises `NoSuchSet`."""
    with transaction.atomic():
        BenchmarkGram.objects.filter(benchmark__name=name).delete()
        gone, _ = BenchmarkSet.objects.filter(name=name).delete()
    if not gone:
        raise NoSuchSet(f"no set is marked as {name!r}; `manage.py benchmark list` names them")


def of(task: Task) -> Benchmarks | None:
    """What of this task's text stands in a marked set; None where none is marked."""
    sets = dict(BenchmarkSet.objects.values_list("name", "digest"))
    if not sets:
        return None
    version = hashlib.sha256(repr(sorted(sets.items())).encode()).hexdigest()
    return Benchmarks(version, tuple(sorted(sets)), _hits(task))


def _hits(task: Task) -> Mapping[str, tuple[str, ...]]:
    texts = {run.gram: run.text for _, run in runs_of(task)}
    grams = list(texts)
    hits: defaultdict[str, set[str]] = defaultdict(set)
    for at in range(0, len(grams), GRAMS_A_QUERY):
        found = BenchmarkGram.objects.filter(gram__in=grams[at : at + GRAMS_A_QUERY])
        for gram, name, of_set in found.values_list("gram", "task", "benchmark__name"):
            hits[texts[gram]].add(f"{of_set}: {name}")
    return {text: tuple(sorted(places)) for text, places in hits.items()}
