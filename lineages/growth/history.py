"""Who decided what, when and why: everything that was done to an evolution or an environment, in one list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.urls import reverse

from lineages.growth.models import Evolution, Plan, Review
from lineages.library.models import Environment, Quarantine, Voiding
from lineages.lifecycle import Move

EVOLUTION = "evolution"


@dataclass(frozen=True, slots=True)
class Event:
    """A line of the history. `kind` and `what` say of what; `who` played the role where no person acted."""

    at: datetime
    kind: str
    to_status: str
    reason: str = ""
    from_status: str = ""
    by: User | None = None
    who: str = ""
    what: str = ""
    href: str = ""


def of_evolution(evolution: Evolution) -> list[Event]:
    """Its moves, the reviews of its plans and candidates, and failures of theirs that were voided."""
    mine = Q(plan__attempt__evolution=evolution) | Q(candidate__attempt__evolution=evolution)
    reviews = list(_reviews(mine | Q(started=evolution)))
    # By content: a candidate lets go of an audit that an override has run again, and a copy never had it.
    voidings = Voiding.objects.filter(result__audit__snapshot__candidates__attempt__evolution=evolution)
    return _in_order(
        _moves(Q(kind=EVOLUTION, row=evolution.pk), reviews), map(_review, reviews), _voided(voidings)
    )


def of_environment(environment: Environment) -> list[Event]:
    """What made it, what its audits came to, and whether it was withdrawn and freed."""
    audits = list(environment.snapshot.audits.values_list("pk", flat=True))
    moves, reviews = Q(kind="audit", row__in=audits), list[Review]()
    evolution = getattr(environment, "evolution", None)
    if evolution is not None:
        moves |= Q(kind=EVOLUTION, row=evolution.pk)
        mine = Q(plan__attempt__evolution=evolution) | Q(candidate__attempt__evolution=evolution)
        reviews = list(_reviews(mine | Q(started=evolution)))
    voidings = Voiding.objects.filter(result__audit__in=audits)
    return _in_order(
        _moves(moves, reviews), map(_review, reviews), _voided(voidings), _held(environment.quarantines.all())
    )


def _in_order(*found: Iterable[Event]) -> list[Event]:
    return sorted((event for events in found for event in events), key=attrgetter("at"))


def _reviews(of: Q) -> QuerySet[Review]:
    return (
        Review.objects.filter(of).select_related("user", "plan__attempt", "candidate__attempt").order_by("id")
    )


def _moves(of: Q, reviews: Iterable[Review]) -> Iterable[Event]:
    """A decision's reason stands at its review; the move that followed does not say it again."""
    said = {(review.user_id, review.comment) for review in reviews if review.user_id}
    for move in Move.objects.filter(of).select_related("by").order_by("id"):
        reason = "" if (move.by_id, move.reason) in said else move.reason
        yield Event(move.at, move.kind, move.to_status, reason, from_status=move.from_status, by=move.by)


def _review(review: Review) -> Event:
    subject = review.subject
    kind, number = ("plan", subject.round) if isinstance(subject, Plan) else ("candidate", subject.n)
    named = f"{kind} {subject.attempt.ordinal + 1}.{number + (kind == 'plan')}"
    return Event(
        review.created_at,
        "override" if review.supersedes_id else "review",
        review.decision,
        review.comment,
        by=review.user,
        who=f"{review.reviewer} ({review.role.replace('_', ' ')})",
        what=named,
        href=reverse(f"{kind}_detail", args=[subject.pk]),
    )


def _voided(voidings: QuerySet[Voiding]) -> Iterable[Event]:
    for voiding in voidings.select_related("by").distinct().order_by("id"):
        yield Event(
            voiding.at,
            "gate",
            "voided",
            voiding.reason,
            by=voiding.by,
            what=voiding.gate.replace("_", " "),
            href=reverse("gate_detail", args=[voiding.result_id]),
        )


def _held(quarantines: QuerySet[Quarantine]) -> Iterable[Event]:
    related: Any = quarantines.select_related("by", "freed_by", "origin__lineage")
    for hold in related:
        above = hold.origin_id != hold.environment_id
        what: dict[str, str] = {}
        if above:
            what = {
                "what": f"with {hold.origin}",
                "href": reverse("environment_detail", args=[hold.origin_id]),
            }
        yield Event(hold.at, "withdrawal", "withdrawn", hold.reason, by=hold.by, **what)
        if hold.freed_at:
            yield Event(hold.freed_at, "withdrawal", "freed", hold.freed_reason, by=hold.freed_by, **what)
