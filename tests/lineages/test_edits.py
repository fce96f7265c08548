"""What a direction and an effort allow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.plan import Change, Direction, Effort, Pair, PlanDraft, Sequence
from lineages.edits import violations

PARENT = Sequence(
    pairs=(
        Pair(key="in:a", scenario="plain csv file", skill="read records", tool="awk", origin="implicit"),
        Pair(key="in:b", scenario="plain log file", skill="read records", tool="grep", origin="implicit"),
        Pair(key="seg:1", scenario="result file", skill="sort lines", tool="sort", origin="extracted"),
    )
)


def pair(key: str, **changed: str) -> Pair:
    return next(p for p in PARENT.pairs if p.key == key).model_copy(update={"origin": "owned", **changed})


def new(key: str) -> Pair:
    return Pair(key=key, scenario="manifest", skill="sign outputs", tool="sha256sum", origin="owned")


def plan(
    direction: Direction, effort: Effort, *changes: Change, after: tuple[Pair, ...] | None = None
) -> PlanDraft:
    replaced = {change.pair.key: change.pair for change in changes if change.kind == "replace"}
    inserted = tuple(change.pair for change in changes if change.kind == "insert")
    kept = tuple(replaced.get(p.key, p) for p in PARENT.pairs)
    return PlanDraft(
        direction=direction,
        effort=effort,
        before=PARENT,
        after=Sequence(pairs=after if after is not None else kept + inserted),
        changes=changes,
        summary="a plan",
        rationale="harder",
    )


def replace(key: str, **changed: str) -> Change:
    return Change(kind="replace", pair=pair(key, **changed))


def insert(key: str) -> Change:
    return Change(kind="insert", pair=new(key))


LEGAL = [
    plan(Direction.SCENARIO, Effort.LOW, replace("in:a", scenario="split archive")),
    plan(
        Direction.SCENARIO,
        Effort.HIGH,
        replace("in:a", scenario="split archive"),
        replace("in:b", scenario="dated backups"),
    ),
    plan(Direction.SKILL, Effort.LOW, replace("in:b", skill="decode", tool="basenc")),
    plan(Direction.LENGTH, Effort.LOW, insert("n1")),
    plan(Direction.LENGTH, Effort.HIGH, insert("n1"), insert("n2")),
    plan(
        Direction.LENGTH,
        Effort.MAX,
        insert("n1"),
        insert("n2"),
        after=(new("n1"), *PARENT.pairs, new("n2")),
    ),
]


@pytest.mark.parametrize("legal", LEGAL, ids=lambda p: f"{p.direction}-{p.effort}-{len(p.changes)}")
def test_a_plan_that_keeps_its_direction_and_effort_is_legal(legal: PlanDraft) -> None:
    assert violations(legal, PARENT, legal.direction, legal.effort) == []


ILLEGAL = [
    ("changes nothing", plan(Direction.SCENARIO, Effort.LOW)),
    ("keeps the skill", plan(Direction.SCENARIO, Effort.LOW, replace("in:a", scenario="x", skill="y"))),
    ("did not change", plan(Direction.SCENARIO, Effort.LOW, replace("in:a"))),
    ("keeps the scenario", plan(Direction.SKILL, Effort.LOW, replace("in:a", scenario="x", skill="y"))),
    ("only inserts", plan(Direction.LENGTH, Effort.LOW, replace("in:a", scenario="x"))),
    ("is inserted", plan(Direction.SKILL, Effort.LOW, insert("n1"))),
    ("seed's own solution", plan(Direction.SKILL, Effort.LOW, replace("seg:1", skill="y"))),
    ("changes one pair", plan(Direction.LENGTH, Effort.LOW, insert("n1"), insert("n2"))),
    (
        "contiguous span",
        plan(
            Direction.LENGTH,
            Effort.HIGH,
            insert("n1"),
            insert("n2"),
            after=(new("n1"), *PARENT.pairs, new("n2")),
        ),
    ),
    ("removed or reordered", plan(Direction.LENGTH, Effort.LOW, insert("n1"), after=(new("n1"),))),
    ("not in the new sequence", plan(Direction.LENGTH, Effort.LOW, insert("n1"), after=PARENT.pairs)),
    (
        "is not what the parent or a declared change says",
        plan(Direction.LENGTH, Effort.LOW, insert("n1"), after=(*PARENT.pairs, new("n1"), new("n2"))),
    ),
]


@pytest.mark.parametrize(("rule", "illegal"), ILLEGAL, ids=[rule for rule, _ in ILLEGAL])
def test_a_plan_that_breaks_a_rule_is_named_by_that_rule(rule: str, illegal: PlanDraft) -> None:
    assert any(
        rule in sentence for sentence in violations(illegal, PARENT, illegal.direction, illegal.effort)
    )


def test_a_plan_made_on_another_parent_is_refused() -> None:
    other = Sequence(pairs=PARENT.pairs[:2])

    assert "another sequence" in violations(LEGAL[0], other, LEGAL[0].direction, LEGAL[0].effort)[0]


@given(st.permutations(list(PARENT.pairs)).filter(lambda order: tuple(order) != PARENT.pairs))
def test_no_reordering_of_the_parent_is_ever_legal(order: list[Pair]) -> None:
    shuffled = plan(Direction.LENGTH, Effort.MAX, insert("n1"), after=(*order, new("n1")))

    assert violations(shuffled, PARENT, Direction.LENGTH, Effort.MAX)


@given(st.sets(st.integers(0, 3), min_size=1, max_size=4))
def test_high_effort_takes_inserts_only_where_they_touch(places: set[int]) -> None:
    """Inserting before position p of the parent for each p: legal exactly when all land side by side."""
    after: list[Pair] = []
    for place, each in enumerate([*PARENT.pairs, None]):
        if place in places:
            after.append(new(f"n{place}"))
        if each:
            after.append(each)
    changes = [insert(f"n{place}") for place in sorted(places)]

    found = violations(
        plan(Direction.LENGTH, Effort.HIGH, *changes, after=tuple(after)),
        PARENT,
        Direction.LENGTH,
        Effort.HIGH,
    )

    assert bool(found) == (len(places) > 1)


def test_what_was_asked_for_counts_and_not_what_the_plan_says_of_itself() -> None:
    generous = plan(Direction.LENGTH, Effort.MAX, insert("n1"), insert("n2"))

    found = violations(generous, PARENT, Direction.SCENARIO, Effort.LOW)

    assert "a scenario plan was asked for, not one of length" in found
    assert "the effort is low, not max" in found
