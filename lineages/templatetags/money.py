"""Amounts of money, with what is not known said beside them."""

from __future__ import annotations

from decimal import Decimal
from typing import Protocol

from django import template

from lineages.library import asked
from lineages.library.money import Money

register = template.Library()
register.filter("by_conversation", asked.lines)


@register.filter
def dollars(amount: Decimal | None) -> str:
    """`$1.24`, small ones with the digits that they need; `unknown` for None, which is not nothing."""
    if amount is None:
        return "unknown"
    if amount == 0 or amount >= 1:
        return f"${amount:,.2f}"
    if amount >= Decimal("0.01"):
        return f"${amount:.4f}"
    return f"${amount:.6f}"


@register.filter
def fine(amount: Decimal) -> str:
    """For a column of a table, where all have as many digits; what is too little for them keeps its own."""
    return f"${amount:,.4f}" if amount == 0 or amount >= Decimal("0.0001") else dollars(amount)


@register.filter
def known(money: Money) -> str:
    """What is known of the cost; `unknown` where that is nothing and something is not known."""
    return fine(money.cost) if money.known else "unknown"


class Divided(Protocol):
    """A cost and what it is divided by; `each` is None where that makes no sense or is not known."""

    @property
    def money(self) -> Money: ...

    @property
    def accepted(self) -> int | None: ...

    @property
    def each(self) -> Decimal | None: ...


@register.filter
def average(line: Divided) -> str:
    """What each accepted environment cost, with ≥ where that is not all; – where there is none."""
    if not line.accepted:
        return "–"
    if line.each is None:
        return "unknown"
    return fine(line.each) if line.money.whole else f"≥ {fine(line.each)}"


@register.filter
def grouped(number: int) -> str:
    """`12 345`, with thin spaces that do not break."""
    return f"{number:,}".replace(",", "\u202f")


@register.filter
def whole(money: Money) -> str:
    """`$1.24 and 3 calls of unknown cost`, and what was sent and never answered for.

    `unknown (3 calls)` where nothing else is known: that is not nothing.
    """
    said = [dollars(money.cost)] if money.known else []
    if money.unknown:
        calls = f"{money.unknown} call{_s(money.unknown)}"
        said.append(f"{calls} of unknown cost" if said else f"unknown ({calls})")
    if money.sent:
        said.append(f"{money.sent} sent and not settled ({most(money)})")
    return f"{', '.join(said[:-1])} and {said[-1]}" if len(said) > 1 else said[0]


@register.filter
def most(money: Money) -> str:
    """What the requests that are only sent may cost."""
    if not money.boundless:
        return f"{dollars(money.reserved)} at most"
    if money.boundless == money.sent:
        return "nobody knows how much"
    return f"{dollars(money.reserved)} at most for {money.sent - money.boundless} of them"


def _s(number: int) -> str:
    return "" if number == 1 else "s"
