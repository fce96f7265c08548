"""minimum_change: what counts as a difference between a child and its parent."""

from __future__ import annotations

import pytest

from lineages.gates import minimum_change
from lineages.gates.base import Outcome, Result
from tests.gates.subjects import Changes, changed, subject
from tests.tasks import FIRST_PART, FIRST_UNIT, words

ASKED = "Write the word ready to /app/out/first.\n"
REAL: Changes = {
    "instruction.md": f"{ASKED}Write the word ready to /app/out/second, too.\n",
    "solution/parts/second.sh": "printf ready > /app/out/second\n",
    "tests/units/second.sh": FIRST_UNIT.replace("first", "second"),
}


def asked(changes: Changes) -> Outcome:
    return minimum_change.check(subject({**REAL, **changes}, parent=words()))


def test_a_seed_has_nothing_to_differ_from() -> None:
    assert minimum_change.check(subject()).result is Result.NOT_APPLICABLE


def test_a_child_that_asks_solves_and_tests_something_new_passes_with_its_counts() -> None:
    said = asked({})
    assert (said.result, said.findings) == (Result.PASSED, ())
    assert "1 units of the tests" in said.summary


@pytest.mark.parametrize(
    "instruction",
    [ASKED, "  Write the  word\n\nready, to /app/out/first!\n", "Write word ready to /app/out/first.\n"],
    ids=["the same", "gaps and punctuation", "fewer words"],
)  # fmt: skip
def test_an_instruction_without_a_new_word_asks_for_nothing_new(instruction: str) -> None:
    said = asked({"instruction.md": instruction})
    assert (said.result, said.findings[0].path) == (Result.FAILED, "instruction.md")
    assert "no word of it is new" in said.summary


def test_an_instruction_that_is_only_touched_up_is_told_with_its_line() -> None:
    said = asked({"instruction.md": "\nPlease write the word ready to /app/out/first.\n"})
    assert (said.result, said.findings[0].line) == (Result.FAILED, 2)
    assert "'please'" in said.summary


def test_a_changed_number_is_a_changed_requirement() -> None:
    parent = changed(words(), {"instruction.md": "Keep the newest 5 files.\n"})
    child = changed(parent, {**REAL, "instruction.md": "Keep the newest 7 files.\n"})
    assert minimum_change.check(subject(task=child, parent=parent)).result is Result.PASSED


@pytest.mark.parametrize(
    "solution",
    [
        {},
        {"solution/parts/first.sh": f"{FIRST_PART}# Now with a reason.\n\n"},
        {"solution/parts/first.sh": FIRST_PART.replace("-p", " -p").replace("\nprintf", "\n\nprintf")},
        {"solution/parts/first.sh": None, "solution/parts/one.sh": FIRST_PART},
        {"solution/parts/first.sh": FIRST_PART.replace("out\n", "out # the folder\n")},
    ],
    ids=["nothing", "a comment", "gaps", "a name", "a comment behind a command"],
)  # fmt: skip
def test_a_solution_that_differs_in_form_alone_is_the_parents(solution: Changes) -> None:
    said = asked({"solution/parts/second.sh": None, **solution})
    assert [finding.path for finding in said.findings] == ["solution/"]


def test_tests_that_differ_in_comments_alone_are_the_parents() -> None:
    said = asked({"tests/units/second.sh": None, "tests/units/first.sh": f"{FIRST_UNIT}# Checked twice.\n"})
    assert [finding.path for finding in said.findings] == ["tests/"]


def test_settings_alone_are_no_change_and_every_lack_is_told() -> None:
    renamed = words().text("task.toml").replace("envevo-tests/words", "envevo-tests/other")
    said = minimum_change.check(subject({"task.toml": renamed}, parent=words()))
    assert [finding.path for finding in said.findings] == ["instruction.md", "solution/", "tests/"]


def test_a_mark_inside_a_quoted_text_is_no_comment() -> None:
    part = "printf '%s' 'a # b' > /app/out/first\n"
    parent = changed(words(), {"solution/parts/first.sh": part})
    child = changed(
        parent, {**REAL, "solution/parts/second.sh": None, "solution/parts/first.sh": part.replace("b", "c")}
    )
    assert minimum_change.check(subject(task=child, parent=parent)).result is Result.PASSED
