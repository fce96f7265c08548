"""A person's word against a reviewer's: what follows from it, and doing just that.

A review can be overridden while it is the last word on its plan or candidate. What follows depends on where
that plan or candidate stands (docs/architecture.md): work goes on there, a new evolution begins at it, its
attempt is closed, or the environment it became is withdrawn. A page shows which, and the override is bound
to that: where it has changed meanwhile, nothing is stored. No override uses up a round or a repair.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from lineages.growth.evolving import abandon_audits, create
from lineages.growth.models import Attempt, Candidate, Evolution, PairBinding, Plan, Review
from lineages.growth.nudge import nudge
from lineages.growth.withdrawing import cancel_below, hold_back
from lineages.growth.work import close
from lineages.library.models import Audit, GateResult
from lineages.lifecycle import Stale, move
from lineages.reasons import needed
from lineages.review.voiding import void

RACES = 5
RUBRICS = "rubrics"


class Follows(StrEnum):
    """What an override does; the value is what a page sends back."""

    BUILD = "build"
    VERIFY = "verify"
    START_AT_PLAN = "start_at_plan"
    START_AT_CANDIDATE = "start_at_candidate"
    CLOSE = "close"
    WITHDRAW = "withdraw"


def follows(review: Review) -> Follows | None:
    """What overriding the review would do now; None where it decides nothing any more."""
    subject = review.subject
    if subject.reviews.order_by("-id").first() != review:
        return None
    attempt = subject.attempt
    newest = subject == (attempt.plan if isinstance(subject, Plan) else attempt.candidate)
    if review.decision == Review.Decision.APPROVE:
        return _after_approval(attempt) if newest else None
    if isinstance(subject, Plan):
        return _after_rejected_plan(attempt, newest)
    return _after_rejected_candidate(attempt, newest)


def _after_approval(attempt: Attempt) -> Follows | None:
    if attempt.outcome == Attempt.Outcome.OPEN:
        return Follows.CLOSE
    child = attempt.evolution.child
    if attempt.outcome != Attempt.Outcome.ACCEPTED or child is None:
        return None
    withdrawn = child.quarantines.filter(origin=child, freed_at=None).exists()
    return None if withdrawn else Follows.WITHDRAW


def _after_rejected_plan(attempt: Attempt, newest: bool) -> Follows | None:
    if newest and attempt.outcome == Attempt.Outcome.OPEN:
        return Follows.BUILD if _stands_in(attempt.evolution) == Evolution.Status.DRAFTING else None
    return None if _became_environment(attempt, newest) else Follows.START_AT_PLAN


def _after_rejected_candidate(attempt: Attempt, newest: bool) -> Follows | None:
    if newest and attempt.outcome == Attempt.Outcome.OPEN:
        return Follows.VERIFY if _stands_in(attempt.evolution) == Evolution.Status.REPAIRING else None
    return None if _became_environment(attempt, newest) else Follows.START_AT_CANDIDATE


def _became_environment(attempt: Attempt, newest: bool) -> bool:
    """There a rejection is an override that withdrew it, or a failed rubric that was voided before.

    A twin that begins at the same plan would not be held back; an operator frees the environment instead.
    """
    return newest and attempt.outcome == Attempt.Outcome.ACCEPTED


def _stands_in(evolution: Evolution) -> str:
    """The status, or the one that an infrastructure error interrupted."""
    return evolution.failed_in if evolution.status == Evolution.Status.FAILED else evolution.status


def override(review: Review, *, shown: str, reason: str, by: User) -> Evolution:
    """Supersede the review, and do what follows; returns the evolution that it goes on in.

    Raises `Stale` where that is not what the page had `shown`, or somebody overrode it first; `ReasonNeeded`
    without a reason; `CannotStart` when the parent of a new evolution is withdrawn.
    """
    reason = needed(reason)
    for _ in range(RACES):
        # One query reads the review with its evolution: whatever moves after it makes the move below stale.
        fresh = Review.objects.select_related(*_RELATED).get(pk=review.pk)
        follow = follows(fresh)
        if follow is None or follow != shown:
            break
        with contextlib.suppress(IntegrityError, Stale):
            return _DO[follow](fresh, reason, by)
    raise Stale("this review no longer decides what it decided when the page was drawn")


_RELATED = tuple(
    f"{of}__attempt__evolution__{what}" for of in ("plan", "candidate") for what in ("parent", "child")
)


def _supersede(review: Review, reason: str, by: User) -> Review:
    """Its opposite, by this person. Raises `IntegrityError` where another override was faster."""
    approved = review.decision == Review.Decision.APPROVE
    return Review.objects.create(
        plan=review.plan,
        candidate=review.candidate,
        role="person",
        reviewer=by.get_username(),
        user=by,
        decision=Review.Decision.REJECT if approved else Review.Decision.APPROVE,
        comment=reason,
        supersedes=review,
    )


def _take(evolution: Evolution, to: str, reason: str, by: User) -> None:
    """Move it as it was read, out of whose hands ever. Raises `Stale`."""
    forgotten: dict[str, Any] = {"faults": 0, "fault": "", "failed_in": ""}
    move(evolution, to, token=evolution.lease_token, reason=reason, by=by, **forgotten)
    nudge(evolution)


def _build(review: Review, reason: str, by: User) -> Evolution:
    evolution = review.subject.attempt.evolution
    with transaction.atomic():
        _take(evolution, Evolution.Status.BUILDING, reason, by)
        _supersede(review, reason, by)
    return evolution


def _verify(review: Review, reason: str, by: User) -> Evolution:
    """The gates run again over the same candidate, unless they had accepted it."""
    evolution = review.subject.attempt.evolution
    with transaction.atomic():
        _take(evolution, Evolution.Status.VERIFYING, reason, by)
        _supersede(review, reason, by)
        _void_rubrics(review, reason, by)
        rejected = Candidate.objects.filter(reviews=review, audit__status=Audit.Status.REJECTED)
        rejected.update(audit=None)
    return evolution


def _close(review: Review, reason: str, by: User) -> Evolution:
    attempt = review.subject.attempt
    with transaction.atomic():
        _take(attempt.evolution, Evolution.Status.DRAFTING, reason, by)
        _supersede(review, reason, by)
        close(attempt, Attempt.Outcome.OVERRULED, reason)
    abandon_audits(attempt.evolution, "the approval was overridden")
    return attempt.evolution


def _withdraw(review: Review, reason: str, by: User) -> Evolution:
    evolution = review.subject.attempt.evolution
    assert evolution.child is not None
    with transaction.atomic():
        _supersede(review, reason, by)
        held = hold_back(evolution.child, reason=reason, by=by)
    cancel_below(held, f"{evolution.child} was withdrawn", by=by)
    return evolution


def _start_at_plan(review: Review, reason: str, by: User) -> Evolution:
    assert review.plan is not None
    with transaction.atomic():
        return _branch(review.plan, Evolution.Status.BUILDING, _supersede(review, reason, by), by)


def _start_at_candidate(review: Review, reason: str, by: User) -> Evolution:
    old = review.candidate
    assert old is not None
    with transaction.atomic():
        _void_rubrics(review, reason, by)
        evolution = _branch(old.plan, Evolution.Status.VERIFYING, _supersede(review, reason, by), by)
        _copy(old, Plan.objects.get(attempt__evolution=evolution))
    return evolution


def _branch(plan: Plan, status: str, origin: Review, by: User) -> Evolution:
    """A new evolution from the same parent by the same settings; its first direction begins with the plan."""
    old, first = plan.attempt.evolution, plan.attempt.direction
    order = [first, *(each for each in old.directions if each != first)]
    evolution = create(
        old.parent,
        old.recipe,
        old.generations_left,
        by=by,
        origin=origin,
        status=status,
        direction_order=",".join(order),
    )
    attempt = Attempt.objects.create(evolution=evolution, ordinal=0, direction=first)
    Plan.objects.create(attempt=attempt, round=0, draft_json=plan.draft_json, copied_from=plan)
    nudge(evolution)
    return evolution


def _copy(old: Candidate, plan: Plan) -> None:
    """With its bindings in their order: the rubrics gate's key is made of them."""
    candidate = Candidate.objects.create(
        attempt=plan.attempt,
        plan=plan,
        n=0,
        snapshot=old.snapshot,
        composition_json=old.composition_json,
        notes=old.notes,
        copied_from=old,
    )
    fields = ("key", "solution_block", "test_units", "environment_paths", "requirement")
    rows = old.bindings.order_by("pk").values(*fields)
    PairBinding.objects.bulk_create(PairBinding(candidate=candidate, **row) for row in rows)


def _void_rubrics(review: Review, reason: str, by: User) -> None:
    """A rubric verdict stands in a gate, too; a person's own rejection does not."""
    if review.call_id is not None:
        failed = GateResult.objects.filter(audit__calls=review.call_id, gate=RUBRICS, outcome="failed")
        for result in failed:
            void(result, reason=reason, by=by)


_DO: Mapping[Follows, Callable[[Review, str, User], Evolution]] = {
    Follows.BUILD: _build,
    Follows.VERIFY: _verify,
    Follows.START_AT_PLAN: _start_at_plan,
    Follows.START_AT_CANDIDATE: _start_at_candidate,
    Follows.CLOSE: _close,
    Follows.WITHDRAW: _withdraw,
}
