from __future__ import annotations

from pydantic import Field

from agents.tools.base import Arguments, Done
from agents.workspace import Workspace


class WriteArguments(Arguments):
    """Write a text file of the task, whole: what it held before is gone. `#!` makes it executable."""

    path: str = Field(description="relative to the task; below environment/, solution/ or tests/")
    text: str = Field(description="all of the file's text")


class WriteFile:
    """Makes a file or replaces one."""

    name = "write_file"
    arguments = WriteArguments
    replays = True

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def run(self, arguments: WriteArguments) -> Done:
        file = self._workspace.write(arguments.path, arguments.text)
        return Done(
            f"{arguments.path} has {len(file.data):,} bytes now{', executable' if file.executable else ''}."
        )
