from __future__ import annotations

from pydantic import Field

from agents.tools.base import Arguments, Done, ToolError
from agents.workspace import Workspace


class ReadArguments(Arguments):
    """Read a text file of the task, whole or some of its lines. What comes after the first line is exact."""

    path: str = Field(description="relative to the task, e.g. tests/units/60-report")
    first: int = Field(1, ge=1, description="the first line to show, counted from 1")
    last: int | None = Field(None, ge=1, description="the last line to show; to the end without it")


class ReadFile:
    """The text of a file under one line that says which lines these are."""

    name = "read_file"
    arguments = ReadArguments
    replays = False

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def run(self, arguments: ReadArguments) -> Done:
        text = self._workspace.read(arguments.path)
        lines = text.split("\n")
        whole = len(lines) - (lines[-1] == "")
        last = min(arguments.last or whole, whole)
        if whole == 0:
            return Done(f"{arguments.path} is empty.")
        if arguments.first > last:
            raise ToolError(
                f"{arguments.path} has {whole} lines, so there are none from {arguments.first} to {last}"
            )
        shown = "\n".join(lines[arguments.first - 1 : last])
        end = "" if last == whole and not text.endswith("\n") else "\n"
        return Done(f"{arguments.path}, lines {arguments.first} to {last} of {whole}:\n{shown}{end}")
