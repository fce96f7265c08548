"""What work has cost: money of model calls, hours of sandboxes, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum

from lineages.growth.models import Campaign, Candidate
from lineages.library.calls import AgentCall
from lineages.library.models import Audit, GateResult


@dataclass(frozen=True, slots=True)
class Spent:
    """`cost` in US dollars; `unpriced` calls of models have no known price and are in it with nothing."""

    evolutions: int
    accepted: int
    exhausted: int
    failed: int
    cost: Decimal
    unpriced: int
    sandbox_hours: float

    @property
    def settled(self) -> int:
        return self.accepted + self.exhausted

    @property
    def yielded(self) -> float | None:
        """The share of evolutions that ended with a child among those that ended by themselves."""
        return self.accepted / self.settled if self.settled else None

    @property
    def minutes_each(self) -> float | None:
        """Sandbox minutes for each accepted environment."""
        return self.sandbox_hours * 60 / self.accepted if self.accepted else None

    @property
    def cost_each(self) -> Decimal | None:
        return self.cost / self.accepted if self.accepted else None


def _audits(campaign: Campaign) -> QuerySet[Audit]:
    """Every audit of its candidates, also those that ended in error and were done again.

    Found by what they are about: a candidate points at its last one alone.
    """
    tried = Candidate.objects.filter(
        attempt__evolution__campaign=campaign,
        snapshot=OuterRef("snapshot"),
        attempt__evolution__parent__snapshot=OuterRef("parent"),
    )
    return Audit.objects.filter(Exists(tried), created_at__gte=campaign.created_at)


def of(campaign: Campaign) -> Spent:
    """What a campaign has spent so far, in three queries."""
    counted = campaign.evolutions.aggregate(
        evolutions=Count("pk"),
        accepted=Count("pk", filter=Q(status="accepted")),
        exhausted=Count("pk", filter=Q(status="exhausted")),
        failed=Count("pk", filter=Q(status="failed")),
    )
    audits = _audits(campaign).values("pk")
    results = GateResult.objects.filter(audit__in=audits)
    calls = AgentCall.objects.filter(Q(attempt__evolution__campaign=campaign) | Q(audit__in=audits))
    asked = calls.aggregate(
        money=Sum("cost"),
        unpriced=Count("pk", filter=Q(cost=None, tokens__isnull=False)),
    )
    seconds = results.aggregate(spent=Sum("seconds"))["spent"] or 0.0
    return Spent(
        **counted,
        cost=asked["money"] or Decimal(0),
        unpriced=asked["unpriced"],
        sandbox_hours=seconds / 3600,
    )
