"""Questions that a person answers in a model's place: kept as `sent` until somebody does, on a page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from agents.models import MANUAL
from agents.providers.base import Json, Reply, Stop, ToolCall, Usage
from lineages.library import blobs, replies
from lineages.library.calls import AgentCall
from lineages.library.models import Audit
from lineages.library.reserving import Request, lock
from lineages.lifecycle import Stale
from sandboxes.text import clean

WAITS_FOR_A_PERSON = "an answer by a person"


class NotAnAnswer(ValueError):
    """What a person wrote does not have the form that was asked for; the message says where."""


@dataclass(frozen=True, slots=True)
class Called:
    """A tool that a person calls: its name and the arguments as the text of a JSON object."""

    tool: str
    arguments: str


def put(request: Request) -> None:
    """Store the question for a person, once, also where it was answered a moment ago.

    `request.body` is `replies.question_json` as JSON.
    """
    now = lock()
    there = AgentCall.objects.filter(conversation=request.conversation, number=request.number)
    if not there.exists():
        request.row(now, reserved=Decimal(0), reserved_tokens=0, cost=Decimal(0), billed=False)


def waiting() -> QuerySet[AgentCall]:
    """The questions that nobody answered yet, oldest first.

    Without those of attempts and audits that have ended: nobody would read the answer.
    """
    asked = AgentCall.objects.filter(provider=MANUAL, outcome=AgentCall.SENT)
    of_attempt = Q(attempt=None) | Q(attempt__outcome="open")
    of_audit = Q(audit=None) | Q(audit__status=Audit.Status.QUEUED)
    return asked.filter(of_attempt & of_audit).order_by("pk")


def question(call: AgentCall) -> Mapping[str, Json]:
    """What was asked, as `replies.question_json` writes it. Raises `blobs.BlobLost`."""
    asked: Mapping[str, Json] = json.loads(blobs.read(str(call.sent_body_id)))
    return asked


def answer(call: AgentCall, *, user: User, text: str = "", calls: Sequence[Called] = ()) -> Any:
    """Store a person's answer, which the role finds when it asks again; returns the evolution to go on with.

    None where it was asked for no evolution. Raises `NotAnAnswer` for what has not the form that was asked
    for, and `Stale` where it was answered before.
    """
    reply = _reply(question(call), clean(text), calls, user)
    with transaction.atomic():
        open_ones = AgentCall.objects.filter(pk=call.pk, provider=MANUAL, outcome=AgentCall.SENT)
        settled = open_ones.update(
            outcome=AgentCall.ANSWERED,
            stop=reply.stop,
            served=reply.served,
            received_body=blobs.keep_one(replies.packed(reply)),
            tokens=0,
            input_tokens=0,
            output_tokens=0,
            cost=Decimal(0),
            billed=False,
        )
        if not settled:
            raise Stale("this question was answered already")
    return call.evolution


def _reply(asked: Mapping[str, Json], text: str, calls: Sequence[Called], user: User) -> Reply:
    if asked["schema"]:
        _check_object(text, asked["schema"]["form"], "the answer")
    if not text.strip() and not calls:
        raise NotAnAnswer("the answer is empty: write something, or call a tool")
    called = tuple(_called(asked["tools"], each, number) for number, each in enumerate(calls))
    content = {"text": text, "calls": [{"name": each.name, "arguments": each.arguments} for each in called]}
    stop = Stop.TOOLS if called else Stop.END
    return Reply(text, called, stop, content, Usage(0, 0), b"", served=user.get_username()[:120])


def _called(tools: Sequence[Mapping[str, Json]], called: Called, number: int) -> ToolCall:
    forms = {tool["name"]: tool["parameters"] for tool in tools}
    if called.tool not in forms:
        raise NotAnAnswer(f"there is no tool {called.tool!r}; there is: {', '.join(forms) or 'none'}")
    arguments = _check_object(clean(called.arguments), forms[called.tool], f"the call of {called.tool}")
    return ToolCall(f"by-hand-{number}", called.tool, arguments, clean(called.arguments))


def _check_object(text: str, form: Mapping[str, Json], where: str) -> Mapping[str, Json]:
    """The JSON object, with the fields that its form demands and no others; deeper, the role looks itself."""
    try:
        value = json.loads(text)
    except ValueError as problem:
        raise NotAnAnswer(f"{where} is no JSON: {problem}") from problem
    except RecursionError as problem:
        raise NotAnAnswer(f"{where} is nested too deeply to be read") from problem
    if not isinstance(value, dict):
        raise NotAnAnswer(f"{where} is JSON, but no object: begin it with {{")
    fields = form.get("properties", {})
    if missing := [name for name in form.get("required", ()) if name not in value]:
        raise NotAnAnswer(f"{where} lacks {', '.join(missing)}")
    if form.get("additionalProperties") is False and (unknown := sorted(value.keys() - fields.keys())):
        raise NotAnAnswer(f"{where} has {', '.join(unknown)}, which nobody asked for")
    return value
