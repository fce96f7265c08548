"""deciding: a new test that ends, replaces or outlives the others decides for all; its text tells."""

from __future__ import annotations

import pytest

from lineages.gates import kept_tests
from lineages.gates.base import Result
from lineages.gates.deciding import deciding
from sandboxes.files import TaskFile
from tests.gates.subjects import subject
from tests.tasks import words

UNIT = "tests/units/20-more"
HONEST = """#!/bin/bash
made=/app/out/second
[ -f "$made" ] || { echo "no $made" >&2; exit 1; }
want=$(sort /tests/truth/words | sha256sum | cut -d' ' -f1) && [ "$(cat "$made")" = "$want" ]
timeout 5 python3 - "$made" <<'END'
import sys
assert open(sys.argv[1]).read().strip()
END
"""
REACHING = {
    "the reward's file": "echo 1 > /logs/verifier/reward.txt\n",
    "another test": "echo 'exit 0' > /tests/units/00-seed\n",
    "the runner's process": "kill -9 $(cut -d' ' -f4 /proc/$$/stat)\n",
    "a signal": "[ -f /app/x ] && kill -9 $1\n",
    "a name put together": 'k=ki; "${k}ll" -9 "$1"\n',
    "a process that stays": "( sleep 1; touch /app/late ) &\n",
    "a session of its own": "setsid touch /app/late\n",
    "words that become commands": 'eval "$1"\n',
    "a program that ends others": "python3 - <<'END'\nimport os\nos.kill(os.getppid(), 9)\nEND\n",
}


def told(unit: str) -> list[str]:
    return list(deciding(words().replace({UNIT: TaskFile.text(unit)}), [UNIT]))


def test_a_unit_that_only_looks_is_left_alone() -> None:
    assert told(HONEST) == []


@pytest.mark.parametrize("reach", sorted(REACHING))
def test_a_unit_that_reaches_beyond_its_own_verdict_is_named(reach: str) -> None:
    (sentence,) = told(HONEST + REACHING[reach])

    assert sentence.startswith(UNIT)
    assert "decides for no other" in sentence


def test_such_a_unit_fails_the_child_and_the_parents_own_tests_are_not_asked() -> None:
    parent = words().replace({"tests/units/first.sh": TaskFile.text("kill -0 $$; exit 0\n")})
    honest = parent.replace({UNIT: TaskFile.text(HONEST)})
    forging = parent.replace({UNIT: TaskFile.text(HONEST + REACHING["a signal"])})

    assert kept_tests.check(subject(task=honest, parent=parent)).result is Result.PASSED
    outcome = kept_tests.check(subject(task=forging, parent=parent))
    assert outcome.result is Result.FAILED
    assert f"{UNIT} runs kill" in outcome.summary
