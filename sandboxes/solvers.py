"""Who works in a task's environment before its tests look: nobody, or the reference solution."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from sandboxes.base import Sandbox
from sandboxes.digests import UploadRules
from sandboxes.errors import SandboxError
from sandboxes.files import TaskFile
from sandboxes.handover import variables
from sandboxes.recording import run_script
from sandboxes.task import SOLVE, Task

NOTHING = TaskFile.text("#!/bin/sh\n", executable=True)
SOLVER_SECONDS = 3600.0  # where task.toml has no agent.timeout_sec; Harbor then waits for ever

Solver = Callable[[Task, Sandbox], None]
"""Works in the sandbox; raises `SandboxError` when it cannot go on. Its exit code decides nothing."""


def nop(task: Task, sandbox: Sandbox) -> None:
    """The solver that does nothing."""


def oracle(task: Task, sandbox: Sandbox) -> None:
    """The reference solution, run as Harbor runs it."""
    oracle_without(())(task, sandbox)


def oracle_without(blocks: Collection[str]) -> Solver:
    """The reference solution with some of its files emptied, given by their paths in the task (`solution/…`).

    An emptied file is a script that does nothing, so that a solution which lists its steps by name still
    runs. The solver raises `ValueError` for a path that the task does not have.
    """

    def solve(task: Task, sandbox: Sandbox) -> None:
        missing = [path for path in blocks if path not in task or not path.startswith("solution/")]
        if missing:
            raise ValueError(f"not a solution file of this task: {', '.join(missing)}")
        if SOLVE not in task:
            raise SandboxError(f"The task has no {SOLVE}.")
        files = uploaded(task, "solution") | {path.removeprefix("solution/"): NOTHING for path in blocks}
        files["solve.sh"] = runnable(files["solve.sh"])
        sandbox.write_files(files, "/solution")
        env = {"DEBIAN_FRONTEND": "noninteractive", **variables(task.config.solution.env)}
        run_script(sandbox, "/solution/solve.sh", task.config.agent.timeout_sec or SOLVER_SECONDS, env)

    return solve


def uploaded(task: Task, folder: str) -> dict[str, TaskFile]:
    """A folder of the task without what its `.harborignore` files keep back, keyed relative to it."""
    rules = UploadRules(task.files)
    return {
        name: file for name, file in task.under(folder).items() if not rules.leave_out(f"{folder}/{name}")
    }


def runnable(file: TaskFile) -> TaskFile:
    return replace(file, mode=file.mode | 0o111)
