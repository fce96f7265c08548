"""The runner of the test units: one reward, the least of theirs, or none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sandboxes.files import TaskFile
from sandboxes.task import Task
from sandboxes.trial import Solver, Trial, oracle
from tests.agents.conftest import output, value
from tests.agents.growing import Grown, built, plan_of
from tests.agents.tasks import ORDERS, regions

REWARDS = {
    "a reward of 1": ("echo 1 > $R/reward.txt", 1),
    "a part": ("echo 0.25 > $R/reward.txt", 0.25),
    "nothing": ("echo 0 > $R/reward.txt", 0),
    "below zero": ("echo -1 > $R/reward.txt", -1),
    "more than the other unit": ("echo 7 > $R/reward.txt", 1),
    "no file but success": ("exit 0", 1),
    "no file and failure": ("exit 3", 0),
    "json with one number": ("echo '{\"score\": 0.5}' > $R/reward.json", 0.5),
    "json with a reward": ('echo \'{"reward": 0.75, "a": 0}\' > $R/reward.json', 0.75),
    "json without": ('echo \'{"a": 0.5, "b": 0.25}\' > $R/reward.json', 0.25),
    "no number": ("echo well done > $R/reward.txt", None),
    "not finite": ("echo nan > $R/reward.txt", None),
    "empty": (": > $R/reward.txt", None),
    "broken json": ("echo '{' > $R/reward.json", None),
}


@pytest.mark.parametrize("case", sorted(REWARDS))
def test_the_seeds_reward_is_read_as_harbor_would(
    case: str, attempt: Callable[[Task, Solver], Trial]
) -> None:
    script, expected = REWARDS[case]
    seed = regions({"tests/test.sh": f"#!/bin/bash\nR=/logs/verifier\n{script}\n"})
    parent = Grown.seed(seed)
    child, _ = built(parent, plan_of(parent, "transcoded", "utf16", ORDERS))
    trial = attempt(child.task, oracle)
    assert value(trial) == expected, output(trial)


def test_units_do_not_see_each_others_reward(attempt: Callable[[Task, Solver], Trial]) -> None:
    """The first unit leaves a 1; the second fails without a file of its own."""
    parent = Grown.seed(regions())
    child, made = built(parent, plan_of(parent, "transcoded", "utf16", ORDERS))
    failing = child.task.replace({made.bindings[0].test_units[0]: TaskFile.text("exit 1\n")})
    assert value(attempt(failing, oracle)) == 0


def test_the_solution_stops_at_the_first_step_that_fails(attempt: Callable[[Task, Solver], Trial]) -> None:
    parent = Grown.seed(regions())
    child, made = built(parent, plan_of(parent, "transcoded", "utf16", ORDERS))
    broken = child.task.replace({made.bindings[0].solution_block: TaskFile.text("exit 9\n")})
    trial = attempt(broken, oracle)
    assert trial.commands[0].exit_code == 9
    assert "49-transcoded failed with 9" in output(trial)
    assert "50-seed" not in trial.commands[0].stdout.decode()
