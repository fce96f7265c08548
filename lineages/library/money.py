"""What requests to models cost, added up by the database. What is unknown is counted, and is never 0.

Four kinds of `AgentCall` are told apart: requests of models; those among them whose price nobody knows;
those that are still `sent`, so that nobody knows whether they cost anything; and calls that have no price
at all, since a person answered or an author without a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum

from agents.models import MANUAL
from lineages.library.calls import AgentCall

UNPRICED = Q(conversation=None, provider="", cost=None, tokens=None) | Q(provider=MANUAL)
"""Nobody is paid for these: a person, or an author without a model."""
ASKED = ~UNPRICED
SENT = ASKED & Q(outcome=AgentCall.SENT)
UNKNOWN = ASKED & Q(cost=None) & ~Q(outcome=AgentCall.SENT) & (Q(billed=True) | Q(billed=None))
"""Settled, without a price, and not known to be free: a request that was refused at the door is."""

SUMS: dict[str, Any] = {
    "sum_requests": Count("pk", filter=ASKED),
    "sum_cost": Sum("cost", filter=ASKED, default=Decimal(0)),
    "sum_unknown": Count("pk", filter=UNKNOWN),
    "sum_sent": Count("pk", filter=SENT),
    "sum_reserved": Sum("reserved", filter=SENT, default=Decimal(0)),
    "sum_boundless": Count("pk", filter=SENT & Q(reserved=None)),
    "sum_unpriced": Count("pk", filter=UNPRICED),
    "sum_tokens_in": Sum("input_tokens", filter=ASKED, default=0),
    "sum_tokens_cached": Sum("cached_tokens", filter=ASKED, default=0),
    "sum_tokens_out": Sum("output_tokens", filter=ASKED, default=0),
    "sum_tokens_thought": Sum("thinking_tokens", filter=ASKED, default=0),
}
"""By names that are no fields, since a name given to a sum hides the field for those after it."""


@dataclass(frozen=True, slots=True)
class Money:
    """`cost` in US dollars is what is known; `unknown` requests come on top of it, and `sent` ones may.

    `reserved` is the most that the latter cost, but for the `boundless` ones, whose most is not known.
    `unpriced` calls cost nothing.
    """

    requests: int = 0
    cost: Decimal = Decimal(0)
    unknown: int = 0
    sent: int = 0
    reserved: Decimal = Decimal(0)
    boundless: int = 0
    unpriced: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    tokens_thought: int = 0

    @property
    def whole(self) -> bool:
        """Whether `cost` is all of it."""
        return not self.unknown and not self.sent

    @property
    def known(self) -> bool:
        """Whether `cost` says anything: a 0 beside costs that nobody knows does not."""
        return bool(self.cost) or self.whole


def money_of(row: Mapping[str, Any]) -> Money:
    """A row of `SUMS`."""
    return Money(**{name.removeprefix("sum_"): row[name] for name in SUMS})


def spent_on(calls: QuerySet[AgentCall]) -> Money:
    """All of these calls together, in one query."""
    return money_of(calls.order_by().aggregate(**SUMS))
