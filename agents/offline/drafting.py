"""From choices of operator, variant and object to a plan: the two sequences and the edits between them."""

from __future__ import annotations

from collections.abc import Sequence as Ordered
from dataclasses import dataclass

from agents.offline.operator import Operator, Site, Subject, Variant
from agents.plan import Change, Direction, PlanDraft, Sequence
from agents.roles import Brief


@dataclass(frozen=True, slots=True)
class Choice:
    """One edit that could be made."""

    operator: Operator
    variant: Variant
    subject: Subject

    @property
    def replaces(self) -> bool:
        return self.operator.direction is not Direction.LENGTH


def draft(brief: Brief, choices: Ordered[Choice], desk: str) -> PlanDraft:
    """The plan that makes these choices, in this order."""
    after, changes = brief.sequence, []
    for number, choice in enumerate(choices, start=len(brief.composition.uses) + 1):
        site = Site(number, choice.operator.name, desk)
        after, change = _edited(after, choice, site)
        changes.append(change)
    names = " and ".join(f"{choice.variant.label} ({choice.subject.path})" for choice in choices)
    return PlanDraft(
        direction=brief.direction,
        effort=brief.effort,
        before=brief.sequence,
        after=after,
        changes=tuple(changes),
        summary=f"{_LEAD[brief.direction]}: {names}.",
        rationale=" ".join(
            _reason(brief, choice, change) for choice, change in zip(choices, changes, strict=True)
        ),
    )


_LEAD = {
    Direction.SCENARIO: "Work in a rarer scenario",
    Direction.SKILL: "Need a rarer skill",
    Direction.LENGTH: "Make the path longer",
}


def _edited(sequence: Sequence, choice: Choice, site: Site) -> tuple[Sequence, Change]:
    pairs = list(sequence.pairs)
    old = next((pair for pair in pairs if pair.key == choice.subject.pair), None)
    new = choice.operator.pair(old if choice.replaces else None, choice.subject, choice.variant, site)
    if choice.replaces and old is not None:
        pairs[pairs.index(old)] = new
    elif old is not None:
        pairs.insert(pairs.index(old), new)
    else:
        pairs.append(new)
    change = Change(
        kind="replace" if choice.replaces else "insert",
        pair=new,
        operator=choice.operator.name,
        variant=choice.variant.name,
        subject=choice.subject.path,
    )
    return Sequence(pairs=tuple(pairs)), change


def _reason(brief: Brief, choice: Choice, change: Change) -> str:
    old = next((pair for pair in brief.sequence.pairs if pair.key == change.pair.key), None)
    if old is None:
        place = "before" if choice.operator.before else "after"
        new = f"({change.pair.skill}, {change.pair.tool})"
        return f"A new pair {new} {place} {choice.subject.path} depends on it."
    if brief.direction is Direction.SCENARIO:
        return f"{old.target}: “{old.scenario}” becomes “{change.pair.scenario}”, with the same skill on top."
    return f"{old.target}: “{old.skill}” ({old.tool}) becomes “{change.pair.skill}” ({change.pair.tool})."
