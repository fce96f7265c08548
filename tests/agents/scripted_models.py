"""A provider that says what a test wrote down, and refuses what a real server would refuse."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pydantic import SecretStr

from agents.memory_line import MemoryConversation, MemoryLine
from agents.models import Can, ModelSpec
from agents.prompting import read_prompt
from agents.providers.base import (
    Answered,
    Question,
    Reply,
    Results,
    Said,
    Stop,
    ToolCall,
    Turn,
    Usage,
)
from agents.providers.errors import NotTaken

PROMPT = read_prompt("work", "You work.\n---\nDo $what.\n")
VALUES = {"what": "the work"}
SPEC = ModelSpec(name="small", provider="openai", model="s", key=SecretStr("k"), max_output_tokens=1_000)
WITHOUT_SCHEMA = SPEC.model_copy(update={"can": Can(schema=False)})
Step = Reply | BaseException | Callable[[Question], Reply]


def said(text: str, *, stop: Stop = Stop.END, calls: Sequence[ToolCall] = (), tokens: int = 10) -> Reply:
    content = [{"text": text}, *({"call": call.id, "input": call.arguments} for call in calls)]
    return Reply(text, tuple(calls), stop, content, Usage(tokens, tokens), b"", seconds=1.0)


_ids = itertools.count()


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(f"id{next(_ids)}", name, arguments, json.dumps(arguments))


def called(*calls: ToolCall, stop: Stop = Stop.TOOLS, text: str = "", tokens: int = 10) -> Reply:
    return said(text, stop=stop, calls=calls, tokens=tokens)


def cut(text: str = "", *calls: ToolCall) -> Reply:
    return said(text, stop=Stop.LENGTH, calls=calls)


def refused(text: str = "") -> Reply:
    return said(text, stop=Stop.REFUSAL)


def broken_turns(turns: Sequence[Turn]) -> list[str]:
    """What a server would refuse: a first turn of the model, two of one side, a call without its result."""
    wrong = [] if turns and isinstance(turns[0], Said) else ["it does not begin with a turn of ours"]
    for before, after in zip(turns, [*turns[1:], None], strict=True):
        calls = [each.id for each in before.calls] if isinstance(before, Answered) else []
        given = [each.id for each in after.results] if isinstance(after, Results) else []
        if calls != given:
            wrong.append(f"calls {calls} were given the results {given}")
        if after is not None and isinstance(before, Answered) == isinstance(after, Answered):
            wrong.append("two turns of one side stand together")
        if isinstance(before, Answered) and not before.text and not before.calls:
            wrong.append("an empty answer was sent back")
    return wrong


class Scripted:
    """Plays its steps one after the other, an exception by raising it. `questions` is what it was asked.

    A step that raised is spent. It keeps its place when another line speaks with it.
    """

    def __init__(self, steps: Iterable[Step]) -> None:
        self.steps = list(steps)
        self.questions: list[Question] = []

    def reply(self, question: Question) -> Reply:
        if wrong := broken_turns(question.turns):
            raise NotTaken("; ".join(wrong))
        self.questions.append(question)
        step = self.steps.pop(0)
        if isinstance(step, BaseException):
            raise step
        return step if isinstance(step, Reply) else step(question)

    def request_of(self, question: Question) -> bytes:
        return repr(question).encode()

    def last_words(self, number: int = -1) -> str:
        """The last turn of a question, as text: ours, a remark on the results included."""
        turn = self.questions[number].turns[-1]
        assert not isinstance(turn, Answered)
        results = [result.text for result in turn.results] if isinstance(turn, Results) else []
        return "\n".join([*results, turn.text])


def line_to(provider: Scripted, *specs: ModelSpec) -> MemoryLine:
    return MemoryLine({spec.name: spec for spec in specs or (SPEC,)}, lambda _: provider)


def only(line: MemoryLine) -> MemoryConversation:
    (conversation,) = line.conversations.values()
    return conversation
