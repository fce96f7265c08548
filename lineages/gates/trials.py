"""What the gates that run a trial share: no gate of its own.

The reference run and the untouched run are made once in an audit, whichever gates read them. What a solver
left in an earlier audit is graded instead of run again where nothing but the tests has changed since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lineages.gates.base import Finding, Outcome, Result, Subject
from sandboxes.trial import Solved, Solver, Trial, TrialOutcome, grade, nop, oracle, run_trial
from sandboxes.variation import PLAIN, Variation

ORACLE = "oracle"
NOP = "nop"
WAY = 1
"""Raise it when solvers of the same name do something else, or leave it in another way: none is kept then."""


def solved(subject: Subject) -> Trial:
    """The reference solution's plain run of this audit. Raises as `trial` does."""
    return subject.once.get(ORACLE, lambda: trial(subject, ORACLE, oracle))


def untouched(subject: Subject) -> Trial:
    """The plain run of this audit in which nothing is done. Raises as `trial` does."""
    return subject.once.get(NOP, lambda: trial(subject, NOP, nop, reads_solution=False))


def rewarded(done: Trial) -> bool:
    """Whether the tests came to a verdict and gave the full reward."""
    return done.outcome is TrialOutcome.PASSED


def rejected(done: Trial) -> bool:
    """Whether the tests came to a verdict and gave nothing at all."""
    return done.outcome is TrialOutcome.FAILED and done.reward is not None and done.reward.value == 0


def trial(
    subject: Subject,
    name: str,
    solver: Solver,
    *,
    reads_solution: bool = True,
    variation: Variation = PLAIN,
) -> Trial:
    """One trial, in fresh sandboxes; `name` tells this solver from others in `Subject.solved`.

    Raises `MachineFault` and `SandboxDied`: those are the machine's, not the task's.
    """
    earlier = subject.solved.get(key_of(subject, name, reads_solution=reads_solution))
    if earlier and subject.task.separate and variation == PLAIN:
        return regrade(subject, earlier)
    return fresh(subject, solver, variation=variation)


def fresh(subject: Subject, solver: Solver, *, variation: Variation = PLAIN) -> Trial:
    """One trial in which the solver is really run, whatever it left before. Raises as `trial` does."""
    return run_trial(
        subject.backend,
        subject.task,
        solver,
        limits=subject.limits,
        labels=subject.labels,
        variation=variation,
    )


def regrade(subject: Subject, left: Solved, *, variation: Variation = PLAIN) -> Trial:
    """Only the tests, on what a solver left. Raises as `trial` does, and `ValueError` in shared mode."""
    return grade(
        subject.backend,
        subject.task,
        left,
        limits=subject.limits,
        labels=subject.labels,
        variation=variation,
    )


def kept(subject: Subject, name: str, done: Trial, *, reads_solution: bool = True) -> Mapping[str, Solved]:
    """What of a plain trial a later audit may grade again, for `Outcome.kept`.

    Nothing of a solver that was cut short: what it had left by then says nothing of what it leaves.
    """
    key = key_of(subject, name, reads_solution=reads_solution)
    if done.solved is None or key in subject.solved or any(each.cut_short for each in done.solved.commands):
        return {}
    return {key: done.solved}


def key_of(subject: Subject, name: str, *, reads_solution: bool = True) -> str:
    """What the work of the solver of that name is kept under."""
    return subject.solve_key(f"{WAY} {name}", reads_solution=reads_solution)


def tail(done: Trial) -> str:
    """The end of each command's output, as evidence to read."""
    parts = []
    for command in done.commands:
        shown = (command.stdout + command.stderr)[-2000:].decode("utf-8", errors="replace")
        parts.append(
            f"$ {' '.join(command.argv)}\n{shown}\n[exit {command.exit_code}, {command.seconds:.1f} s]"
        )
    return "\n".join(parts)


def outcome(
    result: Result,
    summary: str,
    *done: Trial,
    kept: Mapping[str, Solved] | None = None,
    findings: Sequence[Finding] = (),
) -> Outcome:
    """An answer with these trials as its evidence. The reward is that of the last one."""
    last = done[-1]
    return Outcome(
        result,
        summary,
        detail="\n".join(filter(None, map(tail, done))),
        reward=last.reward.value if last.reward else None,
        weaker=last.weaker,
        commands=tuple(command for each in done for command in each.commands),
        findings=tuple(findings),
        kept=kept or {},
        graded_again=all(each.graded_again for each in done),
    )
