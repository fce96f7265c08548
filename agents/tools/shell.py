from __future__ import annotations

from pydantic import Field

from agents.roles import SolverRoom
from agents.tools.base import Arguments, Done
from agents.tools.printed import ran


class ShellArguments(Arguments):
    """Run a shell command in your sandbox. What it changes stays for the commands after it."""

    command: str = Field(min_length=1, max_length=100_000, description="for /bin/sh -c")
    seconds: float = Field(120, gt=0, description="after which it is ended; a longer limit may be refused")


class Shell:
    """One command in the solver's room, which may take at most `longest` seconds.

    It is made again when a conversation is taken up: the room is a new one then, and what the command left
    there is part of what the model goes on from.
    """

    name = "shell"
    arguments = ShellArguments
    replays = True

    def __init__(self, room: SolverRoom, *, longest: float = 600.0) -> None:
        self._room = room
        self._longest = longest

    def run(self, arguments: ShellArguments) -> Done:
        seconds = min(arguments.seconds, self._longest)
        return ran(arguments.command, lambda: self._room.run(arguments.command, seconds=seconds))
