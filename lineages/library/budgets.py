"""Budgets in US dollars, of an evolution, a lineage, a day, and what was spent of them.

A request counts with its price once that is known; until then, and for ever where nobody knows what came of
it, with the most that was reserved for it. What was asked while no budget bound, of a model without a price,
counts with nothing, and the sentence that holds a request back says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from agents.models import MANUAL
from lineages.library.calls import AgentCall
from lineages.library.models import Lineage
from lineages.library.money import UNKNOWN, Money
from lineages.library.money import spent_on as money_of
from lineages.library.pauses import ASK_AGAIN, Hold

LONGEST_REQUEST = timedelta(hours=1)
"""The longest `timeout_seconds` of a model: a request sent before that is not under way any more."""
OTHERS_SETTLE = 15.0
"""Seconds after which it is worth looking whether requests under way cost less than was reserved."""


@dataclass(frozen=True, slots=True)
class Bound:
    """One budget: the calls that it is for, and when it is worth asking again once it is spent."""

    words: str
    setting: str
    limit: Decimal
    calls: QuerySet[AgentCall]
    renews: float | None = None


def hold(model: str, most: Decimal | None, now: datetime, **made_for: int | None) -> Hold | None:
    """What holds a request back that costs at most `most`, None where its price is unknown.

    `made_for` is `evolution` and `lineage`, by id. To be asked under the ledger's lock.
    """
    bounds = list(_bounds(now, **made_for))
    if bounds and most is None:
        return Hold(
            f"a price: nobody knows that of {model}, and {bounds[0].setting} binds; "
            f"write models.{model}.price into models.toml",
            ASK_AGAIN,
            forever=True,
        )
    return next(filter(None, (_held(bound, most or Decimal(0), now) for bound in bounds)), None)


def spent_on(*, evolution: Any = None, lineage: Lineage | None = None) -> Money:
    """What the requests for one evolution, or for all of one lineage, have cost."""
    made_for = {"evolution": evolution, "lineage": lineage}
    return money_of(AgentCall.objects.filter(**{name: row for name, row in made_for.items() if row}))


def spent_today() -> Money:
    """Since midnight in the installation's time zone, by the database's clock."""
    return money_of(_today(_clock()))


def unknown_costs() -> QuerySet[AgentCall]:
    """Requests that were answered, or may have been, at a price that nobody knows; those still `sent` too."""
    return AgentCall.objects.filter(UNKNOWN | Q(outcome=AgentCall.SENT)).exclude(provider=MANUAL)


def _bounds(now: datetime, *, evolution: int | None, lineage: int | None) -> Iterator[Bound]:
    calls = AgentCall.objects
    if settings.BUDGET_EVOLUTION is not None and evolution is not None:
        mine = calls.filter(evolution=evolution)
        yield Bound("this evolution", "ENVEVO_BUDGET_EVOLUTION", settings.BUDGET_EVOLUTION, mine)
    if settings.BUDGET_LINEAGE is not None and lineage is not None:
        mine = calls.filter(lineage=lineage)
        yield Bound("this lineage", "ENVEVO_BUDGET_LINEAGE", settings.BUDGET_LINEAGE, mine)
    if settings.BUDGET_DAY is not None:
        left = (_midnight(now, days=1) - now).total_seconds()
        yield Bound("today", "ENVEVO_BUDGET_DAY", settings.BUDGET_DAY, _today(now), renews=left)


def _held(bound: Bound, most: Decimal, now: datetime) -> Hold | None:
    under_way = Q(outcome=AgentCall.SENT, started_at__gt=now - LONGEST_REQUEST)
    counted = Coalesce("cost", "reserved")
    sums = bound.calls.exclude(provider="").aggregate(
        gone=Sum(counted, filter=~under_way, default=Decimal(0)),
        open=Sum(counted, filter=under_way, default=Decimal(0)),
        boundless=Count("pk", filter=Q(cost=None, reserved=None)),
    )
    if sums["gone"] + sums["open"] + most <= bound.limit:
        return None
    said = f"money: {sums['gone']:.4f} of {bound.limit:f} US dollars for {bound.words} are spent"
    if sums["boundless"]:
        said += f" (not in it: requests whose cost nobody knows, {sums['boundless']})"
    if sums["gone"] + most <= bound.limit:
        said += f" and {sums['open']:.4f} are reserved for requests under way"
        return Hold(f"{said}: it goes on when they cost less", OTHERS_SETTLE)
    said += f", and the next request may cost {most:.4f}"
    if bound.renews is not None and most <= bound.limit:
        # Not as late as tomorrow: a person may allow more before that.
        said += f": it goes on tomorrow, or with more in {bound.setting}"
        return Hold(said, min(bound.renews, ASK_AGAIN), forever=True)
    return Hold(f"{said}: allow more in {bound.setting} for it to go on", ASK_AGAIN, forever=True)


def _today(now: datetime) -> QuerySet[AgentCall]:
    return AgentCall.objects.filter(started_at__gte=_midnight(now))


def _midnight(now: datetime, *, days: int = 0) -> datetime:
    """Where the day of `now` begins in the installation's time zone, or one so many days later."""
    zone = timezone.get_default_timezone()
    day = now.astimezone(zone).date() + timedelta(days=days)
    return datetime(day.year, day.month, day.day, tzinfo=zone)


def _clock() -> datetime:
    row = AgentCall.objects.order_by("pk").annotate(clock=Now()).values_list("clock", flat=True).first()
    return row or timezone.now()  # without a call there is nothing to count
