"""Two sequences side by side."""

from __future__ import annotations

from agents.plan import Sequence
from lineages.library.alignment import align
from tests.factories import pair

A, B, C = pair("a"), pair("b"), pair("c")


def kinds(before: Sequence, after: Sequence) -> list[tuple[str, int]]:
    return [(row.kind, row.place) for row in align(before, after)]


def test_equal_sequences_have_no_changed_row() -> None:
    assert kinds(Sequence(pairs=(A, B)), Sequence(pairs=(A, B))) == [("same", 1), ("same", 2)]


def test_an_inserted_pair_stands_where_the_child_has_it() -> None:
    rows = align(Sequence(pairs=(A, B)), Sequence(pairs=(A, C, B)))
    assert [row.kind for row in rows] == ["same", "inserted", "same"]
    assert rows[1].before is None and rows[1].after == C


def test_a_replaced_scenario_is_marked_and_the_skill_is_not() -> None:
    new = A.model_copy(update={"scenario": "a damaged backup"})
    (row,) = align(Sequence(pairs=(A,)), Sequence(pairs=(new,)))
    assert (row.kind, row.new_scenario, row.new_skill) == ("replaced", True, False)


def test_a_replaced_skill_is_marked_and_the_scenario_is_not() -> None:
    new = A.model_copy(update={"skill": "query", "tool": "sqlite3"})
    (row,) = align(Sequence(pairs=(A,)), Sequence(pairs=(new,)))
    assert (row.kind, row.new_scenario, row.new_skill) == ("replaced", False, True)


def test_a_pair_that_only_moved_to_another_file_is_the_same() -> None:
    moved = A.model_copy(update={"block": "solution/seed-solve.sh", "origin": "owned"})
    assert kinds(Sequence(pairs=(A,)), Sequence(pairs=(moved,))) == [("same", 1)]


def test_a_removed_pair_keeps_its_row_and_has_no_place() -> None:
    assert kinds(Sequence(pairs=(A, B)), Sequence(pairs=(B,))) == [("removed", 0), ("same", 1)]
