"""repeat: the same work is worth the same in every run, and how often it was not is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from lineages.gates import repeat
from lineages.gates.base import Finding, Result
from lineages.gates.trials import ORACLE, key_of, solved
from sandboxes.base import Image
from sandboxes.errors import MachineFault
from sandboxes.files import TaskFile
from tests.gates.subjects import Changes, subject

WORKS = "#!/bin/bash\nmkdir -p /app/out\nprintf ready > /app/out/first\n"
RUNNER = """#!/bin/bash
least=1
for unit in /tests/units/*; do
    if bash "$unit"; then value=1; else value=0 least=0; fi
    echo "== ${unit##*/}: $value"
done
mkdir -p /logs/verifier
echo "$least" > /logs/verifier/reward.txt
"""


def verifier(check: str) -> Changes:
    return {
        "tests/test.sh": "#!/bin/bash\nmkdir -p /logs/verifier\n"
        f"{{ {check}; }} && echo 1 >/logs/verifier/reward.txt || echo 0 >/logs/verifier/reward.txt\n"
    }


def texts(findings: tuple[Finding, ...]) -> list[str]:
    return [finding.text for finding in findings if not finding.warning]


def test_a_steady_task_passes_every_run_in_other_zones_and_locales() -> None:
    said = repeat.check(subject(repeats=3))

    assert (said.result, said.findings, said.commands) == (Result.PASSED, (), ())
    assert (said.runs, said.runs_passed) == (3, 3)
    assert said.summary == "The reference solution passed 3 of 3 runs, and an untouched environment none."
    first, second, third = said.detail.splitlines()
    assert first.startswith("run 1 (as it is): solved passed 1 (")
    assert "TZ=<+1245>-12:45" in second and "TZ=<-0930>9:30" in third
    assert "tests not shuffled): solved passed 1" in second, (
        "this runner takes no other order, and it is said"
    )


def test_a_reference_that_only_works_in_one_time_zone_is_unstable() -> None:
    said = repeat.check(subject({"solution/parts/first.sh": f'[ -z "$TZ" ] || exit 0\n{WORKS}'}, repeats=3))
    first, second = texts(said.findings)

    assert said.result is Result.FAILED
    assert said.summary == "Unstable: the reference solution passed 1 of 3 runs."
    assert (said.runs, said.runs_passed) == (3, 1)
    assert first.startswith("In run 2 (TZ=<+1245>-12:45, LC_ALL=C.UTF-8, tests not shuffled) the reference")
    assert second.startswith("In run 3 (TZ=<-0930>9:30, LC_ALL=C, tests not shuffled) the reference solution")
    assert [command.argv[-1] for command in said.commands] == ["/solution/solve.sh", "/tests/test.sh"] * 2


def test_an_untouched_environment_that_is_rewarded_in_one_locale_is_found() -> None:
    said = repeat.check(
        subject(verifier('[ "$LC_ALL" = C.UTF-8 ] || grep -qs ready /app/out/first'), repeats=2)
    )

    assert said.summary == (
        "Unstable: the reference solution passed 2 of 2 runs, and an untouched environment was worth nothing "
        "in 1 of 2 runs."
    )
    assert (said.result, said.runs, said.runs_passed) == (Result.FAILED, 2, 1)
    assert len(texts(said.findings)) == 1
    assert [command.argv[-1] for command in said.commands] == ["/tests/test.sh"]


def test_a_reference_that_never_passes_is_broken_and_not_unstable() -> None:
    said = repeat.check(subject({"solution/parts/first.sh": "exit 0\n"}, repeats=2))

    assert (said.result, said.runs, said.runs_passed) == (Result.FAILED, 2, 0)
    assert said.summary == "The reference solution passed 0 of 2 runs."
    assert len(texts(said.findings)) == 2


def test_tests_that_need_their_order_are_unstable_and_named() -> None:
    said = repeat.check(
        subject(
            {
                "tests/test.sh": RUNNER,
                "tests/units/first.sh": None,
                "tests/units/00-makes": "touch /tmp/made; grep -qs ready /app/out/first\n",
                "tests/units/01-needs": "[ -e /tmp/made ] && grep -qs ready /app/out/first\n",
            },
            repeats=2,
        )
    )
    (finding,) = texts(said.findings)

    assert said.summary == "Unstable: the reference solution passed 1 of 2 runs."
    assert "tests shuffled (seed 1)" in finding
    assert finding.endswith("Tests that answered otherwise in another run: units/01-needs.")


def test_a_test_that_contradicts_itself_under_the_same_reward_is_a_warning() -> None:
    zone = '[ -z "$TZ" ] && echo "ok 1 - zone" || echo "not ok 1 - zone"'
    said = repeat.check(subject(verifier(f"{zone}; grep -qs ready /app/out/first"), repeats=2))

    assert said.result is Result.PASSED
    assert [finding.text for finding in said.findings] == [
        "The test 'zone' does not always say the same of the reference solution.",
        "The test 'zone' does not always say the same of an untouched environment.",
    ]


def test_one_run_is_the_plain_one() -> None:
    said = repeat.check(subject(repeats=1))

    assert (said.result, said.runs, said.runs_passed) == (Result.PASSED, 1, 1)
    assert len(said.detail.splitlines()) == 1


def test_what_a_solver_left_earlier_serves_the_plain_run_and_no_other() -> None:
    works = solved(subject()).solved
    assert works is not None
    broken = subject({"solution/parts/first.sh": "exit 0\n"}, repeats=2)

    said = repeat.check(replace(broken, solved={key_of(broken, ORACLE): works}))

    assert said.summary == "Unstable: the reference solution passed 1 of 2 runs."
    assert said.detail.splitlines()[0].startswith("run 1 (as it is): solved passed 1 (tests alone, ")


@dataclass
class Down:
    """A machine that cannot build."""

    name: str = "down"
    provisional: bool = False

    def identity(self) -> str:
        return self.name

    def bases(self, context: Mapping[str, TaskFile]) -> Mapping[str, str]:
        return {}

    def build(self, context: Mapping[str, TaskFile], *, timeout: float) -> Image:
        raise MachineFault("no engine answers")


def test_a_machine_that_fails_is_not_counted_as_a_run() -> None:
    with pytest.raises(MachineFault, match="no engine answers"):
        repeat.check(subject(backend=Down(), repeats=3))
