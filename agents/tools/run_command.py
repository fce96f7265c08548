from __future__ import annotations

from pydantic import Field

from agents.roles import Workbench
from agents.tools.base import Arguments, Done
from agents.tools.printed import ran
from agents.workspace import Workspace


class CommandArguments(Arguments):
    """Run a shell command in a throw-away sandbox of the task's image, built from the files as they are now.

    The solution lies in /solution and the tests in /tests; there is no network, and nothing that the command
    writes is kept.
    """

    command: str = Field(min_length=1, max_length=100_000, description="for /bin/sh -c")
    seconds: float = Field(120, gt=0, description="after which it is ended; a longer limit may be refused")


class RunCommand:
    """One command on the workbench, which may take at most `longest` seconds."""

    name = "run_command"
    arguments = CommandArguments
    replays = False

    def __init__(self, workspace: Workspace, bench: Workbench, *, longest: float = 600.0) -> None:
        self._workspace = workspace
        self._bench = bench
        self._longest = longest

    def run(self, arguments: CommandArguments) -> Done:
        task = self._workspace.task()
        seconds = min(arguments.seconds, self._longest)
        return ran(arguments.command, lambda: self._bench.run(task, arguments.command, seconds=seconds))
