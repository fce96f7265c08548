from __future__ import annotations

from collections.abc import Callable

from agents.roles import Built, Evidence, Workbench
from agents.tools.base import Arguments, Done, ToolError
from sandboxes.errors import BuildFailed


class GatesArguments(Arguments):
    """Run the quick gates on the task as it is now, and hear what they find. Nothing is submitted by it."""


class RunGates:
    """The workbench's gates on what `built` makes of the files; it may raise `ToolError`."""

    name = "run_gates"
    arguments = GatesArguments
    replays = False

    def __init__(self, bench: Workbench, built: Callable[[], Built]) -> None:
        self._bench = bench
        self._built = built

    def run(self, arguments: GatesArguments) -> Done:
        built = self._built()
        try:
            found = self._bench.gates(built)
        except BuildFailed as problem:
            raise ToolError(f"the image does not build: {problem}\n{problem.log}") from problem
        return Done("\n\n".join(_said(each) for each in found) or "The quick gates pass.")


def _said(each: Evidence) -> str:
    detail = f"\n{each.detail}" if each.detail else ""
    return f"{each.gate}: {each.outcome}. {each.summary}{detail}"
