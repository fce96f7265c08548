"""What a direction and an effort allow (paper, sections 3 and 4.1). Pure; no Django.

length: pairs are only inserted. scenario: a pair keeps its key, skill and tool, its scenario changes.
skill: a pair keeps its key and scenario, its skill changes. low: one changed pair. high: one contiguous
span of the child's sequence. max: any number, anywhere. Only implicit and owned pairs may be replaced,
since an extracted one belongs to the seed's own solution.
"""

from __future__ import annotations

from collections.abc import Iterator

from agents.plan import Change, Direction, Effort, Pair, PlanDraft, Sequence


def violations(plan: PlanDraft, parent: Sequence, direction: Direction, effort: Effort) -> list[str]:
    """Sentences, each naming one broken rule; an empty list means that the plan is a legal edit.

    `direction` and `effort` are what was asked for, which is what counts, whatever the plan says of itself.
    """
    return [
        *_wrong_claim(plan, direction, effort),
        *_wrong_base(plan, parent),
        *_wrong_result(plan),
        *_broken_direction(plan),
        *_broken_effort(plan),
    ]


def _wrong_claim(plan: PlanDraft, direction: Direction, effort: Effort) -> Iterator[str]:
    if plan.direction is not direction:
        yield f"a {direction} plan was asked for, not one of {plan.direction}"
    if plan.effort is not effort:
        yield f"the effort is {effort}, not {plan.effort}"


def _wrong_base(plan: PlanDraft, parent: Sequence) -> Iterator[str]:
    if plan.before != parent:
        yield "the plan starts from another sequence than its parent's"
    if not plan.changes:
        yield "the plan changes nothing"


def _wrong_result(plan: PlanDraft) -> Iterator[str]:
    """`after` must be `before` with exactly the declared changes."""
    keys = plan.after.keys()
    if len(set(keys)) != len(keys):
        yield "two pairs of the new sequence have the same key"
    before = {pair.key: pair for pair in plan.before.pairs}
    declared = {change.pair.key: change for change in plan.changes}
    if len(declared) != len(plan.changes):
        yield "one pair is changed twice"
    if [key for key in keys if key in before] != list(before):
        yield "pairs of the parent were removed or reordered"
    for pair in plan.after.pairs:
        expected = declared[pair.key].pair if pair.key in declared else before.get(pair.key)
        if pair != expected:
            yield f"pair {pair.key} is not what the parent or a declared change says"
    for key in declared.keys() - set(keys):
        yield f"the change of {key} is not in the new sequence"


def _broken_direction(plan: PlanDraft) -> Iterator[str]:
    before = {pair.key: pair for pair in plan.before.pairs}
    for change in plan.changes:
        yield from _RULES[plan.direction](change, before.get(change.pair.key))


def _length(change: Change, old: Pair | None) -> Iterator[str]:
    if change.kind != "insert" or old is not None:
        yield f"length only inserts pairs, but {change.pair.key} is replaced"


def _scenario(change: Change, old: Pair | None) -> Iterator[str]:
    yield from _replaces(change, old, "scenario")
    if old is None:
        return
    if (old.skill, old.tool) != (change.pair.skill, change.pair.tool):
        yield f"a scenario edit keeps the skill, but that of {old.key} changed"
    if old.scenario == change.pair.scenario:
        yield f"the scenario of {old.key} did not change"


def _skill(change: Change, old: Pair | None) -> Iterator[str]:
    yield from _replaces(change, old, "skill")
    if old is None:
        return
    if old.scenario != change.pair.scenario:
        yield f"a skill edit keeps the scenario, but that of {old.key} changed"
    if old.skill == change.pair.skill:
        yield f"the skill of {old.key} did not change"


def _replaces(change: Change, old: Pair | None, what: str) -> Iterator[str]:
    if change.kind != "replace" or old is None:
        yield f"a {what} edit replaces a pair of the parent, but {change.pair.key} is inserted"
    elif old.origin == "extracted":
        yield f"{old.key} belongs to the seed's own solution and cannot be replaced"


_RULES = {Direction.LENGTH: _length, Direction.SCENARIO: _scenario, Direction.SKILL: _skill}


def _broken_effort(plan: PlanDraft) -> Iterator[str]:
    if plan.effort is Effort.LOW and len(plan.changes) > 1:
        yield f"low effort changes one pair, the plan changes {len(plan.changes)}"
    if plan.effort is Effort.HIGH and not plan.is_span:
        yield "high effort changes one contiguous span, but unchanged pairs lie between the changes"
