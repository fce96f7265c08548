"""parent_solution: whether the change bites, and whether the child still does what its parent asked for."""

from __future__ import annotations

import pytest

from lineages.gates import parent_solution
from lineages.gates.base import Outcome, Result, Subject
from tests.gates.subjects import SHARED, Changes, changed, subject
from tests.tasks import CONFIG, FIRST_PART, FIRST_UNIT, words

SECOND: Changes = {
    "instruction.md": "Write the word ready to /app/out/first and to /app/out/second.\n",
    "solution/parts/second.sh": FIRST_PART.replace("first", "second"),
    "tests/units/second.sh": FIRST_UNIT.replace("first", "second"),
}
"""What makes a child of `words` that asks for a second word."""
BITES = "The parent's solution does not solve the child."


def child(changes: Changes | None = None, *, parent: Changes | None = None) -> Subject:
    grown = changed(words(), parent or {})
    return subject(task=changed(changed(grown, SECOND), changes or {}), parent=grown)


def test_a_seed_has_no_parent_to_compare_it_with() -> None:
    assert parent_solution.check(subject()).result is Result.NOT_APPLICABLE


def test_a_child_that_asks_for_more_passes_by_both_proofs() -> None:
    said = parent_solution.check(child())

    assert (said.result, said.reward) == (Result.PASSED, 1.0)
    assert said.summary == f"{BITES} What the child's own leaves gets the full reward of the parent's tests."
    assert [command.argv[-1] for command in said.commands] == [
        "/solution/solve.sh", "/tests/test.sh", "/tests/test.sh",
    ]  # fmt: skip
    assert len(said.kept) == 1


def test_a_change_that_asks_for_nothing_is_found() -> None:
    said = parent_solution.check(child({"tests/units/second.sh": "exit 0\n"}))

    assert (said.result, said.reward) == (Result.FAILED, 1.0)
    assert said.summary == ("The parent's solution still gets the full reward: the change asks for nothing.")


def test_a_child_that_undoes_what_the_parent_asked_for_is_found() -> None:
    undoes = f"{SECOND['solution/parts/second.sh']}printf steady > /app/out/first\n"
    said = parent_solution.check(
        child({"solution/parts/second.sh": undoes, "tests/units/first.sh": "exit 0\n"})
    )

    assert (said.result, said.reward) == (Result.FAILED, 0.0)
    assert said.summary.startswith(
        "What the child's solution leaves does not meet the parent's tests any more"
    )


SILENT = """#!/bin/bash
mkdir -p /logs/verifier
[ -e /app/out/second ] || exit 3
echo 1 > /logs/verifier/reward.txt
"""
BOTH = "#!/bin/bash\nmkdir -p /app/out\nprintf ready | tee /app/out/first > /app/out/second\n"
STOPS = "[ ! -e /app/more ] || exit 9\n"
MORE: Changes = {
    "environment/more": "more is wanted\n",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\nCOPY more /app/more\n",
}


def ended(first: str, limit: str = "30.0") -> Outcome:
    """The parent's solution begins with `first`; the child's tests leave no reward for less than all."""
    old: Changes = {"solution/solve.sh": f"#!/bin/bash\n{first}{FIRST_PART}"}
    new: Changes = {
        **MORE,
        "solution/solve.sh": BOTH,
        "tests/test.sh": SILENT,
        "task.toml": CONFIG.replace("[agent]\ntimeout_sec = 30.0", f"[agent]\ntimeout_sec = {limit}"),
    }
    return parent_solution.check(child(new, parent=old))


def test_a_solution_that_gives_up_is_a_proof_even_where_the_tests_leave_no_reward() -> None:
    assert ended(STOPS).result is Result.PASSED


@pytest.mark.parametrize(
    ("first", "limit", "why"),
    [
        ("", "30.0", "The tests ended (exit code 3) without a reward."),
        ("[ ! -e /app/more ] || sleep 60\n", "1.0", "The solver did not end within 1 seconds."),
    ],
    ids=["the tests gave up, not the solution", "out of time"],
)
def test_no_verdict_is_no_proof(first: str, limit: str, why: str) -> None:
    said = ended(first, limit)

    assert said.result is Result.FAILED
    assert said.summary.startswith(
        f"It is not proven that the parent's solution is not enough any more: {why}"
    )


@pytest.mark.parametrize(
    ("changes", "parent", "why"),
    [
        (
            {"task.toml": CONFIG, "tests/Dockerfile": words().text("tests/Dockerfile")},
            SHARED,
            "the parent's tests need the solver's whole file system.",
        ),
        (SHARED, {}, "the child hands nothing over to them."),
        ({"task.toml": CONFIG.replace('["/app/out"]', '["/app"]')}, {}, "it does not hand over /app/out."),
    ],
    ids=["shared parent", "shared child", "an artifact less"],
)
def test_where_the_parents_tests_cannot_grade_the_child_it_is_said(
    changes: Changes, parent: Changes, why: str
) -> None:
    said = parent_solution.check(child(changes, parent=parent))

    assert said.result is Result.PASSED
    assert said.summary == (
        f"{BITES} That it still does what the parent asked for, only its kept tests say: {why}"
    )
