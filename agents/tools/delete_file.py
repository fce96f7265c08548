from __future__ import annotations

from pydantic import Field

from agents.tools.base import Arguments, Done
from agents.workspace import Workspace


class DeleteArguments(Arguments):
    """Delete a file of the task. A folder is gone with its last file."""

    path: str = Field(description="relative to the task")


class DeleteFile:
    """Takes a file, or a link itself, away."""

    name = "delete_file"
    arguments = DeleteArguments
    replays = True

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def run(self, arguments: DeleteArguments) -> Done:
        self._workspace.delete(arguments.path)
        return Done(f"{arguments.path} is gone.")
