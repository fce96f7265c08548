"""What models cost and what came of it, for all work or a part of it, added up by the database."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from agents.casting import Cast
from agents.models import MANUAL, Role
from lineages.growth.models import Attempt, Candidate, Evolution, Plan, ReviewedCriterion
from lineages.growth.spending import audits_of, made_for
from lineages.library.calls import AgentCall
from lineages.library.models import GateResult
from lineages.library.money import ASKED, SUMS, Money, money_of, spent_on

NO_ATTEMPT = ""
BY_HAND = Cast(dict.fromkeys(Role, MANUAL)).text
"""The cast of a person who plays every role."""


@dataclass(frozen=True, slots=True)
class Part:
    """Which part of the work is looked at; what is empty does not narrow. `author` is a recipe's."""

    lineage: str = ""
    campaign: str = ""
    author: str = ""
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """What belongs to one value of a dimension.

    `accepted` environments were grown with models; None where acceptances do not divide by the dimension.
    `others` were accepted without any, and cost nothing.
    """

    key: str
    money: Money
    accepted: int | None = None
    others: int = 0

    @property
    def each(self) -> Decimal | None:
        """For each of `accepted`; None without one, and where nothing is known of the cost."""
        return self.money.cost / self.accepted if self.accepted and self.money.known else None


@dataclass(frozen=True, slots=True)
class Round:
    """The plans of one round. `ruled_out` ones broke a rule before the reviewer saw them."""

    number: int
    plans: int
    accepted: int
    rejected: int
    ruled_out: int

    @property
    def share(self) -> float:
        return self.accepted / self.plans


@dataclass(frozen=True, slots=True)
class Reason:
    """`kind` is criterion, rule, gate or attempt; `times` how often it stood in the way."""

    kind: str
    name: str
    times: int


@dataclass(frozen=True, slots=True)
class Yield:
    """`repaired`: how many accepted attempts took how many repairs; `repairs`: those of lost ones too."""

    rounds: list[Round]
    repaired: list[tuple[int, int]]
    repairs: int
    accepted: int
    reasons: dict[str, list[Reason]]

    @property
    def repairs_each(self) -> float | None:
        return self.repairs / self.accepted if self.accepted else None


def calls_of(part: Part) -> QuerySet[AgentCall]:
    found = AgentCall.objects.order_by()
    if part.since:
        found = found.filter(started_at__gte=part.since)
    if part.author:
        grown = Evolution.objects.filter(recipe__author=part.author)
        found = found.filter(made_for(grown) | Q(evolution=None, attempt=None, author=part.author))
    if part.campaign:
        found = found.filter(made_for(Evolution.objects.filter(campaign__slug=part.campaign)))
    if part.lineage:
        grown = Evolution.objects.filter(lineage__slug=part.lineage)
        found = found.filter(Q(lineage__slug=part.lineage) | Q(lineage=None) & made_for(grown))
    return found


def evolutions_of(part: Part) -> QuerySet[Evolution]:
    """Those of the part, whenever they ran."""
    found = Evolution.objects.order_by()
    for name, value in (
        ("lineage__slug", part.lineage),
        ("campaign__slug", part.campaign),
        ("recipe__author", part.author),
    ):
        found = found.filter(**{name: value}) if value else found
    return found


def total(part: Part) -> Line:
    accepted = _accepted(part)
    return Line("", spent_on(calls_of(part)), accepted.with_models.total(), accepted.others.total())


def tables(part: Part) -> dict[str, list[Line]]:
    """Cost by role, model, direction and outcome of the attempt; the lines of each add up to the total."""
    calls, accepted = calls_of(part).filter(ASKED), _accepted(part)
    by_direction = _divided(calls, _of_attempt("direction"))
    return {
        "role": _divided(calls, Coalesce("role", Value(""))),
        "model": _divided(calls, Coalesce("conversation__model", "author")),
        "direction": [
            Line(line.key, line.money, accepted.with_models[line.key], accepted.others[line.key])
            if line.key
            else line
            for line in by_direction
        ],
        "outcome": _divided(calls, _of_attempt("outcome")),
    }


def yields(part: Part) -> Yield:
    """What the two loops let through, and what stood in the way."""
    evolutions = evolutions_of(part).values("pk")
    attempts = Attempt.objects.filter(evolution__in=evolutions).order_by()
    revisions = Candidate.objects.filter(attempt=OuterRef("pk"), n__gt=0).order_by().values("attempt")
    accepted = attempts.filter(outcome=Attempt.Outcome.ACCEPTED, **_from("closed_at", part))
    repaired = (
        accepted.annotate(
            repairs=Coalesce(Subquery(revisions.annotate(n_all=Count("pk")).values("n_all")), 0)
        )
        .values("repairs")
        .annotate(times=Count("pk"))
        .order_by("repairs")
    )
    counts = [(row["repairs"], row["times"]) for row in repaired]
    built = Candidate.objects.filter(attempt__in=attempts.values("pk"), n__gt=0, **_from("created_at", part))
    return Yield(
        rounds=_rounds(attempts, part),
        repaired=counts,
        repairs=built.count(),
        accepted=sum(times for _, times in counts),
        reasons=_reasons(evolutions_of(part), part),
    )


def _rounds(attempts: QuerySet[Attempt], part: Part) -> list[Round]:
    reviewed = Q(reviews__role="plan_reviewer")
    found = (
        Plan.objects.filter(attempt__in=attempts.values("pk"), **_from("created_at", part))
        .order_by("round")
        .values("round")
        .annotate(
            plans=Count("pk", distinct=True),
            accepted=Count("pk", filter=reviewed & Q(reviews__decision="approve"), distinct=True),
            rejected=Count("pk", filter=reviewed & Q(reviews__decision="reject"), distinct=True),
            ruled_out=Count("pk", filter=Q(reviews__role="rules"), distinct=True),
        )
    )
    return [Round(number=row.pop("round") + 1, **row) for row in map(dict, found)]


def _reasons(evolutions: QuerySet[Evolution], part: Part) -> dict[str, list[Reason]]:
    """By where they come from, each list with the most frequent first."""
    failed = ReviewedCriterion.objects.filter(
        verdict="fail",
        review__decision="reject",
        review__plan__attempt__evolution__in=evolutions,
        **_from("review__created_at", part),
    )
    gates = GateResult.objects.filter(
        outcome="failed", audit__in=audits_of(evolutions).values("pk"), **_from("started_at", part)
    )
    closed = Attempt.objects.filter(evolution__in=evolutions, **_from("closed_at", part)).exclude(
        outcome__in=[Attempt.Outcome.OPEN, Attempt.Outcome.ACCEPTED]
    )
    return {
        "criterion": _counted("criterion", failed.exclude(review__role="rules"), "criterion"),
        "rule": _counted("rule", failed.filter(review__role="rules"), "criterion"),
        "gate": _counted("gate", gates, "gate"),
        "attempt": _counted("attempt", closed, "outcome"),
    }


def _counted(kind: str, rows: QuerySet[Any], field: str) -> list[Reason]:
    found = rows.order_by().values(field).annotate(times=Count("pk")).order_by("-times", field)
    return [Reason(kind, row[field], row["times"]) for row in found]


class _Accepted(NamedTuple):
    """Accepted environments by the direction that made them."""

    with_models: Counter[str]
    others: Counter[str]


def _accepted(part: Part) -> _Accepted:
    found = evolutions_of(part).filter(child__isnull=False, **_from("child__created_at", part))
    with_models = Count("pk", filter=~Q(recipe__cast__in=["", BY_HAND]))
    rows = found.values("child__direction").annotate(times=Count("pk"), asked=with_models)
    counted = _Accepted(Counter(), Counter())
    for row in rows:
        counted.with_models[row["child__direction"]] += row["asked"]
        counted.others[row["child__direction"]] += row["times"] - row["asked"]
    return counted


def _divided(calls: QuerySet[AgentCall], by: Combinable) -> list[Line]:
    """The dearest first."""
    rows = calls.annotate(key=by).values("key").annotate(**SUMS)
    lines = [Line(row["key"], money_of(row)) for row in rows]
    return sorted(lines, key=lambda line: (-line.money.cost, -line.money.requests, line.key))


def _of_attempt(field: str) -> Combinable:
    """A field of the attempt that a call was made for; an audit serves the candidate with its content."""
    served = Candidate.objects.filter(
        Q(attempt__evolution=OuterRef("evolution")) | Q(audit=OuterRef("audit")),
        snapshot=OuterRef("audit__snapshot"),
    )
    through_audit = Subquery(served.order_by("-pk").values(f"attempt__{field}")[:1])
    return Coalesce(f"attempt__{field}", through_audit, Value(NO_ATTEMPT))


def _from(field: str, part: Part) -> dict[str, Any]:
    return {f"{field}__gte": part.since} if part.since else {}
