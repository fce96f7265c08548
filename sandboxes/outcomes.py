"""What may become of a trial, and which of its phases each error of a sandbox belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from sandboxes.errors import BuildFailed, MachineFault, OutOfMemory, SandboxDied, SandboxError, TimedOut


class TrialOutcome(StrEnum):
    """What became of a trial. Only `PASSED` and `FAILED` carry a reward that counts.

    `NETWORK`: the tests wanted to fetch something, which no sandbox lets them, and so came to no verdict.
    """

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    TIMEOUT = "timeout"
    OOM = "oom"
    NETWORK = "network"


class Phase(StrEnum):
    ENVIRONMENT = "The environment"
    VERIFIER = "The tests' image"
    SOLVER = "The solver"
    HANDOVER = "Reading what the solver left"
    TESTS = "The tests"


class Ended(Exception):
    """The trial is over before there is a reward."""

    def __init__(self, outcome: TrialOutcome, summary: str, log: str = "") -> None:
        super().__init__(summary)
        self.outcome = outcome
        self.summary = summary
        self.log = log


@contextmanager
def phase(name: Phase) -> Iterator[None]:
    """What a sandbox raises in here ends the trial with a sentence of its own.

    Raises `Ended`, and `MachineFault` and `SandboxDied` as they are: they say nothing of the task.
    """
    try:
        yield
    except (MachineFault, SandboxDied):
        raise
    except TimedOut as error:
        late = "build" if name in (Phase.ENVIRONMENT, Phase.VERIFIER) else "end"
        summary = f"{name} did not {late} within {error.seconds:g} seconds."
        if name is Phase.TESTS:
            summary += " A reward written before that does not count."
        raise Ended(TrialOutcome.TIMEOUT, summary) from error
    except OutOfMemory as error:
        raise Ended(TrialOutcome.OOM, f"{name} ran out of memory. {error}") from error
    except BuildFailed as error:
        raise Ended(TrialOutcome.ERROR, f"{name} does not build: {error}", error.log) from error
    except SandboxError as error:
        raise Ended(TrialOutcome.ERROR, f"{name}: {error}") from error
