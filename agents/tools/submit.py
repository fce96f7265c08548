from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from pydantic import Field

from agents.tools.base import Arguments, Submitted, ToolError


class BoundPair(Arguments):
    """What one changed pair of the plan became."""

    key: str = Field(description="the pair's key in the plan")
    solution_block: str = Field(description="the solution file that does its work, solution/steps/NN-…")
    test_units: tuple[str, ...] = Field(description="the test files that check it, tests/units/NN-…")
    environment_paths: tuple[str, ...] = Field(description="the files under environment/ that it brought")
    requirement: str = Field(description="the sentence of the instruction that asks for it")


class SubmitArguments(Arguments):
    """Hand the finished task in. Where something is wrong you are told, and nothing is handed in."""

    bindings: tuple[BoundPair, ...] = Field(description="one for each changed pair of the plan")
    artifacts: tuple[str, ...] = Field(
        (), description="absolute paths in the container of what the tests are to see of the solver's work"
    )
    notes: str = Field("", description="anything a reviewer should know, in a few sentences")


Complaints = Callable[[SubmitArguments], Sequence[str]]
"""What is wrong with a submission, one sentence each; empty where it can be taken."""


class Submit:
    """Ends the conversation with the `SubmitArguments`, unless there are complaints."""

    name = "submit"
    arguments = SubmitArguments
    replays = True

    def __init__(self, complaints: Complaints) -> None:
        self._complaints = complaints

    def run(self, arguments: SubmitArguments) -> NoReturn:
        if wrong := self._complaints(arguments):
            raise ToolError("\n".join(["Nothing was handed in:", *(f"- {each}" for each in wrong)]))
        raise Submitted(arguments)
