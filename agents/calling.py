"""The tools of one conversation, called by what a model wrote: every call gets an answer, a wrong one too."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from agents.finding_json import NoObject, check_depth, fitting, storable
from agents.line import Conversation
from agents.providers.base import ToolCall, ToolResult, ToolSpec
from agents.quoting import capped
from agents.tools.base import Done, Submitted, Tool, ToolError, spec_of
from sandboxes.base import ExecResult
from sandboxes.text import clean

SHARED = 4
"""The results of one answer together get this many times the cap of one."""

MOST_CALLS = 32
TOO_MANY = f"Not run: one answer may make {MOST_CALLS} calls. Make it again if you still need it."
ENDED = "Not run: the work was handed in by a call before this one."
HANDED_IN = "Handed in."


class Toolbox:
    """The tools by name. `result_chars` caps each result; `seconds` is what all calls so far took."""

    def __init__(self, tools: Sequence[Tool[Any]], result_chars: int) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._result_chars = result_chars
        self.seconds = 0.0
        self.specs: tuple[ToolSpec, ...] = tuple(spec_of(tool) for tool in tools)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def run(
        self, conversation: Conversation, number: int, calls: Sequence[ToolCall]
    ) -> tuple[ToolResult, ...]:
        """Run the calls of one answer in their order and store what they said.

        A call after the one that ended the work is not run, nor one beyond `MOST_CALLS`. Raises `Submitted`
        once the results are stored; faults pass through, and then nothing is.
        """
        limit = min(self._result_chars, max(SHARED * self._result_chars // len(calls), 1))
        results: list[ToolResult] = []
        commands: list[ExecResult] = []
        ended: Submitted | None = None
        for at, call in enumerate(calls):
            if ended is not None or at >= MOST_CALLS:
                results.append(ToolResult(call.id, ENDED if ended else TOO_MANY, error=True))
                continue
            try:
                done = self._called(call)
                commands += done.commands
                results.append(_result(call, done.text, limit))
            except ToolError as problem:
                results.append(_result(call, str(problem), limit, error=True))
            except Submitted as end:
                ended = end
                results.append(ToolResult(call.id, HANDED_IN))
        conversation.keep_results(number, results, commands)
        if ended is not None:
            raise ended
        return tuple(results)

    def run_again(self, calls: Sequence[ToolCall]) -> None:
        """Do again what changes what the tools share; what they say was said before. Raises `Submitted`."""
        for call in calls[:MOST_CALLS]:
            tool = self._tools.get(call.name)
            if tool is None or not tool.replays:
                continue
            try:
                self._called(call)
            except ToolError:
                continue  # it was refused then as well

    def _called(self, call: ToolCall) -> Done:
        begun = time.monotonic()
        try:
            return self._made(call)
        finally:
            self.seconds += time.monotonic() - begun

    def _made(self, call: ToolCall) -> Done:
        tool = self._tools.get(call.name)
        if tool is None:
            raise ToolError(f"there is no tool {call.name!r}; there is: {', '.join(self._tools)}")
        if call.arguments is None:
            raise ToolError(f"the arguments of {call.name} are no JSON object: {call.written[:200]!r}")
        arguments = dict(call.arguments)
        try:
            check_depth(arguments)
            if storable(arguments) != arguments:
                raise ToolError("the arguments hold a NUL or half a surrogate pair; write text only")
            return tool.run(fitting(arguments, tool.arguments, strict=False))
        except NoObject as problem:
            takes = ", ".join(tool.arguments.model_fields) or "none"
            raise ToolError(f"{call.name} was not run: {problem}\nIts arguments are: {takes}") from problem


def _result(call: ToolCall, text: str, limit: int, *, error: bool = False) -> ToolResult:
    shown, cut = capped(clean(text), limit)
    return ToolResult(call.id, shown, error=error, cut=cut)
