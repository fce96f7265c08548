"""Who was asked what, as the lines of a list: a conversation is one line, however many requests it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Min, Q, QuerySet, Sum

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
    """In the order in which they began, in two queries. `calls` may name one more than once.

    Of a conversation only the first request is read, however many it has.
    """
    wanted = AgentCall.objects.filter(pk__in=calls.order_by().values("pk"))
    talks = wanted.exclude(conversation=None).order_by().values("conversation")
    sums = talks.annotate(sum_first=Min("pk"), sum_seconds=Sum("seconds"), **SUMS)
    of_talk = {row["sum_first"]: row for row in sums}
    firsts = wanted.filter(Q(conversation=None) | Q(pk__in=list(of_talk)))
    rows = firsts.order_by("started_at", "id").select_related("conversation")
    return [_line(first, of_talk.get(first.pk)) for first in rows]


def _line(first: AgentCall, sums: Mapping[str, Any] | None) -> Line:
    if sums is None:
        return Line(first, None, first.seconds, None)
    return Line(first, first.conversation, sums["sum_seconds"], money_of(sums))
