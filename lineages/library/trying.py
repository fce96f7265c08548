"""One tiny request to a model, for a person who asks whether it works.

It is made past pauses and budgets, and stands in the ledger like every other.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from dataclasses import dataclass

from django.db import transaction

from agents import prices
from agents.models import ModelsError, ModelSpec
from agents.providers.base import Provider, Question, Reply
from agents.providers.errors import ProviderError
from agents.providers.opening import open_provider
from agents.providers.tiny import tiny_call
from lineages.library import pauses, replies, reserving
from lineages.library.calls import AgentCall, Conversation
from lineages.library.reserving import Request, Scope
from lineages.lifecycle import Stale

ROLE = "doctor"


@dataclass(frozen=True)
class Recorded:
    """An `agents.providers.base.Provider` whose requests are rows, settled before they are read."""

    provider: Provider
    spec: ModelSpec

    def request_of(self, question: Question) -> bytes:
        return self.provider.request_of(question)

    def reply(self, question: Question) -> Reply:
        call, clock = self._sent(question), time.monotonic()
        try:
            reply = self.provider.reply(question)
        except ProviderError as problem:
            reserving.settle_failed(call, problem, time.monotonic() - clock)
            raise
        reserving.settle(call, self.spec, reply)
        return reply

    @transaction.atomic
    def _sent(self, question: Question) -> AgentCall:
        scope = Scope(author=ROLE, input_digest="", other=f"{ROLE}:{uuid.uuid4().hex}")
        body = self.provider.request_of(question)
        conversation = Conversation.objects.create(
            scope=scope.name,
            role=ROLE,
            model=self.spec.name,
            subject="a tiny request",
            opening=replies.digest(question),
            outcome=Conversation.ANSWERED,
        )
        asked, room = prices.estimate_tokens(body), question.max_output_tokens
        most = prices.most(self.spec, asked, room)
        request = Request(conversation.pk, 0, ROLE, self.spec, scope, body, asked + room, most)
        return request.row(reserving.lock(), reserved=most, reserved_tokens=asked + room)


def try_model(spec: ModelSpec) -> str:
    """ "" where it answers as models.toml says it can, and then its pause is over; else what to do."""
    try:
        wrong = tiny_call(Recorded(open_provider(spec), spec), spec)
    except ModelsError as problem:
        return str(problem)
    if not wrong:
        with contextlib.suppress(Stale):
            pauses.resume_model(spec.name)
    return wrong
