"""New lineages from tasks that were read: generation 0 with its first sequence and its difficulty."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.utils.text import slugify

from agents import plan
from agents.authors import author
from lineages import difficulty
from lineages.library.models import Environment, Lineage, Snapshot
from lineages.library.snapshots import store_rows
from lineages.library.sources import Source
from sandboxes.intake import Intake
from sandboxes.task import Task
from sandboxes.text import clean

LONGEST_TITLE, LONGEST_SOURCE, LONGEST_SLUG = 200, 500, 70


@dataclass(frozen=True)
class Seedling:
    """A task on its way to become a seed, with all that is computed before the database is touched."""

    path: Path
    name: str
    task: Task
    warnings: tuple[str, ...]
    source_digest: str
    sequence: plan.Sequence
    measured: difficulty.Difficulty

    @property
    def digest(self) -> str:
        return self.task.digest


def grown(intake: Intake, source: Source) -> Seedling:
    """The task read from `source`, measured."""
    sequence = _storable(author("offline").extractor.extract(intake.task))
    measured = difficulty.difficulty(sequence, domain_of(intake.task), difficulty.shipped())
    return Seedling(
        source.path,
        source.name,
        intake.task,
        tuple(clean(warning) for warning in intake.warnings),
        intake.source_digest,
        sequence,
        measured,
    )


def seeds_of(tasks: Iterable[Task]) -> dict[str, Environment]:
    """The seeds that hold the content of these tasks, by digest."""
    found = Environment.objects.select_related("lineage", "snapshot").filter(
        snapshot__digest__in=[task.digest for task in tasks], generation=0
    )
    return {seed.snapshot.digest: seed for seed in found.order_by("-id")}


def plant_all(
    seedlings: Sequence[Seedling], kept: Mapping[Task, Sequence[str]]
) -> tuple[dict[str, Environment], dict[str, Seedling]]:
    """A lineage for each content that is no seed yet; in a transaction, with what `keep_files` answered.

    Returns the seeds of all of them by digest, and which of them were planted now.
    """
    snapshots = store_rows(list(kept), kept)
    # Only now, since another import of the same content has ended where `store_rows` waited for it.
    seeds = seeds_of(one.task for one in seedlings)
    new: dict[str, Seedling] = {}
    for one in seedlings:
        if one.digest not in seeds:
            new.setdefault(one.digest, one)
    lineages = _lineages(list(new.values()))
    planted = [
        _environment(one, lineage, snapshots[one.digest])
        for one, lineage in zip(new.values(), lineages, strict=True)
    ]
    for environment in Environment.objects.bulk_create(planted):
        seeds[environment.snapshot.digest] = environment
    return seeds, new


def _lineages(seedlings: Sequence[Seedling]) -> list[Lineage]:
    slugs = _free_slugs([slugify(one.name)[:LONGEST_SLUG] or "task" for one in seedlings])
    return Lineage.objects.bulk_create(
        Lineage(
            slug=slug,
            title=clean(one.task.config.task_name or one.name)[:LONGEST_TITLE],
            domain=domain_of(one.task),
            source=clean(str(one.path))[-LONGEST_SOURCE:],
        )
        for one, slug in zip(seedlings, slugs, strict=True)
    )


def _environment(one: Seedling, lineage: Lineage, snapshot: Snapshot) -> Environment:
    return Environment(
        lineage=lineage,
        snapshot=snapshot,
        generation=0,
        sequence_json=one.sequence.model_dump(),
        composition_json=plan.Composition().model_dump(),
        length=one.measured.length,
        novelty=one.measured.novelty,
        rarity=one.measured.rarity,
        difficulty=one.measured.total,
        reference_table=difficulty.shipped().digest,
        warnings="\n".join(one.warnings),
        source_digest=one.source_digest,
    )


def domain_of(task: Task) -> str:
    """g: the task's category in words, `general` where it has none."""
    category = task.config.category or "general"
    return clean(category).replace("-", " ").replace("_", " ").lower()[:80]


def _storable(sequence: plan.Sequence) -> plan.Sequence:
    """A script may hold a NUL, which PostgreSQL keeps in no text."""
    pairs = ({name: clean(text) for name, text in pair} for pair in sequence.pairs)
    return plan.Sequence(pairs=tuple(map(plan.Pair.model_validate, pairs)))


def _free_slugs(wanted: Sequence[str]) -> Iterator[str]:
    """A name for each that no lineage has and no two share; a taken one gets the first free number."""
    taken = set(Lineage.objects.filter(slug__in=set(wanted)).values_list("slug", flat=True))
    counters: dict[str, Iterator[str]] = {}
    for slug in wanted:
        if slug not in taken:
            taken.add(slug)
            yield slug
            continue
        if slug not in counters:
            numbered = Lineage.objects.filter(slug__startswith=f"{slug}-")
            taken.update(numbered.values_list("slug", flat=True))
            counters[slug] = (f"{slug}-{number}" for number in itertools.count(2))
        free = next(name for name in counters[slug] if name not in taken)
        taken.add(free)
        yield free
