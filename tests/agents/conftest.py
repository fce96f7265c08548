"""A real sandbox for what the offline author builds, and how a test asks it."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest

from sandboxes.backends import open_backend
from sandboxes.base import Backend, Limits, Sandbox
from sandboxes.errors import MachineFault
from sandboxes.files import TaskFile
from sandboxes.task import Task
from sandboxes.trial import Solver, Trial, nop, oracle, oracle_without, run_trial
from tests.agents.growing import Rewards

LIMITS = Limits(memory_mb=512, disk_mb=256)


@pytest.fixture(scope="session")
def bubblewrap(tmp_path_factory: pytest.TempPathFactory) -> Backend:
    try:
        return open_backend("bubblewrap", instance="tests-agents", folder=tmp_path_factory.mktemp("boxes"))
    except MachineFault as fault:
        pytest.skip(f"no sandbox: {fault}")


@pytest.fixture(scope="session")
def attempt(bubblewrap: Backend) -> Callable[[Task, Solver], Trial]:
    """One trial of a task by a solver."""

    def run(task: Task, solver: Solver) -> Trial:
        return run_trial(bubblewrap, task, solver, limits=LIMITS, labels={"test": "agents"})

    return run


def seed_solution(task: Task, sandbox: Sandbox) -> None:
    """The solver that knows the seed's solution and nothing else."""
    sandbox.write_files({"solve.sh": task.files["solution/seed-solve.sh"]}, "/solution")
    sandbox.exec(["bash", "/solution/solve.sh"], timeout=30)


@pytest.fixture(scope="session")
def rewards(attempt: Callable[[Task, Solver], Trial]) -> Callable[[Task, Collection[str]], Rewards]:
    """What a child says of the oracle, of no work, of each missing block, of the seed's solution."""

    def judge(child: Task, blocks: Collection[str]) -> Rewards:
        full = attempt(child, oracle)
        return Rewards(
            oracle=value(full),
            nop=value(attempt(child, nop)),
            without=tuple(value(attempt(child, oracle_without([block]))) for block in blocks),
            seed=value(attempt(child, seed_solution)),
            output=output(full),
        )

    return judge


def value(trial: Trial) -> float | None:
    return trial.reward.value if trial.reward else None


def output(trial: Trial) -> str:
    said = (command.stdout + command.stderr for command in trial.commands)
    return trial.summary + "\n" + b"".join(said).decode("utf-8", "replace")


def write(path: str, text: str) -> Solver:
    """A solver that writes one file and no more."""

    def solve(task: Task, sandbox: Sandbox) -> None:
        sandbox.write_files({path.lstrip("/"): TaskFile.text(text)}, "/")

    return solve
