"""How much of a task is other than in another one."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineages.mutation import Mutation, by_file, by_token, by_unit


@pytest.mark.parametrize(
    ("before", "after", "same", "added", "removed", "rate"),
    [
        ("count the words", "count the words", 3, 0, 0, 0),
        ("", "", 0, 0, 0, 0),
        ("", "count the words", 0, 3, 0, 1),
        ("count", "sort", 0, 1, 1, 1),
        ("count the words", "count the long words", 3, 1, 0, 1 / 4),
        ("the cat, the dog", "the cat", 2, 0, 3, 3 / 5),  # the comma is a token, the second `the` another one
        ("first a then b", "then b first a", 4, 0, 0, 0),  # only moved
        ("Write /app/a.csv.", "Write /app/b.csv.", 7, 1, 1, 2 / 9),
    ],
)
def test_an_instruction_is_counted_by_word_and_punctuation_mark(
    before: str, after: str, same: int, added: int, removed: int, rate: float
) -> None:
    found = by_token(before, after)
    assert (found.same, found.added, found.removed, found.changed) == (same, added, removed, 0)
    assert found.rate == pytest.approx(rate)


BASE = {"environment/Dockerfile": "d", "environment/a": "1", "environment/b": "2", "solution/solve.sh": "s"}


@pytest.mark.parametrize(
    ("after", "expected", "rate"),
    [
        (BASE, Mutation(3, 0, 0, 0), 0),
        ({**BASE, "environment/a": "other"}, Mutation(2, 0, 0, 1), 1 / 3),
        ({**BASE, "environment/c": "3"}, Mutation(3, 1, 0, 0), 1 / 4),
        ({k: v for k, v in BASE.items() if k != "environment/b"}, Mutation(2, 0, 1, 0), 1 / 3),
        ({**BASE, "solution/solve.sh": "other", "tests/test.sh": "new"}, Mutation(3, 0, 0, 0), 0),
        ({}, Mutation(0, 0, 3, 0), 1),
    ],
)
def test_an_environment_is_counted_by_file(after: Mapping[str, str], expected: Mutation, rate: float) -> None:
    found = by_file(BASE, after)
    assert found == expected and found.rate == pytest.approx(rate)


SEED = {"tests/test.sh": "seed", "tests/expected.csv": "rows"}
EVOLVED = {
    "tests/test.sh": "runner",
    "tests/seed-test.sh": "seed",
    "tests/expected.csv": "rows",
    "tests/Dockerfile": "image",
    "tests/held/app/a": "bytes",
    "tests/pristine/app/b": "bytes",
    "tests/units/00-seed": "run it",
    "tests/units/01-joined": "one",
}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (SEED, SEED, Mutation(1, 0, 0, 0)),
        (SEED, EVOLVED, Mutation(1, 1, 0, 0)),  # the seed's own test is unit 00, under another name
        (SEED, {**SEED, "tests/expected.csv": "other"}, Mutation(0, 0, 0, 1)),
        (EVOLVED, {**EVOLVED, "tests/units/01-joined": "two"}, Mutation(1, 0, 0, 1)),
        (EVOLVED, {**EVOLVED, "tests/seed-test.sh": "weaker"}, Mutation(1, 0, 0, 1)),
        (EVOLVED, {**EVOLVED, "tests/held/app/a": "other"}, Mutation(2, 0, 0, 0)),
        (
            EVOLVED,
            {**EVOLVED, "tests/units/02-many/run": "a", "tests/units/02-many/data": "b"},
            Mutation(2, 1),
        ),
        ({}, SEED, Mutation(0, 1, 0, 0)),
        ({}, {}, Mutation(0, 0, 0, 0)),
    ],
)
def test_a_verifier_is_counted_by_test_unit(
    before: Mapping[str, str], after: Mapping[str, str], expected: Mutation
) -> None:
    assert by_unit(before, after) == expected


@given(st.text("ab ,", max_size=20), st.text("ab ,", max_size=20))
def test_exchanging_the_sides_exchanges_added_and_removed_and_leaves_the_rate(one: str, other: str) -> None:
    there, back = by_token(one, other), by_token(other, one)
    assert (there.added, there.removed, there.rate) == (back.removed, back.added, back.rate)
    assert 0 <= there.rate <= 1
