"""What is said to a model and what comes back, in no API's words, and the one method of a provider.

A conversation is a list of turns. What a model said is kept as the provider received it (`content`) and goes
back to the same provider byte for byte: thinking blocks carry signatures. No SDK type is seen above its file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

Json = Any
"""A value that `json.loads` gives."""


class Stop(StrEnum):
    """Why a model stopped. `LENGTH` and `REFUSAL` are looked at before anything it said."""

    END = "end"
    TOOLS = "tools"
    LENGTH = "length"
    REFUSAL = "refusal"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """`arguments` is None where what the model wrote is no JSON object; `written` is that text as it was."""

    id: str
    name: str
    arguments: Mapping[str, Json] | None
    written: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one call. `cut` counts the characters that were left out of `text`, which says so too."""

    id: str
    text: str
    error: bool = False
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Said:
    """Our turn: plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The model's turn, as its provider received it, and what of it concerns us."""

    content: Json
    text: str
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Results:
    """Our turn after tool calls: one result for each, in their order, then `text` if it is not empty."""

    results: tuple[ToolResult, ...]
    text: str = ""


Turn = Said | Answered | Results


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it. `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Schema:
    """The form of a structured answer. `name` has letters, digits and underscores."""

    name: str
    form: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Question:
    """One request: `turns` begin with a `Said`. Either `tools` or a `schema`, or neither.

    `max_output_tokens` is the room for the answer, hidden reasoning included.
    """

    system: str
    turns: tuple[Turn, ...]
    max_output_tokens: int
    tools: tuple[ToolSpec, ...] = ()
    schema: Schema | None = None
    web_search: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request; `input` includes what was cached and what was written to the cache.

    `output` includes `thinking`. None is what the server did not say.
    """

    input: int
    output: int
    cached: int = 0
    cache_written: int = 0
    thinking: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `usage` is None where the server did not say; `served` is the model it names.

    `raw` is the body as it was received, as far as it is kept; `seconds` is what the request took.
    """

    text: str
    calls: tuple[ToolCall, ...]
    stop: Stop
    content: Json
    usage: Usage | None
    raw: bytes
    served: str = ""
    request_id: str = ""
    seconds: float = 0.0

    @property
    def turn(self) -> Answered:
        return Answered(self.content, self.text, self.calls)


class Provider(Protocol):
    """One model at one address. Made once in each process, used by many threads."""

    def reply(self, question: Question) -> Reply:
        """One request, made once: no retry in here. Raises `agents.providers.errors.ProviderError`.

        A refusal and a cut answer are replies (`stop`), not errors.
        """

    def request_of(self, question: Question) -> bytes:
        """The body that `reply` would send, as JSON, for the record; it carries no key."""
