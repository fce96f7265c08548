"""What work has cost: money of model calls, hours of sandboxes, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum

from agents import prices
from agents.models import Book
from agents.providers.base import Usage
from lineages.growth.models import Campaign, Candidate, Evolution
from lineages.library.calls import AgentCall
from lineages.library.models import Audit, GateResult
from lineages.library.money import SENT, UNKNOWN, spent_on


@dataclass(frozen=True, slots=True)
class Spent:
    """`cost` in US dollars. `unpriced` requests to models, of no known price, and those that are still
    `unsettled` are in it with nothing; the latter cost `reserved` at most.
    """

    evolutions: int
    accepted: int
    exhausted: int
    failed: int
    cost: Decimal
    unpriced: int
    sandbox_hours: float
    unsettled: int = 0
    reserved: Decimal = Decimal(0)

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


def made_for(evolutions: QuerySet[Evolution]) -> Q:
    """The calls that were made for these evolutions, their candidates' audits included."""
    bound = Q(evolution__in=evolutions) | Q(attempt__evolution__in=evolutions)
    return bound | Q(evolution=None, attempt=None, audit__in=audits_of(evolutions).values("pk"))


def audits_of(evolutions: QuerySet[Evolution]) -> QuerySet[Audit]:
    """Every audit of their candidates, also those that ended in error and were done again.

    Found by what they are about: a candidate points at its last one alone.
    """
    tried = Candidate.objects.filter(
        attempt__evolution__in=evolutions,
        snapshot=OuterRef("snapshot"),
        attempt__evolution__parent__snapshot=OuterRef("parent"),
    )
    return Audit.objects.filter(Exists(tried))


def of(campaign: Campaign) -> Spent:
    """What a campaign has spent so far, in three queries."""
    counted = campaign.evolutions.aggregate(
        evolutions=Count("pk"),
        accepted=Count("pk", filter=Q(status="accepted")),
        exhausted=Count("pk", filter=Q(status="exhausted")),
        failed=Count("pk", filter=Q(status="failed")),
    )
    audits = audits_of(_own(campaign)).filter(created_at__gte=campaign.created_at)
    results = GateResult.objects.filter(audit__in=audits.values("pk"))
    money = spent_on(_calls_of(campaign))
    seconds = results.aggregate(spent=Sum("seconds"))["spent"] or 0.0
    return Spent(
        **counted,
        cost=money.cost,
        unpriced=money.unknown,
        sandbox_hours=seconds / 3600,
        unsettled=money.sent,
        reserved=money.reserved,
    )


@dataclass(frozen=True, slots=True)
class Open:
    """What may come on top of a known cost: `most` in US dollars, and how many requests to each model may
    cost anything.
    """

    most: Decimal
    boundless: Mapping[str, int]


def on_top(campaign: Campaign, book: Book) -> Open:
    """Of the requests that are not settled, or whose cost nobody knows.

    Each counts with the most that was reserved for it. One for which nothing could be reserved counts with
    its tokens at the price that its model has by now, so that writing a price is a remedy.
    """
    most, boundless = Decimal(0), Counter[str]()
    for call in _calls_of(campaign).filter(SENT | UNKNOWN):
        bound = _priced_now(call, book) if call.reserved is None else call.reserved
        if bound is None:
            boundless[call.author] += 1
        else:
            most += bound
    return Open(most, boundless)


def _priced_now(call: AgentCall, book: Book) -> Decimal | None:
    spec = book.models.get(call.author)
    if spec is None or call.input_tokens is None or call.output_tokens is None:
        return None
    usage = Usage(
        call.input_tokens, call.output_tokens, call.cached_tokens or 0, call.cache_written_tokens or 0
    )
    return prices.price(spec, usage, call.served, call.started_at).cost


def _own(campaign: Campaign) -> QuerySet[Evolution]:
    return Evolution.objects.filter(campaign=campaign)


def _calls_of(campaign: Campaign) -> QuerySet[AgentCall]:
    return AgentCall.objects.filter(made_for(_own(campaign)), started_at__gte=campaign.created_at)
