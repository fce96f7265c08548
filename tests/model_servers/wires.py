"""The three APIs from the server's side: a request as a `Question`, an answer as the JSON of that API.

    POST /v1/messages           Anthropic Messages
    POST /v1/responses          OpenAI Responses
    POST /v1/chat/completions   OpenAI Chat Completions

It is written from the types of the SDKs and apart from our providers, which it tests: what a real server
refuses is refused here too, e.g. a tool result without its call, or thinking that comes back changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from agents.providers.base import Json
from tests.model_servers import anthropic_wire, chat_wire, responses_wire
from tests.model_servers.speech import Answer, Heard


class Wire(Protocol):
    """What the module of an API has."""

    PATH: str

    def hear(self, body: Mapping[str, Json]) -> Heard: ...

    def speak(self, heard: Heard, answer: Answer, number: int) -> dict[str, Json]: ...


_ALL: Sequence[Wire] = (anthropic_wire, responses_wire, chat_wire)
WIRES: Mapping[str, Wire] = {wire.PATH: wire for wire in _ALL}


def hear(path: str, body: Mapping[str, Json]) -> Heard:
    """Raises `NotSpoken`; `KeyError` is one of the same, a field that has to be there."""
    return WIRES[path].hear(body)


def speak(heard: Heard, answer: Answer, number: int) -> dict[str, Json]:
    """The body of the answer; `number` makes its ids."""
    return WIRES[heard.wire].speak(heard, answer, number)
