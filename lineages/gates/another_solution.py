"""another_solution: a valid solution that is not the reference's gets the full reward.

A model that knows only the instruction solves the task in a trial's sandbox, and the tests grade what it
left. Where it gets no full reward, that alone says nothing of the tests: it may have failed. So a second role
is shown the task and the try, and only its word that the task is at fault, with a quote, fails the gate. A
solver that gives up, or a judge without a usable answer, leaves the question open: the gate did not run. The
reference's outputs in another form would only ask whether the instruction forbids that form, which no
program can tell.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.line import ModelTrouble
from agents.roles import FailureVerdict
from lineages.gates.base import A_TRIAL, Gate, Input, Outcome, Result, Subject
from lineages.gates.trials import fresh, outcome, rewarded, tail
from sandboxes.base import ExecResult, Sandbox
from sandboxes.task import Task
from sandboxes.trial import Trial

NOBODY = (
    "No other valid solution was tried: it takes a model to write one. "
    "Whether the tests accept more than the reference's way is not known."
)
BROKEN = "broken"


@dataclass
class Room:
    """An `agents.roles.SolverRoom`: the sandbox of one trial."""

    sandbox: Sandbox
    ran: list[ExecResult] = field(default_factory=list)

    def run(self, command: str, *, seconds: float) -> ExecResult:
        done = self.sandbox.exec(["bash", "-c", command], timeout=seconds)
        self.ran.append(done)
        return done


def check(subject: Subject) -> Outcome:
    if subject.solver is None:
        return Outcome(Result.NOT_RUN, NOBODY)
    solver = subject.solver

    def solve(task: Task, sandbox: Sandbox) -> None:
        solver.solve(task, Room(sandbox))

    try:
        done = fresh(subject, solve)
    except ModelTrouble as trouble:
        return Outcome(Result.NOT_RUN, f"The solver gave up, which says nothing of the task: {trouble}")
    if rewarded(done):
        return outcome(Result.PASSED, "A solver that knew only the instruction got the full reward.", done)
    return _explained(subject, done)


def _explained(subject: Subject, done: Trial) -> Outcome:
    """Failed where the judge of failures blames the task; else nothing is known."""
    if subject.failure_judge is None:
        return outcome(Result.NOT_RUN, f"The solver did not solve the task: {done.summary}", done)
    try:
        found = subject.failure_judge.explain(subject.task, (tail(done),))
    except ModelTrouble as trouble:
        said = f"The solver did not solve the task, and nobody judged why: {trouble}"
        return outcome(Result.NOT_RUN, said, done)
    return outcome(_result(found), _told(found), done)


def _result(found: FailureVerdict) -> Result:
    return Result.FAILED if found.verdict == BROKEN and found.quote else Result.NOT_RUN


def _told(found: FailureVerdict) -> str:
    if _result(found) is Result.FAILED:
        return f"The tests turn valid work down: {found.explanation} (“{found.quote}”)"
    return f"The solver did not solve the task, and the task is not blamed for it: {found.explanation}"


GATE = Gate(
    name="another_solution",
    version=2,
    title="Another valid solution passes",
    failing="The tests turn down a solution that does all that the instruction asks.",
    cost="nothing without a model; with one, a solver's work, one trial and a judgement",
    inputs=A_TRIAL | {Input.INSTRUCTION, Input.JUDGE},
    check=check,
    after=("static", "build", "oracle"),
    sandbox=True,
    profiles=frozenset({"strict"}),
    required=False,
)
