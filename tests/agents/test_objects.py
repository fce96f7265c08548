"""Which files a step can follow."""

from __future__ import annotations

import pytest

from agents.offline.objects import subjects
from sandboxes.task import Task
from tests.agents.growing import Grown
from tests.agents.tasks import INSTRUCTION, SOLVE, TEST, TOTALS, regions

EXTRA = "/app/extra.txt"


def outputs(task: Task) -> list[str]:
    grown = Grown.seed(task)
    return [each.path for each in subjects(task, grown.sequence, grown.composition) if each.output]


def with_extra(changes: dict[str, str]) -> Task:
    return regions(
        {
            "instruction.md": f"{INSTRUCTION}Write how many there are to {EXTRA}.\n",
            "solution/solve.sh": f"{SOLVE}wc -l < totals.txt > {EXTRA}\n",
            **changes,
        }
    )


def test_no_step_follows_an_output_that_no_test_looks_at() -> None:
    assert outputs(with_extra({})) == [TOTALS]


@pytest.mark.parametrize(
    "changes",
    [
        {"tests/test.sh": TEST + f"[ -s {EXTRA} ] || echo 0 > /logs/verifier/reward.txt\n"},
        {"tests/expected/extra.txt": "4\n"},
    ],
    ids=["named", "beside what is expected"],
)
def test_a_step_can_follow_what_a_test_names_or_has_the_right_one_of(changes: dict[str, str]) -> None:
    assert outputs(with_extra(changes)) == [TOTALS, EXTRA]


def test_no_step_follows_an_output_that_only_a_file_taken_away_speaks_of() -> None:
    assert outputs(with_extra({"tests/held/app/data/readme.txt": f"See {EXTRA}.\n"})) == [TOTALS]
