"""What the three APIs have in common: a request heard, an answer to it, and the turns of a conversation."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agents.providers.base import (
    Answered,
    Json,
    Question,
    Results,
    Said,
    Stop,
    ToolCall,
    ToolResult,
    ToolSpec,
    Turn,
    Usage,
)


class NotSpoken(Exception):
    """A request that the real API would turn down with a 400."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A request. `thinks` says whether the answer may carry reasoning, to be handed back as it is."""

    wire: str
    model: str
    question: Question
    thinks: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says. `thought` is left out where nobody asked for reasoning."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    stop: Stop = Stop.END
    usage: Usage = Usage(0, 0)
    thought: str = ""


Piece = str | ToolCall | ToolResult
Side = tuple[bool, Piece]
"""Whether the model said it, and what."""


def turns_of(pieces: Iterable[Side]) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    for model, group in itertools.groupby(pieces, key=lambda piece: piece[0]):
        told = [piece for _, piece in group]
        text = "\n".join(piece for piece in told if isinstance(piece, str) and piece)
        calls = tuple(piece for piece in told if isinstance(piece, ToolCall))
        results = tuple(piece for piece in told if isinstance(piece, ToolResult))
        if model:
            turns.append(Answered(content=None, text=text, calls=calls))
        else:
            turns.append(Results(results, text) if results else Said(text))
    _check(turns)
    return tuple(turns)


def _check(turns: Sequence[Turn]) -> None:
    if not turns or not isinstance(turns[0], Said):
        raise NotSpoken("the first message has to be the user's")
    if isinstance(turns[-1], Answered):
        raise NotSpoken("the last message must not be the assistant's")
    for before, turn in zip([None, *turns], turns, strict=False):
        called = {call.id for call in before.calls} if isinstance(before, Answered) else set()
        answered = {result.id for result in turn.results} if isinstance(turn, Results) else set()
        if called != answered:
            raise NotSpoken(f"tool calls {sorted(called)} are answered by results {sorted(answered)}")


def call_of(id_: str, name: str, written: Json) -> ToolCall:
    text = written if isinstance(written, str) else json.dumps(written)
    return ToolCall(id_, name, json.loads(text), text)


def text_of(content: Json) -> str:
    """Of a string, or of a list of parts with a `text` each."""
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part.get("text"))
    return content or ""


def signature_of(thought: str) -> str:
    return hashlib.sha256(f"signed {thought}".encode()).hexdigest()


def check_thought(thought: str, signature: str) -> None:
    if signature != signature_of(thought):
        raise NotSpoken("reasoning came back changed: it has to be handed back as it was sent")


def question_of(body: Mapping[str, Json], system: str, pieces: Iterable[Side], **more: Json) -> Question:
    room = next(
        (body[name] for name in ("max_tokens", "max_output_tokens", "max_completion_tokens") if name in body),
        0,
    )
    return Question(system=system, turns=turns_of(pieces), max_output_tokens=room, **more)


def function_of(told: Mapping[str, Json]) -> ToolSpec:
    return ToolSpec(told["name"], told.get("description") or "", told["parameters"])
