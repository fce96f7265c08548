"""A tool as the agent loop sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from agents.providers.base import ToolSpec
from sandboxes.base import ExecResult

A = TypeVar("A", bound="Arguments")


class Arguments(BaseModel):
    """What a tool is called with. Anything it does not know is refused by name."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ToolError(Exception):
    """The call did nothing; the message tells the model what was wrong and what to do instead."""


class Submitted(Exception):
    """Raised by a tool that ends the conversation: `value` is what it comes to."""

    def __init__(self, value: object) -> None:
        super().__init__("submitted")
        self.value = value


@dataclass(frozen=True, slots=True)
class Done:
    """What a tool says, and the commands that ran for it."""

    text: str
    commands: tuple[ExecResult, ...] = ()


class Tool(Protocol, Generic[A]):
    """`arguments` is the class of its arguments, whose docstring and fields the model reads.

    `replays` says whether the call changes what the tools of one conversation share, so that it has to be
    made again, its result thrown away, when the conversation is taken up after a killed worker. A tool that
    only looks, or runs something, is not.
    """

    name: str
    arguments: type[A]
    replays: bool

    def run(self, arguments: A) -> Done:
        """Raises `ToolError`, or `Submitted`; `agents.line.Waits` passes through, and so do faults."""


def spec_of(tool: Tool[A]) -> ToolSpec:
    """As a model sees it: description from the arguments' docstring."""
    schema = tool.arguments.model_json_schema()
    schema.pop("title", None)
    return ToolSpec(tool.name, str(schema.pop("description", "")), schema)
