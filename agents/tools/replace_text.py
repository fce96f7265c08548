from __future__ import annotations

from pydantic import Field

from agents.tools.base import Arguments, Done
from agents.workspace import Workspace


class ReplaceArguments(Arguments):
    """Replace one piece of a text file by another. The piece has to occur in it exactly once."""

    path: str = Field(description="relative to the task")
    old: str = Field(
        description="the text that is there, with its white space; long enough to be the only one"
    )
    new: str = Field(description="the text to put in its place; may be empty")


class ReplaceText:
    """One unique piece of a file for another."""

    name = "replace_text"
    arguments = ReplaceArguments
    replays = True

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def run(self, arguments: ReplaceArguments) -> Done:
        line = self._workspace.replace(arguments.path, arguments.old, arguments.new)
        return Done(f"Replaced in {arguments.path}, from line {line}.")
