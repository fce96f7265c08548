"""build: what a task asks of the machine, for its solver and for its tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from lineages.gates import build
from lineages.gates.base import Result
from sandboxes.base import Image, Limits
from sandboxes.files import TaskFile
from tests.gates.subjects import subject
from tests.tasks import words

CONFIG = words().text("task.toml").partition("[environment]")[0]


@dataclass
class Clock:
    """A backend that builds nothing and notes how long it would have been let to."""

    allowed: list[float] = field(default_factory=list)
    name: str = "clock"
    provisional: bool = False

    def build(self, context: Mapping[str, TaskFile], *, timeout: float) -> Image:
        self.allowed.append(timeout)
        return Image("0" * 64, self.name)


def asking(environment: str = "", verifier: str = "") -> str:
    return f"{CONFIG}\n[environment]\n{environment}\n[verifier.environment]\n{verifier}\n"


@pytest.mark.parametrize("who", ["environment", "verifier"])
def test_more_memory_than_a_sandbox_gets_here_is_the_machines_fault(who: str) -> None:
    outcome = build.check(subject({"task.toml": asking(**{who: "memory_mb = 4096"})}))
    assert outcome.result is Result.ERROR
    assert outcome.summary == (
        "The task wants 4096 MiB of memory, a sandbox here gets at most 256: raise ENVEVO_SANDBOX_MEMORY_MB."
    )


def test_fewer_cpus_and_less_storage_than_wanted_are_told_and_fail_nothing() -> None:
    clock = Clock()
    wants = asking("cpus = 8", "storage_mb = 20480")
    outcome = build.check(subject({"task.toml": wants}, backend=clock))
    assert outcome.result is Result.PASSED
    assert outcome.detail.splitlines() == [
        "The task wants 8 cpus and runs on 1 here: slower, not otherwise.",
        "The task wants 20480 MiB of storage, of which a sandbox here may fill 4096.",
    ]
    assert len(clock.allowed) == 2


def test_each_image_has_its_own_time_to_build_and_the_machine_the_last_word() -> None:
    clock = Clock()
    wants = asking("build_timeout_sec = 100", "build_timeout_sec = 600000")
    build.check(subject({"task.toml": wants}, backend=clock, limits=Limits(seconds=500)))
    assert clock.allowed == [100, 500]
