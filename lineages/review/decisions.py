"""People's decisions on plans and candidates.

A decision is bound to the version of the evolution that its page was drawn from. Where two race, one moves
the evolution and the other raises `Stale` and leaves no review.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from lineages.growth.acceptance import accept
from lineages.growth.models import Attempt, Candidate, Evolution, Plan, Review
from lineages.growth.nudge import nudge
from lineages.growth.work import close
from lineages.lifecycle import Stale, move
from lineages.reasons import needed
from sandboxes.text import clean

Decision = Review.Decision
RACES = 5


def decide_plan(plan: Plan, *, version: int, decision: str, comment: str, by: User) -> Evolution:
    """Approve (building), reject (the attempt is closed) or ask for changes (a new round, no budget used).

    Raises `Stale` unless the plan is the newest of an evolution that waits for its approval at `version`.
    """
    evolution, comment = plan.attempt.evolution, clean(comment)
    to = {
        Decision.APPROVE: Evolution.Status.BUILDING,
        Decision.REJECT: Evolution.Status.DRAFTING,
        Decision.CHANGES: Evolution.Status.DRAFTING,
    }[Decision(decision)]
    with transaction.atomic():
        newest = plan.attempt.outcome == Attempt.Outcome.OPEN and plan.attempt.plan == plan
        _check(evolution, Evolution.Status.PLAN_APPROVAL, version, newest=newest)
        move(evolution, to, by=by, reason=comment)  # first, as in a cancel, or the two could deadlock
        _review(decision, comment, by, plan=plan)
        if decision == Decision.REJECT:
            close(plan.attempt, Attempt.Outcome.REJECTED, comment)
        nudge(evolution)
    return evolution


def decide_candidate(
    candidate: Candidate, *, version: int, decision: str, comment: str, by: User
) -> Evolution:
    """Sign off (accepted), reject (the attempt is closed) or ask for changes (a repair, no budget used).

    Raises `Stale` unless the candidate is the newest of an evolution that waits for sign-off at `version`.
    """
    decision, comment = Decision(decision), clean(comment)
    for tries_left in reversed(range(RACES)):
        try:
            return _decide_candidate(candidate, version, decision, comment, by)
        except IntegrityError:  # the k that it was to have was given out just now
            if not tries_left:
                raise
    raise AssertionError("unreachable: the last try returns or raises")


def _decide_candidate(candidate: Candidate, version: int, decision: str, comment: str, by: User) -> Evolution:
    evolution, attempt = candidate.attempt.evolution, candidate.attempt
    with transaction.atomic():
        newest = attempt.outcome == Attempt.Outcome.OPEN and attempt.candidate == candidate
        _check(evolution, Evolution.Status.SIGN_OFF, version, newest=newest)
        _review(decision, comment, by, candidate=candidate)
        if decision == Decision.APPROVE:
            accept(evolution, candidate, by=by, reason=comment)
        elif decision == Decision.REJECT:
            move(evolution, Evolution.Status.DRAFTING, by=by, reason=comment)
            close(attempt, Attempt.Outcome.REJECTED, comment)
        else:
            move(evolution, Evolution.Status.REPAIRING, by=by, reason=comment)
        for ready in (evolution, Evolution.objects.filter(previous=evolution).first()):
            if ready:
                nudge(ready)
    return evolution


def _check(evolution: Evolution, status: str, version: int, *, newest: bool) -> None:
    """The cheap look before the conditional update that decides."""
    if evolution.status != status or evolution.version != version or not newest:
        raise Stale(f"evolution {evolution.pk} has moved on: it is {evolution.status}")


def _review(decision: str, comment: str, by: User, **of: Plan | Candidate) -> None:
    if decision != Decision.APPROVE:
        comment = needed(comment)
    Review.objects.create(
        role="person", reviewer=by.get_username(), user=by, decision=decision, comment=comment, **of
    )
