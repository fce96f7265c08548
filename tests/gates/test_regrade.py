"""Grading again: what a solver left is graded by new tests, and the solver is not run for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from agents.plan import Binding, Change, Pair, PlanDraft, Sequence
from lineages.gates import conformance, invalid_test, oracle
from lineages.gates.base import Outcome, Result, Subject
from lineages.library import audits
from lineages.library.calls import CommandRun
from lineages.library.models import Audit
from lineages.library.snapshots import store
from sandboxes.base import Backend
from tests.gates.subjects import SHARED, Changes, subject, with_files
from tests.tasks import CONFIG, FIRST_PART, FIRST_UNIT, words

SOLVES, TESTS = "/solution/solve.sh", "/tests/test.sh"
STRICTER: Changes = {"tests/units/longer.sh": '[ "$(wc -c < /app/out/first)" -gt 5 ]\n'}
OTHER_TESTS: Changes = {"tests/units/again.sh": FIRST_UNIT}


@dataclass(frozen=True)
class Newer:
    """The same sandboxes under another version of their engine."""

    inner: Backend

    def identity(self) -> str:
        return f"{self.inner.identity()}, newer"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def again(one: Subject, before: Outcome) -> Subject:
    """As an audit that regrades would ask, with what solvers left before."""
    return replace(one, solved=before.kept)


def ran(outcome: Outcome) -> list[str]:
    return [command.argv[-1] for command in outcome.commands]


def test_with_other_tests_alone_the_solver_is_not_run_and_the_new_tests_decide() -> None:
    one = subject()
    before = oracle.check(one)
    same = oracle.check(again(with_files(one, OTHER_TESTS), before))
    stricter = oracle.check(again(with_files(one, STRICTER), before))

    assert (ran(before), before.graded_again) == ([SOLVES, TESTS], False)
    assert (ran(same)[-1:], same.graded_again, same.result) == ([TESTS], True, Result.PASSED)
    assert (stricter.graded_again, stricter.result, stricter.reward) == (True, Result.FAILED, 0.0)
    assert same.kept == {}, "what was kept once is not kept again"


def files(changes: Changes) -> Callable[[Subject], Subject]:
    return lambda one: with_files(one, changes)


@pytest.mark.parametrize(
    ("change", "runs"),
    [
        (files({"instruction.md": "Write ready to /app/out/first, please.\n"}), False),
        (lambda one: replace(one, rubric="2" * 64), False),
        (files({"solution/parts/first.sh": f"{FIRST_PART}true\n"}), True),
        (files({"environment/notes.txt": "more\n"}), True),
        (files({"task.toml": f"{CONFIG}# more\n"}), True),
        (lambda one: replace(one, backend=Newer(one.backend)), True),
    ],
    ids=["instruction", "rubric", "solution", "environment", "config", "backend"],
)
def test_the_solver_is_run_when_what_it_works_in_has_changed(
    change: Callable[[Subject], Subject], runs: bool
) -> None:
    before = oracle.check(subject())
    after = oracle.check(again(change(subject()), before))

    assert (after.result, after.graded_again) == (Result.PASSED, not runs)


def test_on_the_solvers_own_file_system_there_is_nothing_to_grade_again() -> None:
    before = oracle.check(subject(SHARED))
    after = oracle.check(again(with_files(subject(SHARED), OTHER_TESTS), before))

    assert before.kept == {}
    assert (ran(after), after.graded_again) == ([SOLVES, TESTS], False)


def test_an_empty_solution_is_graded_again_whatever_became_of_the_reference() -> None:
    before = invalid_test.check(subject())
    mended = with_files(subject(), {**OTHER_TESTS, "solution/parts/first.sh": f"{FIRST_PART}true\n"})
    after = invalid_test.check(again(mended, before))
    elsewhere = with_files(mended, {"instruction.md": "Write ready to /app/first.\n"})
    renamed = invalid_test.check(again(elsewhere, before))

    assert (after.result, after.graded_again) == (Result.PASSED, True)
    assert (renamed.result, renamed.graded_again) == (Result.PASSED, False), "other outputs are touched now"


PAIR = Pair(
    key="second", scenario="result file", skill="write a word", tool="printf", origin="owned",
    target="/app/out/second", block="solution/parts/second.sh",
)  # fmt: skip
PLAN = PlanDraft(
    direction="length", effort="high", before=Sequence(), after=Sequence(pairs=(PAIR,)),
    changes=(Change(kind="insert", pair=PAIR),), summary="One more word", rationale="one more thing to do",
)  # fmt: skip
BINDING = Binding(
    key="second",
    solution_block="solution/parts/second.sh",
    test_units=("tests/units/second.sh",),
    environment_paths=("environment/second.txt",),
    requirement="Write ready to /app/out/second too.",
)
CHILD: Changes = {
    "instruction.md": f"{words().text('instruction.md')}{BINDING.requirement}\n",
    "environment/second.txt": "A second word is wanted.\n",
    "solution/parts/second.sh": FIRST_PART.replace("first", "second"),
    "tests/units/second.sh": FIRST_UNIT.replace("first", "second"),
}


def test_each_solution_without_a_block_is_graded_again() -> None:
    one = subject(CHILD, parent=words(), plan=PLAN, bindings=(BINDING,))
    before = conformance.check(one)
    lax = {"tests/units/second.sh": "exit 0\n"}
    after = conformance.check(again(with_files(one, lax), before))

    assert (before.result, len(before.kept), before.graded_again) == (Result.PASSED, 1, False)
    assert (after.result, after.graded_again) == (Result.FAILED, True)
    assert after.summary.endswith("second is padding.")


# through audits


def audited(one: Subject, *, regrade: bool) -> tuple[Audit, Mapping[str, tuple[str, bool]]]:
    audit = audits.open_audit(store(one.task), one, profile="fast", regrade=regrade)
    audits.run(audit, one)
    audit.refresh_from_db()
    return audit, {row.gate: (row.outcome, row.graded_again) for row in audit.results.all()}


def solver_runs(audit: Audit) -> int:
    return CommandRun.objects.filter(result__audit=audit, command__contains=SOLVES).count()


@pytest.mark.django_db(transaction=True)
def test_an_audit_that_regrades_records_no_new_command_of_a_solver() -> None:
    one = subject()
    first, _ = audited(one, regrade=False)
    regraded, said = audited(with_files(one, OTHER_TESTS), regrade=True)
    anew, freely = audited(with_files(one, OTHER_TESTS), regrade=False)
    stricter, found = audited(with_files(one, STRICTER), regrade=True)

    assert [solver_runs(audit) for audit in (first, regraded, anew, stricter)] == [1, 0, 1, 0]
    assert (said["oracle"], said["invalid_test"]) == (("passed", True), ("passed", True))
    assert (freely["oracle"], found["oracle"]) == (("passed", False), ("failed", True))
    assert (regraded.status, stricter.status) == (Audit.Status.ACCEPTED, Audit.Status.REJECTED)
