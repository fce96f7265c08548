"""What a command printed, as a model reads it, and which failures around one are the model's to mend."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from agents.tools.base import Done, ToolError
from sandboxes.base import ExecResult
from sandboxes.errors import BuildFailed, Kept, OutOfMemory, TimedOut, TooMuch
from sandboxes.text import clean

CUT_SHORT = -1
"""The exit code that stands for a command which had none: it was ended from outside."""


def ran(command: str, run: Callable[[], ExecResult]) -> Done:
    """Run it and say what it printed, also when a limit ended it.

    Raises `ToolError` where the image does not build, with its log. Any other fault passes through.
    """
    started = datetime.now(UTC)
    try:
        result = run()
    except (TimedOut, OutOfMemory, TooMuch) as problem:
        result = _ended(command, problem.kept, str(problem), started)
    except BuildFailed as problem:
        raise ToolError(f"the image does not build: {problem}\n{problem.log}") from problem
    return Done(_report(result), (result,))


def _ended(command: str, kept: Kept, reason: str, started: datetime) -> ExecResult:
    return ExecResult(
        argv=("/bin/sh", "-c", command),
        exit_code=CUT_SHORT,
        stdout=kept.stdout,
        stderr=kept.stderr,
        cut=kept.cut,
        seconds=(datetime.now(UTC) - started).total_seconds(),
        started_at=started,
        cut_short=reason,
    )


def _report(result: ExecResult) -> str:
    how = (
        f"It was ended: {result.cut_short}"
        if result.cut_short
        else f"Exit code {result.exit_code}, after {result.seconds:.1f} s"
    )
    cut = f"; {result.cut:,} bytes of what it printed were left out" if result.cut else ""
    parts = [f"{how}{cut}."]
    for name, data in (("output", result.stdout), ("errors", result.stderr)):
        if data:
            parts.append(f"Standard {name}:\n{clean(data)}")
    return "\n".join(parts) if len(parts) > 1 else f"{parts[0]} It printed nothing."
