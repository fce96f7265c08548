"""For any proposal: one that breaks its direction's or effort's rule is refused, one that keeps it passes.

The judge here is written from the paper's definitions (sections 3 and 4.1) over the two sequences, and knows
nothing of `lineages.edits`:

    length    only inserts pairs; what was there stays as it was, in its order
    scenario  replaces σ of a pair and keeps its κ (skill and the tool that carries it)
    skill     replaces κ of a pair and keeps its σ
    low       one pair        high  one contiguous span of the new sequence        max  anything

and, by our own rule, pairs that were extracted from the seed's solution are never replaced.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.line import NotUsable
from agents.modelled.proposer import ModelProposer
from agents.plan import Change, Direction, Effort, Pair, PlanDraft, Sequence
from lineages.edits import violations
from tests.agents.growing import Grown, brief
from tests.agents.modelled.playing import played
from tests.agents.tasks import regions

SCENARIOS, SKILLS, TOOLS = (
    ("plain file", "split archive", "backup"),
    ("read", "restore", "sign"),
    ("awk", "tar"),
)
directions, efforts = st.sampled_from(Direction), st.sampled_from(Effort)
contents = st.tuples(st.sampled_from(SCENARIOS), st.sampled_from(SKILLS), st.sampled_from(TOOLS))
Content = tuple[str, str, str]


@dataclass(frozen=True)
class Edit:
    """`at` is a place of the parent's sequence: what is replaced, or before what a pair is inserted."""

    inserts: bool
    at: int
    content: Content


@st.composite
def parents(draw: st.DrawFn) -> Sequence:
    given = draw(
        st.lists(st.tuples(contents, st.sampled_from(("implicit", "extracted", "owned"))), max_size=5)
    )
    return Sequence(
        pairs=tuple(
            Pair(key=f"p{at}", scenario=content[0], skill=content[1], tool=content[2], origin=origin)
            for at, (content, origin) in enumerate(given)
        )
    )


@st.composite
def edits_of(draw: st.DrawFn, length: int) -> tuple[Edit, ...]:
    """Any edits; no pair is replaced twice, which is for the tests of what is malformed."""
    inserted = draw(st.lists(st.tuples(st.integers(0, length), contents), max_size=3))
    replaced = draw(st.dictionaries(st.integers(0, length - 1), contents, max_size=3)) if length else {}
    return (
        *(Edit(True, at, content) for at, content in inserted),
        *(Edit(False, at, content) for at, content in replaced.items()),
    )


@dataclass(frozen=True)
class Case:
    parent: Sequence
    direction: Direction
    effort: Effort
    edits: tuple[Edit, ...]


@st.composite
def any_cases(draw: st.DrawFn) -> Case:
    parent = draw(parents())
    edits = draw(edits_of(len(parent)))
    return Case(parent, draw(directions), draw(efforts), edits)


@st.composite
def legal_cases(draw: st.DrawFn) -> Case:
    """Built to be legal: the right kind of edit, at places that the effort allows."""
    parent = draw(
        parents().filter(lambda sequence: any(pair.origin != "extracted" for pair in sequence.pairs))
    )
    direction, effort = draw(directions), draw(efforts)
    if direction is Direction.LENGTH:
        span = draw(st.integers(0, len(parent)))
        count = 1 if effort is Effort.LOW else draw(st.integers(1, 3))
        places = [
            span if effort is not Effort.MAX else draw(st.integers(0, len(parent))) for _ in range(count)
        ]
        return Case(parent, direction, effort, tuple(Edit(True, at, draw(contents)) for at in places))
    free = [at for at, pair in enumerate(parent.pairs) if pair.origin != "extracted"]
    first = draw(st.sampled_from(free))
    chosen = [first]
    if effort is Effort.MAX:
        chosen = draw(st.lists(st.sampled_from(free), min_size=1, unique=True))
    while effort is Effort.HIGH and chosen[-1] + 1 in free and draw(st.booleans()):
        chosen.append(chosen[-1] + 1)
    edits = tuple(Edit(False, at, draw(moved(parent.pairs[at], direction))) for at in chosen)
    return Case(parent, direction, effort, edits)


@st.composite
def nearly_legal_cases(draw: st.DrawFn) -> Case:
    """A legal one with one thing about it drawn anew, which breaks a rule more often than not."""
    case: Case = draw(legal_cases())
    length = len(case.parent)
    at = draw(st.integers(0, length - 1))
    spoilt = case.edits[0]
    return draw(
        st.one_of(
            st.builds(lambda direction: replace(case, direction=direction), directions),
            st.builds(lambda effort: replace(case, effort=effort), efforts),
            st.builds(
                lambda content: replace(case, edits=(replace(spoilt, content=content), *case.edits[1:])),
                contents,
            ),
            st.builds(
                lambda place, content: replace(case, edits=(*case.edits, Edit(True, place, content))),
                st.integers(0, length),
                contents,
            ),
            st.just(replace(case, parent=with_origin(case.parent, at, "extracted"))),
        )
    )


def with_origin(sequence: Sequence, at: int, origin: str) -> Sequence:
    changed = sequence.pairs[at].model_copy(update={"origin": origin})
    return Sequence(pairs=(*sequence.pairs[:at], changed, *sequence.pairs[at + 1 :]))


def cases() -> st.SearchStrategy[Case]:
    return st.one_of(any_cases(), legal_cases(), nearly_legal_cases())


def moved(pair: Pair, direction: Direction) -> st.SearchStrategy[Content]:
    if direction is Direction.SCENARIO:
        others = st.sampled_from([each for each in SCENARIOS if each != pair.scenario])
        return others.map(lambda scenario: (scenario, pair.skill, pair.tool))
    skills = st.sampled_from([each for each in SKILLS if each != pair.skill])
    return st.tuples(st.just(pair.scenario), skills, st.sampled_from(TOOLS))


def is_legal(case: Case) -> bool:
    """The paper's rules, over places of the new sequence."""
    return bool(case.edits) and _keeps_direction(case) and _keeps_effort(case)


def _keeps_direction(case: Case) -> bool:
    for edit in case.edits:
        if edit.inserts:
            if case.direction is not Direction.LENGTH:
                return False
            continue
        old = case.parent.pairs[edit.at]
        scenario_moved, skill_moved = edit.content[0] != old.scenario, edit.content[1] != old.skill
        kept_skill = edit.content[1:] == (old.skill, old.tool)
        allowed = {
            Direction.LENGTH: False,
            Direction.SCENARIO: scenario_moved and kept_skill,
            Direction.SKILL: skill_moved and not scenario_moved,
        }[case.direction]
        if not allowed or old.origin == "extracted":
            return False
    return True


def _keeps_effort(case: Case) -> bool:
    if case.effort is Effort.LOW:
        return len(case.edits) == 1
    touched = [is_new for _, is_new in layout(case)]
    inside = touched[touched.index(True) : len(touched) - touched[::-1].index(True)]
    return case.effort is Effort.MAX or all(inside)


def layout(case: Case) -> list[tuple[Content, bool]]:
    """The new sequence, each pair with whether an edit put it there."""
    replaced = {edit.at: edit.content for edit in case.edits if not edit.inserts}
    found: list[tuple[Content, bool]] = []
    for at in range(len(case.parent) + 1):
        found += [(edit.content, True) for edit in case.edits if edit.inserts and edit.at == at]
        if at < len(case.parent):
            pair = case.parent.pairs[at]
            found.append((replaced.get(at, (pair.scenario, pair.skill, pair.tool)), at in replaced))
    return found


def plan_of(case: Case) -> PlanDraft:
    """The plan that says these edits: well formed, whether legal or not."""
    changes: list[Change] = []
    behind: dict[int, list[Pair]] = {}
    pairs = list(case.parent.pairs)
    for number, edit in enumerate(case.edits):
        key = f"n{number}" if edit.inserts else pairs[edit.at].key
        scenario, skill, tool = edit.content
        pair = Pair(key=key, scenario=scenario, skill=skill, tool=tool, origin="owned")
        changes.append(Change(kind="insert" if edit.inserts else "replace", pair=pair))
        if edit.inserts:
            behind.setdefault(edit.at, []).append(pair)
        else:
            pairs[edit.at] = pair
    after = [pair for at in range(len(pairs) + 1) for pair in [*behind.get(at, []), *pairs[at : at + 1]]]
    return PlanDraft(
        direction=case.direction,
        effort=case.effort,
        before=case.parent,
        after=Sequence(pairs=tuple(after)),
        changes=tuple(changes),
        summary="a plan",
        rationale="harder",
    )


def broken(case: Case, plan: PlanDraft) -> list[str]:
    return violations(plan, case.parent, case.direction, case.effort)


@settings(max_examples=200, deadline=None)
@given(cases())
def test_a_plan_is_refused_exactly_if_it_breaks_a_rule(case: Case) -> None:
    found = broken(case, plan_of(case))
    assert (found == []) == is_legal(case), (found, case)


@settings(max_examples=80, deadline=None)
@given(legal_cases())
def test_every_plan_that_keeps_its_rules_passes(case: Case) -> None:
    assert is_legal(case)
    assert broken(case, plan_of(case)) == []


@settings(max_examples=80, deadline=None)
@given(legal_cases(), directions, efforts)
def test_what_was_asked_for_counts_and_not_what_a_plan_says_of_itself(
    case: Case, direction: Direction, effort: Effort
) -> None:
    found = violations(plan_of(case), case.parent, direction, effort)
    assert (found == []) == ((direction, effort) == (case.direction, case.effort))


@settings(max_examples=80, deadline=None)
@given(legal_cases(), st.data())
def test_a_legal_plan_whose_new_sequence_holds_anything_else_is_refused(
    case: Case, data: st.DataObject
) -> None:
    plan = plan_of(case)
    pairs = list(plan.after.pairs)
    at = data.draw(st.integers(0, len(pairs) - 1))
    ways = {
        "a pair is left out": pairs[:at] + pairs[at + 1 :],
        "a pair comes twice": [*pairs, pairs[at]],
        "a pair that nobody declared": [*pairs, pairs[at].model_copy(update={"key": "undeclared"})],
        "another target": [*pairs[:at], pairs[at].model_copy(update={"target": "/x"}), *pairs[at + 1 :]],
    }
    way = data.draw(st.sampled_from(sorted(ways)))
    tampered = plan.model_copy(update={"after": Sequence(pairs=tuple(ways[way]))})
    assert broken(case, tampered), way


@settings(max_examples=50, deadline=None)
@given(legal_cases().filter(lambda case: len(case.parent) > 1), st.data())
def test_pairs_of_the_parent_are_never_put_in_another_order(case: Case, data: st.DataObject) -> None:
    plan = plan_of(case)
    pairs, keys = list(plan.after.pairs), case.parent.keys()
    one, other = data.draw(st.permutations(range(len(keys))))[:2]
    at = {pair.key: place for place, pair in enumerate(pairs)}
    first, second = at[keys[one]], at[keys[other]]
    pairs[first], pairs[second] = pairs[second], pairs[first]
    tampered = plan.model_copy(update={"after": Sequence(pairs=tuple(pairs))})
    assert "pairs of the parent were removed or reordered" in broken(case, tampered)


SEED = Grown.seed(regions())


@settings(max_examples=50, deadline=None)
@given(cases())
def test_a_models_proposal_becomes_a_plan_exactly_if_it_keeps_the_rules(case: Case) -> None:
    """The same, from the JSON that a model writes to the plan that its role hands back."""
    parent = replace(SEED, sequence=case.parent)
    asked = replace(
        brief(parent, case.direction, case.effort),
        rules=lambda plan: violations(plan, case.parent, case.direction, case.effort),
    )
    answer = proposal_of(case)
    model = played(ModelProposer, *[answer] * 3)
    if not is_legal(case) or repeats_the_parent(case):
        with pytest.raises(NotUsable):
            model.role.propose(asked)
        return
    plan: PlanDraft = model.role.propose(asked)
    assert broken(case, plan) == []
    assert [(p.scenario, p.skill, p.tool) for p in plan.after.pairs] == [pair for pair, _ in layout(case)]


def repeats_the_parent(case: Case) -> bool:
    """An inserted pair that the sequence has already is no step of its own."""
    known = {(pair.scenario, pair.skill, pair.tool) for pair in case.parent.pairs}
    return any(edit.inserts and edit.content in known for edit in case.edits)


def proposal_of(case: Case) -> dict[str, object]:
    keys = ("", *case.parent.keys())
    edits = [
        {
            "kind": "insert" if edit.inserts else "replace",
            "key": "" if edit.inserts else keys[edit.at + 1],
            "after": keys[edit.at] if edit.inserts else "",
            **dict(zip(("scenario", "skill", "tool"), edit.content, strict=True)),
            "target": "",
        }
        for edit in case.edits
    ]
    observed = [{"scenario": "plain file", "skill": "read", "tool": "awk"}]
    words = {"summary": "a plan", "rationale": "harder", "nothing": ""}
    return json.loads(json.dumps({"observed": observed, "edits": edits, **words}))  # type: ignore[no-any-return]
