"""What was said in a conversation, read from the bodies that were sent and received, of whichever API.

Reading is lenient: this is for people who look, and what does not have a known form shows as it is stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.providers.base import Json

OURS, THEIRS, TOOL = "us", "model", "tool"
_TEXTS = ("text", "input_text", "output_text", "refusal")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request said that those before it did not: the system's text, and ours since the last answer."""

    system: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call of a tool, as the model wrote it."""

    tool: str
    written: str


@dataclass(frozen=True, slots=True)
class Answer:
    """`thought` is the reasoning as far as the API shows it."""

    text: str
    thought: str
    calls: tuple[Wanted, ...]


def asked(body: bytes) -> Asked | None:
    """None where the body is no request of a known form."""
    sent = _object(body)
    if sent is None or not any(name in sent for name in ("turns", "messages", "input")):
        return None
    said = list(_turns(sent))
    last = max((at for at, (who, _) in enumerate(said) if who == THEIRS), default=-1)
    system = _text(sent.get("system")) or _text(sent.get("instructions"))
    system = system or "\n\n".join(text for who, text in said if who == "system")
    return Asked(system, tuple(text for who, text in said[last + 1 :] if who == OURS and text))


def answered(body: bytes) -> Answer | None:
    """What `replies.packed` kept; None for a body that came with an error."""
    kept = _object(body)
    if kept is None or "calls" not in kept or "content" not in kept:
        return None
    calls = tuple(Wanted(str(call.get("name", "")), _written(call)) for call in _objects(kept["calls"]))
    return Answer(_text(kept.get("text")), "\n\n".join(_thoughts(kept["content"])), calls)


def readable(body: bytes) -> bytes:
    """JSON spread over lines with its characters as they are; anything else unchanged."""
    try:
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False).encode(errors="backslashreplace")
    except (ValueError, RecursionError):
        return body


def _turns(sent: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """Who said what, in order: our own form, Messages and Chat Completions, Responses."""
    for turn in _objects(sent.get("turns")):
        yield _of_question(turn)
    for message in _objects(sent.get("messages")):
        yield _who(message), _text(message.get("content"))
    if isinstance(sent.get("input"), str):
        yield OURS, sent["input"]
    for item in _objects(sent.get("input")):
        yield _who(item), _text(item.get("content"))


def _of_question(turn: Mapping[str, Json]) -> tuple[str, str]:
    if "said" in turn:
        return OURS, _text(turn["said"])
    if "answered" in turn:
        return THEIRS, _text(turn.get("text"))
    return OURS, _text(turn.get("text"))


def _who(item: Mapping[str, Json]) -> str:
    role = item.get("role", "")
    if role == "user":
        return OURS
    if role in ("system", "developer"):
        return "system"
    if role == "tool" or item.get("type") == "function_call_output":
        return TOOL
    return THEIRS


def _text(content: Json) -> str:
    """A text, or the texts among blocks; results of tools are rows of their own and are left out."""
    if isinstance(content, str):
        return content
    blocks = [block for block in _objects(content) if block.get("type") in _TEXTS]
    return "\n\n".join(str(block.get(block["type"]) or block.get("text") or "") for block in blocks)


def _thoughts(content: Json) -> Iterator[str]:
    for block in _objects(content):
        if block.get("type") == "thinking":
            yield str(block.get("thinking", ""))
        elif block.get("type") == "reasoning":
            yield from (str(part.get("text", "")) for part in _objects(block.get("summary")))
        elif isinstance(block.get("reasoning_content"), str):
            yield block["reasoning_content"]


def _written(call: Mapping[str, Any]) -> str:
    if call.get("arguments") is None:
        return str(call.get("written", ""))
    return json.dumps(call["arguments"], indent=2, ensure_ascii=False)


def _objects(value: Json) -> Sequence[Mapping[str, Json]]:
    found = value if isinstance(value, list) else [value]
    return [each for each in found if isinstance(each, dict)]


def _object(body: bytes) -> Mapping[str, Json] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
