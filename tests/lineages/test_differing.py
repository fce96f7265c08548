"""Which lines belong together, and when that is given up."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineages.library.differing import Budget, GivenUp, Hunk, Row, hunks, marks, matches, rows, unpaired

PLENTY = 1_000_000
LINES = st.lists(st.sampled_from("abc"), max_size=12)


def longest(left: list[str], right: list[str]) -> int:
    """The length of a longest common subsequence, by the table that every textbook has."""
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, one in enumerate(left):
        for j, other in enumerate(right):
            table[i + 1][j + 1] = table[i][j] + 1 if one == other else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@given(LINES, LINES)
def test_no_more_lines_could_be_matched(left: list[str], right: list[str]) -> None:
    found = matches(left, right, Budget(PLENTY))
    assert all(left[a] == right[b] for a, b in found)
    assert found == sorted(found) and len({a for a, _ in found}) == len({b for _, b in found}) == len(found)
    assert len(found) == longest(left, right)


@given(LINES, LINES)
def test_every_line_of_both_sides_has_its_row_in_order(left: list[str], right: list[str]) -> None:
    found = rows(left, right, Budget(PLENTY))
    assert [row.left for row in found if row.left is not None] == list(range(len(left)))
    assert [row.right for row in found if row.right is not None] == list(range(len(right)))
    assert all(left[row.left] == right[row.right] for row in found if row.same)  # type: ignore[index]


def test_two_long_random_texts_of_the_same_few_lines_are_given_up() -> None:
    dice = random.Random(1)
    left, right = ([dice.choice("abc") for _ in range(20_000)] for _ in range(2))
    with pytest.raises(GivenUp):
        matches(left, right, Budget(50_000))


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        (["same"] * 20_000, ["same"] * 20_000, 20_000),
        (["same"] * 20_000, ["same"] * 9_000 + ["other"] + ["same"] * 9_000, 18_000),
        ([f"a{n}" for n in range(20_000)], [f"b{n}" for n in range(20_000)], 0),
    ],
)
def test_long_texts_that_a_person_would_call_easy_cost_next_to_nothing(
    left: list[str], right: list[str], common: int
) -> None:
    assert len(matches(left, right, Budget(25_000))) == common


def test_a_line_stands_beside_its_new_form_and_the_rest_fills_up() -> None:
    left = ["cut -d, -f2 names.csv", "gone entirely"]
    right = ["brand new here", "cut -d: -f2 names.csv"]
    assert rows(left, right, Budget(PLENTY)) == [
        Row(None, 0),
        Row(0, 1, alike=True),
        Row(1, None),
    ]


def test_lines_without_a_word_in_common_only_stand_side_by_side() -> None:
    assert rows(["one"], ["two"], Budget(PLENTY)) == [Row(0, 0)]


def test_hunks_have_three_lines_of_context_and_say_how_many_are_left_out() -> None:
    left = [str(n) for n in range(30)]
    right = [*left[:10], "new", *left[10:]]
    (hunk,), after = hunks(rows(left, right, Budget(PLENTY)))
    assert (hunk.skipped, after) == (7, 17)
    assert [row.right for row in hunk.rows] == [7, 8, 9, 10, 11, 12, 13]
    assert [row.left for row in hunk.rows] == [7, 8, 9, None, 10, 11, 12]


def test_changes_close_to_each_other_are_one_hunk_and_far_ones_two() -> None:
    left = [str(n) for n in range(30)]
    near, far = list(left), list(left)
    near[10], near[16] = "x", "y"
    far[10], far[18] = "x", "y"
    assert len(hunks(rows(left, near, Budget(PLENTY)))[0]) == 1
    assert [hunk.skipped for hunk in hunks(rows(left, far, Budget(PLENTY)))[0]] == [7, 1]


def test_equal_texts_have_no_hunk() -> None:
    assert hunks(rows(["a", "b"], ["a", "b"], Budget(PLENTY))) == ([], 2)
    assert hunks([]) == ([], 0)
    assert hunks([Row(None, 0)]) == ([Hunk(0, (Row(None, 0),))], 0)


@pytest.mark.parametrize(
    ("left", "right", "old", "new"),
    [
        ("cut -f2 a.csv", "cut -f3 a.csv", ((5, 7),), ((5, 7),)),
        ("a b", "a c d b", (), ((2, 6),)),
        ("same", "same", (), ()),
        ("  x", "    x", ((0, 2),), ((0, 4),)),
    ],
)
def test_the_words_that_changed_are_marked(
    left: str, right: str, old: tuple[tuple[int, int], ...], new: tuple[tuple[int, int], ...]
) -> None:
    page = Budget(1_000)
    assert marks(left, right, page) == (old, new)
    assert 0 < page.left < 1_000, "it is charged to the page"


def test_the_words_of_lines_too_different_are_given_up_at_a_bounded_price() -> None:
    dice = random.Random(1)
    left, right = (" ".join(dice.choice("abcd") for _ in range(300)) for _ in range(2))
    page = Budget(1_000_000)
    with pytest.raises(GivenUp):
        marks(left, right, page)
    assert 0 < 1_000_000 - page.left < 5_000


def test_nothing_is_marked_once_the_page_has_spent_its_steps() -> None:
    with pytest.raises(GivenUp):
        marks("cut -f2 a.csv", "cut -f3 a.csv", Budget(5))


@pytest.mark.parametrize(("lines", "too_long"), [(20, False), (21, True)])
def test_a_stretch_of_more_than_twenty_by_twenty_lines_is_not_looked_through_for_lines_alike(
    lines: int, too_long: bool
) -> None:
    left, right = ([f"line {n} {side}" for n in range(lines)] for side in ("old", "new"))
    block = rows(left, right, Budget(1_000_000))
    assert unpaired(block) is too_long
    assert any(row.alike for row in block) is not too_long
