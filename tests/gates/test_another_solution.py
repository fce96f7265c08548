"""another_solution: without somebody who writes one, nothing is claimed and nothing is blocked."""

from __future__ import annotations

import pytest

from agents.line import ModelTrouble, OutOfBounds, Refused
from agents.roles import FailureVerdict, SolverRoom
from lineages.gates import another_solution
from lineages.gates.base import Outcome, Result
from sandboxes.task import Task
from tests.gates.subjects import subject


def test_without_a_model_it_is_not_run_and_says_why() -> None:
    outcome = another_solution.check(subject())
    assert outcome.result is Result.NOT_RUN
    assert "it takes a model" in outcome.summary
    assert outcome.runs == 0


def test_where_it_did_not_run_it_is_in_nobodys_way_and_a_failure_would_be() -> None:
    gate = another_solution.GATE
    assert gate.accepts(Result.NOT_RUN)
    assert not gate.accepts(Result.FAILED)


class Shell:
    """A solver that runs one command."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.seen: list[str] = []

    def solve(self, task: Task, room: SolverRoom) -> str:
        listed = room.run("ls -d /tests /solution 2>/dev/null; true", seconds=30)
        self.seen += listed.stdout.decode().split()
        room.run(self.command, seconds=30)
        return self.command


class Judge:
    """Says the same of every failure, and remembers what it was shown."""

    def __init__(self, verdict: str, quote: str) -> None:
        self.said = FailureVerdict(verdict, "The test wants a capital letter.", quote)
        self.shown: list[str] = []

    def explain(self, task: Task, tries: tuple[str, ...]) -> FailureVerdict:
        self.shown += tries
        return self.said


def solving(command: str, judge: Judge | None = None) -> Outcome:
    solver = Shell(command)
    outcome = another_solution.check(subject(solver=solver, failure_judge=judge))
    assert solver.seen == [], "it saw neither tests nor solution"
    return outcome


def test_a_solver_that_knows_only_the_instruction_and_gets_the_reward_passes_the_gate() -> None:
    outcome = solving("mkdir -p /app/out && printf ready > /app/out/first")

    assert outcome.result is Result.PASSED
    assert outcome.reward == 1


def test_a_solver_that_fails_says_nothing_of_the_tests_unless_the_task_is_blamed_with_a_quote() -> None:
    unclear, unproven = Judge("too_hard", "x"), Judge("broken", "")

    assert solving("true").result is Result.NOT_RUN
    assert solving("true", unclear).result is Result.NOT_RUN
    assert solving("true", unproven).result is Result.NOT_RUN
    assert len(unclear.shown) == 1


def test_a_task_that_is_blamed_with_a_quote_fails_the_gate_with_the_reason() -> None:
    outcome = solving("true", Judge("broken", "Write the word ready"))

    assert outcome.result is Result.FAILED
    assert "The test wants a capital letter" in outcome.summary
    assert "Write the word ready" in outcome.summary


class Troubled:
    """A model that comes to nothing in either role."""

    def __init__(self, trouble: ModelTrouble) -> None:
        self.trouble = trouble

    def solve(self, task: Task, room: SolverRoom) -> str:
        raise self.trouble

    def explain(self, task: Task, tries: tuple[str, ...]) -> FailureVerdict:
        raise self.trouble


@pytest.mark.parametrize("trouble", [OutOfBounds("no end after 60 requests"), Refused("the model refused")])
def test_a_model_that_comes_to_nothing_says_nothing_of_the_task_and_is_in_nobodys_way(
    trouble: ModelTrouble,
) -> None:
    gave_up = another_solution.check(subject(solver=Troubled(trouble), failure_judge=Judge("broken", "x")))
    unjudged = another_solution.check(subject(solver=Shell("true"), failure_judge=Troubled(trouble)))

    assert {gave_up.result, unjudged.result} == {Result.NOT_RUN}
    assert gave_up.summary == f"The solver gave up, which says nothing of the task: {trouble}"
    assert unjudged.summary == f"The solver did not solve the task, and nobody judged why: {trouble}"
    assert unjudged.commands and unjudged.reward == 0
