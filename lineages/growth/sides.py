"""What can be compared, and how the address of a comparison names it.

An environment is `<lineage>:g<generation>`, with `.k` from the second one of a generation on; a candidate is
`candidate:<number>`. An environment's is what people write elsewhere, with a colon for the slash, so that a
name is one part of an address: `/compare/log-forensics:g0/candidate:34/`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.urls import reverse

from agents.plan import Sequence
from lineages import difficulty
from lineages.growth.models import Candidate
from lineages.library import references
from lineages.library.models import Environment, Lineage

_ENVIRONMENT = re.compile(r"[-a-zA-Z0-9_]{1,80}:g[0-9]{1,9}(\.[0-9]{1,9})?", re.ASCII)
_CANDIDATE = re.compile(r"candidate:([0-9]{1,18})", re.ASCII)


class NoSuchSide(LookupError):
    """The name fits nothing; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two that are compared.

    `raw` names the address of its raw files, which takes `pk` and a path. `values` are L in pairs, and N, R
    and D_T in nats, under the table of reference counts whose digest is `table`.
    """

    name: str
    title: str
    what: str
    href: str
    raw: str
    pk: int
    lineage: Lineage
    generation: int
    direction: str
    snapshot: int
    digest: str
    sequence: Sequence
    values: tuple[float, float, float, float]
    table: str


def name_of(row: Environment | Candidate) -> str:
    """How an address names it."""
    if isinstance(row, Environment):
        return row.reference.replace("/", ":")
    return f"candidate:{row.pk}"


def find(name: str) -> Side:
    """The side of that name, in one query. A slash may stand for the colon. Raises `NoSuchSide`."""
    written = name.strip().replace("/", ":")
    if candidate := _CANDIDATE.fullmatch(written):
        return _candidate(int(candidate[1]))
    if not _ENVIRONMENT.fullmatch(written):
        raise NoSuchSide(
            f"“{name}” is neither an environment, such as log-forensics/g3, nor a candidate,"
            " such as candidate:34."
        )
    try:
        return _of_environment(references.find(written.replace(":", "/")))
    except references.NoSuchEnvironment as problem:
        raise NoSuchSide(f"There is no environment {written.replace(':', '/')}.") from problem


def _candidate(pk: int) -> Side:
    rows = Candidate.objects.select_related("plan", "snapshot", "attempt__evolution__lineage")
    # Of the evolution's generation, which its parent knows.
    candidate = rows.select_related("attempt__evolution__parent").filter(pk=pk).first()
    if candidate is None:
        raise NoSuchSide(f"There is no candidate {pk}.")
    return _of_candidate(candidate)


def _of_environment(row: Environment) -> Side:
    return Side(
        name=name_of(row),
        title=row.reference,
        what=("withdrawn " if row.quarantined else "") + ("environment" if row.generation else "seed"),
        href=reverse("environment_detail", args=[row.pk]),
        raw="environment_raw",
        pk=row.pk,
        lineage=row.lineage,
        generation=row.generation,
        direction=row.direction,
        snapshot=row.snapshot_id,
        digest=row.snapshot.digest,
        sequence=row.sequence,
        values=(row.length, row.novelty, row.rarity, row.difficulty),
        table=row.reference_table,
    )


def _of_candidate(row: Candidate) -> Side:
    """A candidate's D_T is that of its plan's sequence, which is what it would be accepted with."""
    evolution, sequence, reference = row.attempt.evolution, row.plan.draft.after, difficulty.shipped()
    measured = difficulty.difficulty(sequence, evolution.lineage.domain, reference)
    revision = f"repair {row.n}" if row.n else "first build"
    return Side(
        name=name_of(row),
        title=f"candidate {row.pk}",
        what=f"{revision} for {evolution.lineage.slug}/g{evolution.generation}",
        href=reverse("candidate_detail", args=[row.pk]),
        raw="candidate_raw",
        pk=row.pk,
        lineage=evolution.lineage,
        generation=evolution.generation,
        direction=row.attempt.direction,
        snapshot=row.snapshot_id,
        digest=row.snapshot.digest,
        sequence=sequence,
        values=(measured.length, measured.novelty, measured.rarity, measured.total),
        table=reference.digest,
    )
