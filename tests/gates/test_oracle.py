"""oracle: the full reward, and where it fails whether it always does."""

from __future__ import annotations

from lineages.gates import oracle
from lineages.gates.base import Result
from tests.gates.subjects import subject
from tests.gates.test_repeat import verifier


def test_a_reference_that_fails_at_first_and_passes_later_is_unstable_and_fails_all_the_same() -> None:
    lucky = verifier('[ "$(cat /app/out/first)" = ready ] && [ -n "${TZ-}" ]')

    said = oracle.check(subject(lucky, repeats=3))

    assert said.result is Result.FAILED, "no lucky run makes up for one that failed"
    assert said.summary == "Unstable: the reference solution passed 2 of 3 runs."
    assert (said.runs, said.runs_passed, said.reward) == (3, 2, 0.0)
    assert all(command.exit_code == 0 for command in said.commands), "the evidence is the run that failed"


def test_a_reference_that_never_passes_is_told_with_all_its_runs() -> None:
    said = oracle.check(subject(verifier("false"), repeats=3))

    assert said.result is Result.FAILED
    assert said.summary.startswith("The reference solution does not pass its tests (reward 0)")
    assert (said.runs, said.runs_passed) == (3, 0)


def test_one_run_that_fails_is_enough_where_nothing_is_repeated() -> None:
    said = oracle.check(subject(verifier("false"), repeats=1))

    assert (said.result, said.runs, said.runs_passed) == (Result.FAILED, 0, 0)
