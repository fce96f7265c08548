"""parent_solution: the change bites, and takes nothing back.

The parent's solution, run in the child's environment, must not get the child's full reward. And what the
child's own solution leaves must get the parent's full reward from the parent's tests in the parent's image.
"""

from __future__ import annotations

import posixpath
from dataclasses import replace

from lineages.gates.base import A_TRIAL, Gate, Input, Outcome, Result, Subject
from lineages.gates.trials import kept, outcome, regrade, rewarded, solved, trial
from sandboxes.base import Sandbox
from sandboxes.files import TaskFile
from sandboxes.handover import CONVENTION
from sandboxes.task import Task
from sandboxes.trial import Solved, Solver, Trial, TrialOutcome, oracle

BITES = "The parent's solution does not solve the child."


def check(subject: Subject) -> Outcome:
    parent = subject.parent
    if parent is None:
        return Outcome(Result.NOT_APPLICABLE, "There is no parent: a seed, or a task without its history.")
    name = f"the solution of {parent.digest}"
    old = trial(subject, name, as_solved(parent), reads_solution=False)
    left = kept(subject, name, old, reads_solution=False)
    unproven = _unproven(old)
    if unproven:
        return outcome(Result.FAILED, unproven, old, kept=left)
    why = _not_graded(parent, subject.task)
    if why:
        return outcome(Result.PASSED, f"{BITES} {why}", old, kept=left)
    new = _by_its_tests(subject, parent)
    if not rewarded(new):
        said = f"What the child's solution leaves does not meet the parent's tests any more: {new.summary}"
        return outcome(Result.FAILED, said, old, new, kept=left)
    said = f"{BITES} What the child's own leaves gets the full reward of the parent's tests."
    return outcome(Result.PASSED, said, old, new, kept=left)


def as_solved(parent: Task) -> Solver:
    """The solver that works as the parent's solution does, under the child's settings."""

    def solve(task: Task, sandbox: Sandbox) -> None:
        gone: dict[str, TaskFile | None] = {f"solution/{path}": None for path in task.under("solution")}
        old = {f"solution/{path}": file for path, file in parent.under("solution").items()}
        oracle(task.replace({**gone, **old}), sandbox)

    return solve


def _unproven(old: Trial) -> str:
    """What keeps this run from being a proof that the parent's solution is not enough any more."""
    if rewarded(old):
        return "The parent's solution still gets the full reward: the change asks for nothing."
    if old.outcome is TrialOutcome.FAILED or _gave_up(old):
        return ""
    return f"It is not proven that the parent's solution is not enough any more: {old.summary}"


def _gave_up(old: Trial) -> bool:
    """Whether the solution ended in an error of its own, and tests that ran to their end left no reward.

    What it did not make is missing then, on every machine. A limit of time or memory that is met, by the
    solution or by the tests, would be another one elsewhere, and proves nothing.
    """
    if old.outcome is not TrialOutcome.ERROR or len(old.commands) < 2:
        return False
    solving, testing = old.commands[0], old.commands[-1]
    return solving.exit_code > 0 and not solving.cut_short and not testing.cut_short


def _not_graded(parent: Task, child: Task) -> str:
    """Why the parent's tests cannot grade what the child's solution leaves; empty where they can."""
    only = "That it still does what the parent asked for, only its kept tests say"
    if not parent.separate:
        return f"{only}: the parent's tests need the solver's whole file system."
    if not child.separate:
        return f"{only}: the child hands nothing over to them."
    there = {artifact.source for artifact in child.config.artifacts}
    lost = [artifact.source for artifact in parent.config.artifacts if artifact.source not in there]
    return f"{only}: it does not hand over {lost[0]}." if lost else ""


def _by_its_tests(subject: Subject, parent: Task) -> Trial:
    """The child's reference run, of which the parent's tests see what the parent declares."""
    done = solved(subject)
    if done.solved is None:
        return done
    declared = {CONVENTION, *(posixpath.normpath(each.source) for each in parent.config.artifacts)}
    seen = [each for each in done.solved.deliveries if posixpath.normpath(each.source) in declared]
    return regrade(replace(subject, task=parent), Solved(tuple(seen)))


GATE = Gate(
    name="parent_solution",
    version=1,
    title="The change bites",
    failing="The parent's solution also solves the child, or the child's does not do what the parent's did.",
    cost="one trial, and the parent's tests once",
    inputs=A_TRIAL | {Input.PARENT},
    check=check,
    after=("static", "build", "oracle"),
    sandbox=True,
)
