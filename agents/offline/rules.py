"""What a single choice may not be. The reviewer holds plans to it; the proposer heeds what it was told.

Each rule is a function of the brief and one choice that returns why not, as half a sentence, or "".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agents.offline.compose import begun, rendered, word_cap
from agents.offline.drafting import Choice
from agents.offline.families import families
from agents.offline.objects import MAX_DEPTH, MAX_USES
from agents.offline.vocabulary import rarity
from agents.plan import Composition, Direction, PlanDraft, Requirement
from agents.roles import Brief

Rule = Callable[[Brief, Choice], str]


def used_up(brief: Brief, choice: Choice) -> str:
    """At most two uses of an operator in a lineage, in different shapes, on different objects."""
    before = [use for use in brief.composition.uses if use.operator == choice.operator.name]
    if len(before) >= MAX_USES:
        return f"{choice.operator.name} was used {MAX_USES} times already in this lineage"
    if any(use.subject == choice.subject.path for use in before):
        return f"{choice.operator.name} was already used on {choice.subject.path}"
    if any(use.variant == choice.variant.name for use in before):
        return f"{choice.operator.name} was already used in the shape {choice.variant.name}"
    return ""


def too_deep(brief: Brief, choice: Choice) -> str:
    if choice.subject.depth >= MAX_DEPTH:
        return f"{MAX_DEPTH} obstacles stand before {choice.subject.path} already"
    return ""


def repeats_last(brief: Brief, choice: Choice) -> str:
    """Consecutive generations use different operators on different objects."""
    last = [use for use in brief.composition.uses if use.generation == brief.generation - 1]
    if any(use.operator == choice.operator.name for use in last):
        return f"{choice.operator.name} was used in the last generation"
    if any(use.subject == choice.subject.path for use in last):
        return f"{choice.subject.path} was worked on in the last generation"
    return ""


def missing_tools(brief: Brief, choice: Choice) -> str:
    # Always the same question, so that one look into the image answers it for all operators.
    every = tuple(sorted(frozenset[str]().union(*(operator.tools for operator in families().values()))))
    missing = sorted(choice.operator.tools - brief.probe(every))
    return f"the parent's image has no {', '.join(missing)}" if missing else ""


def not_harder(brief: Brief, choice: Choice) -> str:
    """What is new must be new to the sequence, and its tool no more common than the one it replaces."""
    label, pairs = choice.variant.label, brief.sequence.pairs
    if choice.operator.direction is Direction.SCENARIO:
        return (
            "the sequence has this scenario already" if any(pair.scenario == label for pair in pairs) else ""
        )
    if any(pair.skill == label for pair in pairs):
        return "the sequence has this skill already"
    old = next((pair for pair in pairs if pair.key == choice.subject.pair), None)
    if choice.replaces and old is not None and rarity(choice.variant.tool) < rarity(old.tool):
        return f"{choice.variant.tool} is a more common tool than {old.tool}"
    return ""


RULES: Mapping[str, tuple[Rule, ...]] = {
    "solvable": (missing_tools,),
    "harder": (not_harder,),
    "non_redundant": (used_up, repeats_last),
    "bounded": (too_deep,),
}
"""By the criterion of the plan rubric that they serve."""


def broken(brief: Brief, choice: Choice, criterion: str) -> str:
    """Why the choice fails a criterion, or ""."""
    return next((reason for rule in RULES.get(criterion, ()) if (reason := rule(brief, choice))), "")


def words_over_cap(brief: Brief, plan: PlanDraft, texts: list[str]) -> int:
    """By how many words the instruction would be over its cap; at most 0 where it fits."""
    base = brief.composition if brief.composition.seed_instruction else begun(brief.task)
    added = tuple(
        Requirement(key=change.pair.key, text=text) for change, text in zip(plan.changes, texts, strict=True)
    )
    whole: Composition = base.model_copy(update={"requirements": (*base.requirements, *added)})
    return len(rendered(whole).split()) - word_cap(whole)
