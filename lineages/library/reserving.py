"""The row of a request: reserved under one lock before it leaves, settled when it came back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_UP, Decimal
from typing import Any

from django.db.models import F, Max, Q
from django.db.models.functions import Coalesce, Now

from agents import prices
from agents.models import ModelSpec
from agents.providers.base import Reply, Stop, Usage
from agents.providers.errors import ProviderError
from lineages.library import blobs, budgets, limits, pauses, replies
from lineages.library.calls import AgentCall, LedgerLock
from lineages.library.pauses import Hold
from sandboxes.text import clean

REPLIES = {Stop.REFUSAL: "refused", Stop.LENGTH: "cut_off"}
REPLIED = (AgentCall.ANSWERED, *REPLIES.values())
MOST_TOKENS = 10**9
"""Of one request. What is said to be more is not believed: its tokens and its cost are unknown."""
_CENTS = Decimal("0.000001")
_WORD, _PRICED_BY = 120, 60


@dataclass(frozen=True, slots=True)
class Scope:
    """What a line's calls are made for, by id. `author` is the name of the recipe's author.

    `other` says it, as a word and a number, where it is neither an attempt nor an audit ("bench:3").
    """

    author: str
    input_digest: str
    attempt: int | None = None
    audit: int | None = None
    evolution: int | None = None
    lineage: int | None = None
    other: str = ""

    @property
    def name(self) -> str:
        """As `Conversation.scope` has it."""
        if self.audit is not None:
            return f"audit:{self.audit}"
        return f"attempt:{self.attempt}" if self.attempt is not None else self.other

    @property
    def columns(self) -> dict[str, Any]:
        """Of an `AgentCall`."""
        return {
            "input_digest": self.input_digest,
            "attempt_id": self.attempt,
            "audit_id": self.audit,
            "evolution_id": self.evolution,
            "lineage_id": self.lineage,
        }


@dataclass(frozen=True, slots=True)
class Request:
    """One request that is to leave. `tokens` is the most it uses, `most` the most it costs, if known."""

    conversation: int
    number: int
    role: str
    spec: ModelSpec
    scope: Scope
    body: bytes
    tokens: int
    most: Decimal | None

    def row(self, now: datetime, **fields: Any) -> AgentCall:
        """Its row as `sent`, numbered after the tries there are."""
        tries = AgentCall.objects.filter(conversation=self.conversation, number=self.number)
        newest = tries.aggregate(newest=Max("again"))["newest"]
        return AgentCall.objects.create(
            conversation_id=self.conversation,
            number=self.number,
            again=0 if newest is None else newest + 1,
            role=self.role,
            author=self.spec.name,
            provider=self.spec.provider,
            outcome=AgentCall.SENT,
            sent_body_id=blobs.keep_one(self.body),
            started_at=now,
            **self.scope.columns,
            **fields,
        )


def reserve(request: Request) -> AgentCall | Hold:
    """The row of a request that may leave now, or what holds it back.

    Everything is looked at under one lock, so that requests reserved at the same time are seen by each other.
    """
    now = lock()
    spec, scope = request.spec, request.scope
    held = (
        pauses.hold(spec.name, now)
        or budgets.hold(spec.name, request.most, now, evolution=scope.evolution, lineage=scope.lineage)
        or _limited(request, now)
    )
    return held or request.row(now, reserved=_rounded(request.most), reserved_tokens=request.tokens)


def lock() -> datetime:
    """Wait for the ledger and keep it until the transaction ends; returns the database's time after that."""
    while not LedgerLock.objects.filter(pk=1).update(turn=F("turn") + 1):
        LedgerLock.objects.bulk_create([LedgerLock(pk=1)], ignore_conflicts=True)
    now: datetime = LedgerLock.objects.annotate(now=Now()).values_list("now", flat=True).get(pk=1)
    return now


def settle(call: AgentCall, spec: ModelSpec, reply: Reply) -> None:
    """Store what came back and what it cost, as far as that is known; safe to do whoever holds the lease."""
    usage = _believed(reply.usage)
    priced = prices.price(spec, usage, reply.served, call.started_at)
    by = priced.by if usage == reply.usage else "the server's token counts cannot be right"
    _store(
        call,
        outcome=REPLIES.get(reply.stop, AgentCall.ANSWERED),
        stop=reply.stop,
        served=clean(reply.served)[:_WORD],
        request_id=clean(reply.request_id)[:_WORD],
        received_body=blobs.keep_one(replies.packed(reply)),
        cost=_rounded(priced.cost),
        priced_by=_fitted(clean(by), _PRICED_BY),
        billed=True,
        seconds=reply.seconds,
        **_tokens(usage),
    )


def settle_failed(call: AgentCall, problem: ProviderError, seconds: float) -> None:
    """Store why there is no answer. What was surely not billed cost nothing; of the rest nobody knows."""
    _store(
        call,
        outcome=problem.outcome,
        error=clean(str(problem)),
        request_id=clean(problem.request_id)[:_WORD],
        received_body=blobs.keep_one(problem.raw) if problem.raw else None,
        cost=Decimal(0) if problem.billed is False else None,
        billed=problem.billed,
        seconds=seconds,
    )


def stored_reply(conversation: int, number: int) -> tuple[AgentCall, Reply] | None:
    """The answer to a request that came before, of its newest try that has one."""
    tries = AgentCall.objects.filter(conversation=conversation, number=number, outcome__in=REPLIED)
    call = tries.order_by("-again").first()
    if call is None or call.received_body_id is None:
        return None
    return call, replies.unpacked(blobs.read(call.received_body_id))


def received(call: AgentCall) -> bytes:
    """The body as it came from the server; empty where nothing did. Raises `blobs.BlobLost`."""
    if call.received_body_id is None:
        return b""
    kept = blobs.read(call.received_body_id)
    return replies.unpacked(kept).raw if call.conversation_id and call.outcome in REPLIED else kept


def _store(call: AgentCall, **fields: Any) -> None:
    AgentCall.objects.filter(pk=call.pk, outcome=AgentCall.SENT).update(**fields)


def _limited(request: Request, now: datetime) -> Hold | None:
    spec = request.spec
    if spec.requests_per_minute is None and spec.tokens_per_minute is None and spec.at_once is None:
        return None
    asked = AgentCall.objects.filter(author=spec.name, conversation__isnull=False)
    minute = asked.filter(started_at__gt=now - timedelta(seconds=limits.MINUTE)).order_by("started_at")
    used = minute.values_list("started_at", Coalesce("tokens", "reserved_tokens", 0))
    # A conversation has one request at a time: one of its own that is still `sent` lost its worker.
    others = asked.exclude(conversation=request.conversation)
    open_since = Q(outcome=AgentCall.SENT, started_at__gt=now - timedelta(seconds=spec.timeout_seconds))
    recent = [((now - at).total_seconds(), tokens) for at, tokens in used]
    seconds = limits.wait(spec, request.tokens, recent, others.filter(open_since).count())
    reason = f"its turn: {spec.name} has as many requests or tokens as it is allowed"
    return Hold(reason, seconds) if seconds else None


def _believed(usage: Usage | None) -> Usage | None:
    """None for more tokens than a request can use: a server may say any number."""
    if usage is None:
        return None
    counts = (usage.input + usage.output, usage.cached, usage.cache_written, usage.thinking or 0)
    return usage if max(counts) <= MOST_TOKENS else None


def _tokens(usage: Usage | None) -> dict[str, int | None]:
    if usage is None:
        return {}
    return {
        "tokens": usage.input + usage.output,
        "input_tokens": usage.input,
        "cached_tokens": usage.cached,
        "cache_written_tokens": usage.cache_written,
        "output_tokens": usage.output,
        "thinking_tokens": usage.thinking,
    }


def _fitted(text: str, room: int) -> str:
    """At most so many characters: cut after a whole word, or in one that takes up more than half of them."""
    if len(text) <= room:
        return text
    cut = text[: room - 1]
    words = cut[: max(cut.rfind(" "), 0)]
    return f"{words if len(words) > room // 2 else cut}…"


def _rounded(cost: Decimal | None) -> Decimal | None:
    """To what a row holds, upwards: a little is never nothing."""
    return cost if cost is None else cost.quantize(_CENTS, rounding=ROUND_UP)
