"""The line of `agents.line` over the database: stored before it leaves, settled before it is read.

What was answered before is given back at no cost. A request that is to leave is reserved first, under one
lock: budgets, the limits of the model and its pause are looked at there. The role's thread then talks to the
server without a database; what came back, or why nothing did, is stored whoever holds the lease by then.

    who asks         at the desk, in the lease's thread              in the role's thread
    ask(number)      stored answer? → reply
                     reserve: row `sent`, or a hold → `Waits`
                                                                     provider.reply
                     settle: tokens, cost, bodies                    → reply, or another try after a wait
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, Protocol, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Q, Sum
from django.db.models.functions import Coalesce, Now

from agents import prices
from agents.line import Conversation, Spent, Waits
from agents.models import MANUAL, Book, ModelSpec, Role
from agents.providers.base import Provider, Question, Reply, ToolResult
from agents.providers.errors import Closed, Overloaded, Passing, ProviderError
from agents.providers.opening import open_provider
from lineages.library import blobs, by_hand, pauses, recording, replies, reserving, retrying
from lineages.library.calls import AgentCall, ToolRun
from lineages.library.calls import Conversation as ConversationRow
from lineages.library.pauses import Hold
from lineages.library.reserving import Request
from lineages.library.reserving import Scope as Scope
from sandboxes.base import ExecResult
from sandboxes.text import clean

T = TypeVar("T")
_CALL_ID = 200
provider_of = cache(open_provider)
"""The provider of a model, made once in each process."""


class Errands(Protocol):
    """Somebody with a database: `lineages.desk.Desk`, or `Directly`."""

    def ask(self, errand: Callable[[], T], *, fenced: bool = True) -> T: ...


class Directly:
    """For a caller that has a database itself and holds no lease, a command say."""

    def ask(self, errand: Callable[[], T], *, fenced: bool = True) -> T:
        with transaction.atomic():
            return errand()


@dataclass(frozen=True)
class LedgerLine:
    """Implements `agents.line.Line` for one scope. `desk` does all that needs the database."""

    desk: Errands
    book: Book
    scope: Scope
    providers: Callable[[ModelSpec], Provider] = provider_of

    def open(
        self, role: Role, model: str, *, subject: str, prompt: Mapping[str, str], opening: Question
    ) -> Conversation:
        """Raises `agents.models.ModelsError` for a model that is not in the book."""
        spec, begun = self.book.model(model), replies.digest(opening)

        def errand() -> int:
            row, _ = ConversationRow.objects.get_or_create(
                scope=self.scope.name,
                role=role,
                model=model,
                subject=clean(subject)[:120],
                opening=begun,
                defaults={
                    "prompt_name": prompt["name"],
                    "prompt_digest": prompt["digest"],
                    "attempt_id": self.scope.attempt,
                    "audit_id": self.scope.audit,
                },
            )
            return row.pk

        return Talk(self, spec, str(role), self.desk.ask(errand))


@dataclass
class Talk:
    """Implements `agents.line.Conversation` over the row `pk`.

    `last` is the last number that was asked for in this sitting.
    """

    line: LedgerLine
    model: ModelSpec
    role: str
    pk: int
    last: int = -1

    def ask(self, number: int, question: Question) -> Reply:
        """See `agents.line.Conversation.ask`; raises also `LeaseLost`, when nothing is sent any more."""
        stored = self._errand(lambda: reserving.stored_reply(self.pk, number))
        self.last = max(self.last, number)
        if stored:
            return stored[1]
        if self.model.provider == MANUAL:
            self._put_to_a_person(number, question)
        try:
            provider = self.line.providers(self.model)
            request = self._request(number, question, provider.request_of(question))
            return self._paid(provider, request, question)
        except Closed as problem:
            said = str(problem)
            reason = self._settled(lambda: pauses.close(self.model.name, said))
            raise Waits(pauses.waits_for(reason), seconds=pauses.ASK_AGAIN, forever=True) from problem

    def results(self, number: int) -> tuple[ToolResult, ...] | None:
        return self._errand(lambda: _results(self.pk, number))

    def keep_results(
        self, number: int, results: Sequence[ToolResult], commands: Sequence[ExecResult] = ()
    ) -> None:
        self._errand(lambda: _keep_results(self.pk, number, results, commands))

    def spent(self) -> Spent:
        return self._errand(lambda: _spent(self.pk, self.last))

    def end(self, outcome: str, *, note: str = "") -> None:
        row = ConversationRow.objects.filter(pk=self.pk)
        self._errand(lambda: row.update(outcome=outcome, note=clean(note), ended_at=Now()))

    def _request(self, number: int, question: Question, body: bytes) -> Request:
        """With the most that it may use and cost."""
        asked = prices.estimate_tokens(body)
        room = min(question.max_output_tokens, self.model.max_output_tokens)
        return Request(
            conversation=self.pk,
            number=number,
            role=self.role,
            spec=self.model,
            scope=self.line.scope,
            body=body,
            tokens=asked + room,
            most=prices.most(self.model, asked, room),
        )

    def _put_to_a_person(self, number: int, question: Question) -> None:
        body = replies.written(replies.question_json(question))
        request = Request(self.pk, number, self.role, self.model, self.line.scope, body, 0, Decimal(0))
        self._errand(lambda: by_hand.put(request))
        raise Waits(by_hand.WAITS_FOR_A_PERSON, seconds=pauses.ASK_AGAIN, forever=True)

    def _paid(self, provider: Provider, request: Request, question: Question) -> Reply:
        """Try until there is an answer or the model's patience ends, counted from the first try."""
        begun, failed = 0.0, 0
        while True:
            call = self._reserved(request)
            begun = begun or time.monotonic()
            try:
                return self._once(provider, call, question)
            except Passing as problem:
                failed += 1
                left = self.model.patience_seconds - (time.monotonic() - begun)
                seconds = retrying.wait(failed, problem.retry_after, left)
                self._tell_the_others(problem, seconds)
                if seconds is None:
                    raise
            self._rest(seconds)

    def _once(self, provider: Provider, call: AgentCall, question: Question) -> Reply:
        """One request, and its row settled. Anything but a `ProviderError` leaves it `sent`: nobody knows."""
        clock = time.monotonic()
        try:
            reply = provider.reply(question)
        except ProviderError as problem:
            failure, seconds = problem, time.monotonic() - clock
            self._settled(lambda: self._failed(call, failure, seconds))
            raise
        self._settled(lambda: reserving.settle(call, self.model, reply))
        return reply

    def _failed(self, call: AgentCall, failure: ProviderError, seconds: float) -> None:
        """Settled and told in one transaction: nobody takes its place before the pause is seen."""
        reserving.settle_failed(call, failure, seconds)
        if isinstance(failure, Overloaded):
            pauses.slow_down(self.model.name, failure.retry_after or retrying.FIRST, str(failure))

    def _tell_the_others(self, problem: Passing, seconds: float | None) -> None:
        """An overloaded server is left alone by every worker, also where this one has no patience left."""
        if isinstance(problem, Overloaded):
            pause = seconds or problem.retry_after or retrying.LONGEST
            self._settled(lambda: pauses.slow_down(self.model.name, pause, str(problem)))

    def _reserved(self, request: Request) -> AgentCall:
        """The row of a request that may leave. Raises `Waits` for a hold that outlasts the patience."""
        begun = time.monotonic()
        while isinstance(got := self._errand(lambda: reserving.reserve(request)), Hold):
            waited = time.monotonic() - begun
            if got.forever or waited + got.seconds > self.model.patience_seconds:
                raise Waits(got.reason, seconds=got.seconds, forever=got.forever)
            self._rest(got.seconds)
        return got

    def _rest(self, seconds: float) -> None:
        """Sleep a little longer than that. Raises `LeaseLost` soon after the lease is lost."""
        until = time.monotonic() + retrying.jittered(seconds, random.random())
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, settings.LEASE_BEAT_SECONDS))
            self._errand(_nothing)

    def _errand(self, errand: Callable[[], T]) -> T:
        return self.line.desk.ask(errand)

    def _settled(self, errand: Callable[[], T]) -> T:
        """Money that was spent is spent, whoever holds the lease."""
        return self.line.desk.ask(errand, fenced=False)


def _nothing() -> None:
    """An errand that only finds out whether the lease is still held."""


def _results(conversation: int, number: int) -> tuple[ToolResult, ...] | None:
    """With the ids of the calls as the model wrote them, which a row may hold cut short."""
    runs = list(ToolRun.objects.filter(conversation=conversation, number=number))
    stored = reserving.stored_reply(conversation, number) if runs else None
    if stored is None:
        return None
    return tuple(
        ToolResult(call.id, blobs.read(run.result_id).decode(), run.error, run.cut)
        for call, run in zip(stored[1].calls, runs, strict=False)
    )


def _keep_results(
    conversation: int, number: int, results: Sequence[ToolResult], commands: Sequence[ExecResult]
) -> None:
    """Once: what is there already stays."""
    stored = reserving.stored_reply(conversation, number)
    asked = stored[1].calls[: len(results)] if stored else ()
    if stored is None or [each.id for each in asked] != [each.id for each in results]:
        raise ValueError(f"request {number} of conversation {conversation} asked for no such calls")
    if ToolRun.objects.filter(conversation=conversation, number=number).exists():
        return
    kept = blobs.keep(clean(result.text).encode() for result in results)
    ToolRun.objects.bulk_create(
        ToolRun(
            conversation_id=conversation,
            number=number,
            position=position,
            call_id=clean(result.id)[:_CALL_ID],
            tool=clean(call.name)[:80],
            written=clean(call.written or json.dumps(call.arguments)),
            result_id=kept[position],
            error=result.error,
            cut=result.cut,
        )
        for position, (call, result) in enumerate(zip(asked, results, strict=True))
    )
    recording.store_commands(commands, call=stored[0])


def _spent(conversation: int, last: int) -> Spent:
    """Up to request `last`; what nobody knows the cost of counts with the most that was reserved for it."""
    calls = AgentCall.objects.filter(conversation=conversation, number__lte=last)
    sums: dict[str, Any] = calls.aggregate(
        used=Sum("tokens", default=0),
        paid=Sum(Coalesce("cost", "reserved"), default=Decimal(0)),
        unknown=Count("pk", filter=Q(cost=None, reserved=None)),
        took=Sum("seconds", default=0.0),
    )
    return Spent(sums["used"], None if sums["unknown"] else sums["paid"], sums["took"])
