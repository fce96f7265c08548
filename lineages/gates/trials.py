"""What the gates that run a trial share: no gate of its own."""

from __future__ import annotations

from lineages.gates.base import Outcome, Result, Subject
from sandboxes.trial import Solver, Trial, run_trial


def trial(subject: Subject, solver: Solver) -> Trial:
    """Raises `MachineFault` and `SandboxDied`: those are the machine's, not the task's."""
    return run_trial(subject.backend, subject.task, solver, limits=subject.limits, labels=subject.labels)


def tail(done: Trial) -> str:
    """The end of each command's output, as evidence to read."""
    parts = []
    for command in done.commands:
        shown = (command.stdout + command.stderr)[-2000:].decode("utf-8", errors="replace")
        parts.append(
            f"$ {' '.join(command.argv)}\n{shown}\n[exit {command.exit_code}, {command.seconds:.1f} s]"
        )
    return "\n".join(parts)


def outcome(result: Result, summary: str, done: Trial) -> Outcome:
    return Outcome(
        result,
        summary,
        detail=tail(done),
        reward=done.reward.value if done.reward else None,
        weaker=done.weaker,
        commands=done.commands,
    )
