"""initial_state: what the single tests say of an environment in which nothing was done."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from lineages.gates import initial_state
from lineages.gates.base import Outcome, Result, Subject
from lineages.gates.trials import NOP
from sandboxes.base import ExecResult
from sandboxes.reward import reward_from
from sandboxes.trial import Trial, TrialOutcome
from sandboxes.unit_results import UnitResult
from tests.gates.subjects import Changes, changed, subject
from tests.tasks import CONFIG, words

TAP = """#!/bin/bash
[ -d /app ] && echo "ok 1 - the folder is there" || echo "not ok 1 - the folder is there"
[ -s /app/out/first ] && echo "ok 2 - the word is there" || echo "not ok 2 - the word is there"
mkdir -p /logs/verifier
grep -qs ready /app/out/first && echo 1 >/logs/verifier/reward.txt || echo 0 >/logs/verifier/reward.txt
"""
EVOLVED: Changes = {"tests/units/00-seed": "exit 1\n", "tests/units/01-more": "exit 1\n"}


def listing(*names: str) -> Changes:
    listed = ", ".join(f'"{name}"' for name in names)
    return {"task.toml": CONFIG.replace("[metadata]\n", f"[metadata]\ninvariants = [{listed}]\n")}


def untouched(one: Subject, units: Mapping[str, bool], *, cut: int = 0, reward: bytes = b"0") -> Subject:
    """The subject with what its tests said of the untouched environment."""
    tests = ExecResult(("/tests/test.sh",), 0, b"", b"", cut, 0.1, datetime.now(UTC))
    found = reward_from("reward.txt", reward)
    done = Trial(
        outcome=TrialOutcome.FAILED if found.value == 0 else TrialOutcome.PASSED,
        reward=found,
        summary="The tests said so.",
        weaker=False,
        commands=(tests,),
        artifacts={},
        seconds=0.1,
        units=tuple(UnitResult(name, passed) for name, passed in units.items()),
    )
    one.once.get(NOP, lambda: done)
    return one


def said(one: Subject) -> tuple[Result, list[str]]:
    outcome = initial_state.check(one)
    return outcome.result, [finding.text for finding in outcome.findings if not finding.warning]


def test_a_test_that_passes_at_the_start_is_found_and_what_to_do_is_said() -> None:
    outcome = initial_state.check(subject({"tests/test.sh": TAP}))
    (finding,) = outcome.findings

    assert (outcome.result, outcome.reward) == (Result.FAILED, 0.0)
    assert outcome.detail == "passed  the folder is there\nfailed  the word is there"
    assert finding.text == (
        "The test 'the folder is there' passes when nothing was done: let it ask for something that is not "
        "there yet, or list it in [metadata] invariants if it guards what must stay as it is."
    )
    assert (finding.path, finding.repair) == ("tests/test.sh", 'invariants = ["the folder is there"]')


def test_a_test_that_is_listed_as_an_invariant_may_pass() -> None:
    outcome = initial_state.check(subject({"tests/test.sh": TAP, **listing("the folder is there")}))

    assert (outcome.result, outcome.findings) == (Result.PASSED, ())
    assert outcome.summary == "Untouched, 1 of 2 tests fail; 1 is listed as an invariant."


def test_where_the_verifier_does_not_tell_its_tests_apart_the_reward_decides() -> None:
    outcome = initial_state.check(subject())

    assert (outcome.result, outcome.findings) == (Result.PASSED, ())
    assert outcome.summary.startswith("The verifier does not tell its tests apart, so its whole script")


def test_an_untouched_run_that_was_rewarded_is_no_initial_state_at_all() -> None:
    outcome = initial_state.check(untouched(subject(), {"a": False}, reward=b"1"))

    assert outcome.result is Result.FAILED
    assert outcome.summary == "Nothing done is not simply worth nothing: The tests said so."


@pytest.mark.parametrize(
    ("listed", "units", "findings"),
    [
        ((), {"a": False, "b": False}, []),
        (("b",), {"a": False, "b": True}, []),
        (("a", "b"), {"b": True, "a": True}, []),
        (("b",), {"a": True, "b": True}, ["The test 'a' passes"]),
        (("a",), {"a": False, "b": False}, ["The invariant 'a' does not hold"]),
        (("c",), {"a": False}, ["No test is called 'c', which is listed"]),
        ((), {"b": True, "a": True}, ["The test 'a' passes", "The test 'b' passes"]),
        (("a",), {}, []),
    ],
)
def test_every_test_fails_or_is_an_invariant_whatever_their_order(
    listed: tuple[str, ...], units: dict[str, bool], findings: list[str]
) -> None:
    result, found = said(untouched(subject(listing(*listed)), units))

    assert (result is Result.FAILED) == bool(findings)
    assert len(found) == len(findings)
    assert all(text.startswith(wanted) for text, wanted in zip(found, findings, strict=True))


def test_invariants_that_are_no_list_of_names_are_found() -> None:
    odd = {"task.toml": CONFIG.replace("[metadata]\n", "[metadata]\ninvariants = [1]\n")}

    assert said(untouched(subject(odd), {"a": False})) == (
        Result.FAILED,
        ["[metadata] invariants is to be a list of names of tests."],
    )


def test_an_invariant_of_the_parent_is_one_of_the_child() -> None:
    parent = changed(words(), listing("a"))

    assert said(untouched(subject(parent=parent), {"a": True}))[0] is Result.PASSED
    assert said(untouched(subject(parent=parent), {"a": False})) == (
        Result.FAILED,
        ["The invariant 'a' does not hold in an untouched environment."],
    )


def test_an_invariant_of_the_seed_is_not_missed_within_the_unit_that_the_seeds_tests_became() -> None:
    evolved = {**EVOLVED, "tests/units/first.sh": None, **listing("the folder is there")}
    one = untouched(subject(evolved), {"units/00-seed": False, "units/01-more": False})

    assert said(one) == (Result.PASSED, [])


@pytest.mark.parametrize("cut", [0, 5000])
def test_a_part_of_the_answers_is_not_taken_for_all_of_them(cut: int) -> None:
    evolved = {**EVOLVED, "tests/units/first.sh": None}
    known = {} if cut else {"units/01-more": False}
    result, found = said(untouched(subject(evolved), known, cut=cut))

    assert result is Result.FAILED
    assert found[0].startswith("What units/00-seed")
    assert ("print less" in found[0]) == bool(cut)


@pytest.mark.parametrize("cut", [0, 5000])
def test_several_tests_that_cannot_be_told_apart_are_pointed_out(cut: int) -> None:
    tests = {} if cut else {"tests/test_it.py": "def test_a(): pass\n\n\ndef test_b(): pass\n"}
    outcome: Outcome = initial_state.check(untouched(subject(tests), {}, cut=cut))
    (finding,) = outcome.findings

    assert (outcome.result, finding.warning) == (Result.PASSED, True)
    assert finding.text.startswith("There are several tests, and their answers cannot be told apart.")
