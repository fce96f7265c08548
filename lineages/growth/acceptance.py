"""A candidate becomes an environment: one transaction, whoever accepts it."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max

from lineages import difficulty
from lineages.growth.evolving import continue_from, still_free
from lineages.growth.models import Attempt, Candidate, Evolution
from lineages.growth.work import close
from lineages.library import audits
from lineages.library.models import Environment
from lineages.lifecycle import Stale, move


def accept(
    evolution: Evolution, candidate: Candidate, *, token: str = "", by: User | None = None, reason: str = ""
) -> None:
    """Give out k, make the environment, end the evolution and start the next generation's, or none of it.

    Raises `Stale` when the evolution has moved on or its parent is withdrawn. `k` is the next one that was
    never given in this generation; the unique constraint settles a race, and the loser's step is tried again.
    """
    with transaction.atomic():
        if not still_free(evolution.parent):
            raise Stale(f"{evolution.parent} was withdrawn: no child of it is accepted")
        child = _environment(evolution, candidate)
        move(
            evolution,
            Evolution.Status.ACCEPTED,
            token=token,
            by=by,
            reason=reason,
            child=child,
            faults=0,
            fault="",
        )
        # After the evolution's row, which is the order of a cancel: the other way round the two deadlock.
        close(candidate.attempt, Attempt.Outcome.ACCEPTED, "")
        continue_from(evolution)


def _environment(evolution: Evolution, candidate: Candidate) -> Environment:
    lineage, plan = evolution.lineage, candidate.plan.draft
    measured = difficulty.difficulty(plan.after, lineage.domain, difficulty.shipped())
    taken = Environment.objects.filter(lineage=lineage, generation=evolution.generation).aggregate(
        k=Max("k")
    )["k"]
    return Environment.objects.create(
        lineage=lineage,
        snapshot=candidate.snapshot,
        parent=evolution.parent,
        generation=evolution.generation,
        k=(taken or 0) + 1,
        direction=candidate.attempt.direction,
        sequence_json=plan.after.model_dump(mode="json"),
        composition_json=candidate.composition_json,
        length=measured.length,
        novelty=measured.novelty,
        rarity=measured.rarity,
        difficulty=measured.total,
        reference_table=difficulty.shipped().digest,
        source_digest=candidate.snapshot.source_digest,
        provisional=audits.provisional(candidate.snapshot, evolution.parent.snapshot),
    )
