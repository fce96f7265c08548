"""Who was asked what, as the lines of a list: a conversation is one line, however many requests it has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from lineages.library.calls import AgentCall, Conversation
from lineages.library.money import SUMS, Money, money_of


@dataclass(frozen=True, slots=True)
class Line:
    """A conversation with its sums, or a call of an author without a model; `first` is the earliest call."""

    first: AgentCall
    conversation: Conversation | None
    seconds: float
    money: Money | None

    @property
    def author(self) -> str:
        return self.conversation.model if self.conversation else self.first.author

    @property
    def outcome(self) -> str:
        return self.conversation.outcome if self.conversation else self.first.outcome

    @property
    def said(self) -> str:
        return self.conversation.note if self.conversation else self.first.error

    @property
    def started_at(self) -> datetime:
        return self.first.started_at


def lines(calls: QuerySet[AgentCall]) -> list[Line]:
    """In the order in which they began, in two queries. `calls` may name one more than once."""
    found = list(
        AgentCall.objects.filter(pk__in=calls.order_by().values("pk"))
        .order_by("started_at", "id")
        .select_related("conversation")
    )
    talks = [call.conversation_id for call in found if call.conversation_id]
    sums = AgentCall.objects.filter(conversation__in=talks).order_by().values("conversation").annotate(**SUMS)
    money = {row["conversation"]: money_of(row) for row in sums}
    begun: dict[object, list[AgentCall]] = {}
    for call in found:
        begun.setdefault(call.conversation_id or call, []).append(call)
    return [_line(each, money) for each in begun.values()]


def _line(calls: Iterable[AgentCall], money: dict[int, Money]) -> Line:
    first, *rest = calls
    seconds = first.seconds + sum(call.seconds for call in rest)
    return Line(first, first.conversation, seconds, money.get(first.conversation_id or 0))
