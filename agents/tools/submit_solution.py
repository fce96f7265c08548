from __future__ import annotations

from typing import NoReturn

from pydantic import Field

from agents.tools.base import Arguments, Submitted, ToolError

LONGEST = 512 * 1024


class SolutionArguments(Arguments):
    """Hand in the solution: one shell script that solves the task from a fresh container."""

    script: str = Field(description="its whole text; it is run by /bin/sh unless it begins with #!")


class SubmitSolution:
    """Ends the conversation with the script's text."""

    name = "submit_solution"
    arguments = SolutionArguments
    replays = True

    def run(self, arguments: SolutionArguments) -> NoReturn:
        if not arguments.script.strip():
            raise ToolError("the script is empty; hand in the commands that solve the task")
        if len(arguments.script.encode()) > LONGEST:
            raise ToolError(f"the script has more than {LONGEST:,} bytes")
        raise Submitted(arguments.script)
