"""What an audit of an environment judges: a seed by itself, a child together with its plan and parent."""

from __future__ import annotations

from dataclasses import replace

from agents.roles import Author
from agents.rubrics import Rubric
from lineages import casting
from lineages.gates.base import Subject
from lineages.growth.models import Candidate, Evolution
from lineages.library import audits, rubrics
from lineages.library.models import Environment, Lineage
from lineages.library.snapshots import load


def makers(lineage: Lineage) -> list[casting.Maker]:
    """The authors whose evolutions have put something into this lineage."""
    grown = Evolution.objects.filter(lineage=lineage, child__isnull=False)
    names = grown.order_by("recipe__author").values_list("recipe__author", flat=True).distinct()
    return casting.makers(names)


def of_candidate(candidate: Candidate, author: Author) -> Subject:
    """A candidate with the plan it was built by and the parent it was built on.

    It is judged by the rubric that its evolution's recipe pins.
    """
    evolution = candidate.attempt.evolution
    made_by = [*makers(evolution.lineage), *casting.makers([evolution.recipe.author])]
    child = evolution.child
    alone = audits.subject_of(
        candidate.snapshot,
        author,
        rubrics.pinned(rubrics.ENVIRONMENT, evolution.recipe.environment_rubric),
        made_by=made_by,
        grown_from=evolution.parent,
        own=child if child and child.snapshot_id == candidate.snapshot_id else None,
    )
    return replace(
        alone,
        parent=load(evolution.parent.snapshot),
        plan=candidate.plan.draft,
        bindings=tuple(row.value for row in candidate.bindings.order_by("pk")),
    )


def of_environment(environment: Environment, author: Author, seeds_by: Rubric | None = None) -> Subject:
    """An accepted environment, judged as the candidate that it was.

    A seed is judged by the rubric `seeds_by`, or by today's.
    """
    accepted = Candidate.objects.filter(
        snapshot=environment.snapshot, attempt__evolution__child=environment
    ).first()
    if accepted:
        return of_candidate(accepted, author)
    made_by = makers(environment.lineage) if environment.generation else []
    return audits.subject_of(
        environment.snapshot,
        author,
        seeds_by or rubrics.today(rubrics.ENVIRONMENT),
        made_by=made_by,
        grown_from=environment.parent,
        own=environment,
    )
