"""People's overrules as cases: what a role said wrongly, with the person's verdict as the label."""

from __future__ import annotations

from agents.plan import Direction, Effort, Verdict
from agents.reviewing.cases import ANY, Case, EnvironmentCase, Label, PlanCase
from agents.roles import Brief
from lineages.growth.briefs import judgement_of, wishes_for
from lineages.growth.models import Candidate, Plan, Review
from lineages.library.snapshots import load

JUDGES = ("plan_reviewer", "rubric_verifier")


def cases() -> list[Case]:
    """Every override of a role that is the last word on its subject. Raises `BlobLost`."""
    overrules = Review.objects.filter(
        supersedes__user=None, supersedes__role__in=JUDGES, user__isnull=False, superseded_by=None
    )
    found = []
    for review in overrules.select_related("plan", "candidate", "supersedes").order_by("pk"):
        label = label_of(review)
        if label.fails or label.passes:
            found.append(_case(review, label))
    return found


def label_of(review: Review) -> Label:
    """An approval says that what had failed is sound; a rejection that a fault was missed.

    That fault is the criterion which a person made of it, if one did.
    """
    kind = f"overruled by {review.reviewer}"
    if review.decision == Review.Decision.APPROVE and review.supersedes:
        failed = review.supersedes.criteria.filter(verdict=Verdict.FAIL).values_list("criterion", flat=True)
        return Label(kind, passes=tuple(failed), by_person=True)
    made = review.criteria_found.order_by("-pk").first()
    return Label(kind, fails=made.key if made else ANY, by_person=True)


def _case(review: Review, label: Label) -> Case:
    subject = review.subject
    evolution = subject.attempt.evolution
    name = f"{evolution.lineage.slug}, evolution {evolution.pk}, review {review.pk}"
    if isinstance(subject, Plan):
        return PlanCase(name, label, _brief(subject), subject.draft)
    return _environment(name, label, subject)


def _brief(plan: Plan) -> Brief:
    """What the reviewer was told of the plan; every command is said to be there."""
    attempt = plan.attempt
    evolution = attempt.evolution
    earlier = list(attempt.plans.filter(round__lt=plan.round))
    return Brief(
        task=load(evolution.parent.snapshot),
        sequence=evolution.parent.sequence,
        composition=evolution.parent.composition,
        direction=Direction(attempt.direction),
        effort=Effort(evolution.recipe.effort),
        generation=evolution.generation,
        rng_seed="",
        probe=frozenset,
        history=tuple((each.draft, judgement_of(each)) for each in earlier),
        wishes=tuple(wishes_for(earlier)),
    )


def _environment(name: str, label: Label, candidate: Candidate) -> EnvironmentCase:
    bindings = tuple(row.value for row in candidate.bindings.order_by("pk"))
    return EnvironmentCase(name, label, load(candidate.snapshot), candidate.plan.draft, bindings)
