"""The provider that plays a script: the fake beside the real ones, behind the same method. For tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from threading import Lock

from agents.providers.base import Json, Question, Reply, Stop, ToolCall, Usage
from agents.providers.errors import ProviderError
from agents.providers.wire import bytes_of

USAGE = Usage(input=100, output=10)


class ScriptEnded(Exception):
    """More was asked than the script answers."""


@dataclass
class Scripted:
    """Gives the parts of `script` in their order, one for each question; an error of it is raised."""

    script: Sequence[Reply | ProviderError]
    asked: list[Question] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def reply(self, question: Question) -> Reply:
        with self._lock:
            number = len(self.asked)
            self.asked.append(question)
        if number >= len(self.script):
            raise ScriptEnded(f"question {number + 1} of a script of {len(self.script)}")
        part = self.script[number]
        if isinstance(part, ProviderError):
            raise part
        return part

    def request_of(self, question: Question) -> bytes:
        return bytes_of(asdict(question))


def said(text: str, *, stop: Stop = Stop.END, usage: Usage | None = USAGE) -> Reply:
    """An answer of text alone."""
    content = [{"type": "text", "text": text}] if text else []
    raw = bytes_of({"content": content, "stop": stop.value})
    return Reply(text=text, calls=(), stop=stop, content=content, usage=usage, raw=raw, served="scripted")


def called(
    *calls: tuple[str, Mapping[str, Json]],
    text: str = "",
    stop: Stop = Stop.TOOLS,
    usage: Usage | None = USAGE,
) -> Reply:
    """An answer that calls tools: pairs of name and arguments."""
    made = tuple(
        ToolCall(f"call_{number}", name, arguments, json.dumps(arguments))
        for number, (name, arguments) in enumerate(calls)
    )
    content = [asdict(call) for call in made]
    return Reply(
        text=text,
        calls=made,
        stop=stop,
        content=content,
        usage=usage,
        raw=bytes_of({"content": content, "stop": stop.value}),
        served="scripted",
    )
