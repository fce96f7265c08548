from __future__ import annotations

from pydantic import Field

from agents.tools.base import Arguments, Done
from agents.workspace import Listed, Workspace


class ListArguments(Arguments):
    """List the files of the task, with their sizes in bytes."""

    folder: str = Field("", description="only what is at or below this folder; empty for everything")


class ListFiles:
    """Every file below a folder, one a line."""

    name = "list_files"
    arguments = ListArguments
    replays = False

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def run(self, arguments: ListArguments) -> Done:
        found = self._workspace.list(arguments.folder)
        return Done("\n".join(_line(each) for each in found) or "There are no files.")


def _line(each: Listed) -> str:
    if each.link is not None:
        return f"{each.path} -> {each.link} (a link)"
    return f"{each.path} {each.size}{' executable' if each.executable else ''}"
