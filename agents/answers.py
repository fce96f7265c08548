"""A question that is answered by one value of a known form: asked, read strictly, repaired a few times."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TypeVar

from pydantic import BaseModel

from agents.endings import ending, refusal
from agents.finding_json import NoObject, parsed
from agents.line import Conversation, CutOff, Line, NotUsable
from agents.models import ModelSpec, Role
from agents.prompting import Prompt
from agents.providers.base import Question, Reply, Said, Schema, Stop
from agents.turns import with_note

T = TypeVar("T", bound=BaseModel)
Check = Callable[[T], Sequence[str]]

SHORTER = (
    "Your last answer ran out of room before its end, and nothing of it was used. "
    "Answer again, whole but much shorter."
)
REPAIR = (
    "Nothing of your last answer was used: {wrong}\n\nAnswer again with the whole object and nothing else."
)
BY_FORM = "\n\nAnswer with one JSON object and nothing else. It has to fit this JSON schema:\n{form}"


def nothing_wrong(_: object) -> Sequence[str]:
    return ()


def structured(
    line: Line,
    role: Role,
    model: ModelSpec,
    *,
    subject: str,
    prompt: Prompt,
    values: Mapping[str, str],
    form: type[T],
    name: str,
    check: Check[T] = nothing_wrong,
    repairs: int = 2,
    web_search: bool = False,
) -> T:
    """What the model answers, as a `form`; `name` is the schema's on the wire.

    An answer that is not JSON, not of the form, or of which `check` complains is asked for again at most
    `repairs` times, told what was wrong. One that was cut is never read: a shorter one is asked for, once.
    So there are at most `repairs` + 2 requests, its only bound beside the budgets and the model's patience.
    `web_search` holds only for a model that can. Raises `Refused`, `CutOff` and `NotUsable`, with which the
    conversation has ended, and `Waits` and `ProviderError`, with which it has not.
    """
    system, user = prompt.fill(**values)
    if not model.can.schema_:
        system += BY_FORM.format(form=json.dumps(form.model_json_schema(), ensure_ascii=False))
    opening = Question(
        system=system,
        turns=(Said(user),),
        max_output_tokens=model.max_output_tokens,
        schema=Schema(name, form.model_json_schema()) if model.can.schema_ else None,
        web_search=web_search and model.can.web_search,
    )
    conversation = line.open(role, model.name, subject=subject, prompt=prompt.named, opening=opening)
    with ending(conversation):
        return _answer(conversation, opening, form, check, repairs)


def _answer(
    conversation: Conversation, question: Question, form: type[T], check: Check[T], repairs: int
) -> T:
    cut = False
    wrong: list[str] = []
    for number in count():
        reply = conversation.ask(number, question)
        if reply.stop is Stop.REFUSAL:
            raise refusal(reply)
        if reply.stop is Stop.LENGTH:
            if cut:
                raise CutOff("the answer ran out of room twice, and nothing of it was used")
            cut, question = True, _remarked(question, SHORTER)
            continue
        try:
            return _read(reply, form, check)
        except NoObject as problem:
            wrong.append(str(problem))
        if len(wrong) > repairs:
            raise NotUsable(f"no usable answer in {len(wrong)} tries; the last: {wrong[-1]}")
        question = _to_repair(question, reply, wrong[-1])
    raise AssertionError("a count has no end")


def _read(reply: Reply, form: type[T], check: Check[T]) -> T:
    value = parsed(reply.text, form)
    if complaints := check(value):
        raise NoObject("\n".join(["it does not hold:", *(f"- {each}" for each in complaints)]))
    return value


def _to_repair(question: Question, reply: Reply, wrong: str) -> Question:
    """An answer goes back to its model only where it can stand in a conversation: with a text, no calls."""
    remark = REPAIR.format(wrong=wrong)
    if reply.calls or not reply.text.strip():
        return _remarked(question, remark)
    return replace(question, turns=(*question.turns, reply.turn, Said(remark)))


def _remarked(question: Question, remark: str) -> Question:
    *before, last = question.turns
    return replace(question, turns=(*before, with_note(last, remark)))
