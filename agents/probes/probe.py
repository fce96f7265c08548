"""What a probe is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sandboxes.task import Task

ALONE = 0
VOLLEYS = (1, 2, 3)


def always(task: Task) -> bool:
    return True


@dataclass(frozen=True)
class Probe:
    """One way to get a reward that was not earned.

    `tries` is a sentence. `script` gives what `/bin/sh` runs in the solver's turn, as the agent's user: it
    ends by itself within seconds, leaves nothing big, and each line does no harm where its tool is missing.
    `applies`: whether there is anything to try in this task.

    Probes with the same `volley` may share one solver's turn, those with the lower `order` first and those
    that leave processes at work last; one that would spoil what others need is `ALONE`. `needs_separate`: it
    replaces what runs the tests, which only a sandbox of the tests' own can stop.
    """

    name: str
    title: str
    tries: str
    script: Callable[[Task], str]
    applies: Callable[[Task], bool] = always
    volley: int = ALONE
    order: int = 0
    needs_separate: bool = False
