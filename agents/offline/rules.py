"""What a single choice may not be. The reviewer holds plans to it; the proposer heeds what it was told.

Each rule is a function of the brief and one choice that returns why not, as half a sentence, or "".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from agents.offline.compose import begun, rendered, word_cap
from agents.offline.drafting import Choice
from agents.offline.families import families
from agents.offline.objects import MAX_DEPTH, MAX_USES
from agents.offline.operator import Site
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
    """The declared lever has to move: D_T itself is not known on this floor, so this goes by what is common.

    A scenario that an edit put there is a rare one already, and a tool beyond the table no less rare than
    another; a length edit brings a pair that the sequence does not have.
    """
    if not choice.replaces:
        return _repeats_pair(brief, choice)
    old = next((pair for pair in brief.sequence.pairs if pair.key == choice.subject.pair), None)
    if old is None:
        return "there is no pair that it would replace"
    if choice.operator.direction is Direction.SCENARIO:
        plain = old.scenario.startswith("plain ")
        return "" if plain else f"“{old.scenario}” is no common scenario any more"
    rarer = rarity(choice.variant.tool) > rarity(old.tool)
    return "" if rarer else f"{choice.variant.tool} is no rarer a tool than {old.tool}"


def _repeats_pair(brief: Brief, choice: Choice) -> str:
    new = choice.operator.pair(None, choice.subject, choice.variant, Site(0, choice.operator.name, ""))
    same = any((pair.scenario, pair.tool) == (new.scenario, new.tool) for pair in brief.sequence.pairs)
    return f"the sequence has such a pair ({new.scenario}, {new.tool}) already" if same else ""


RULES: Mapping[str, tuple[Rule, ...]] = {
    "solvable": (missing_tools,),
    "harder": (not_harder,),
    "non_redundant": (used_up, repeats_last),
    "bounded": (too_deep,),
}
"""By the criterion of the plan rubric that they serve."""


def broken(brief: Brief, choice: Choice, criterion: str) -> str:
    """Why the choice fails a criterion, or ""."""
    return first_reason(RULES.get(criterion, ()), brief, choice)


def first_reason(rules: Iterable[Rule], brief: Brief, choice: Choice) -> str:
    """The first reason that one of the rules finds, or ""."""
    return next((reason for rule in rules if (reason := rule(brief, choice))), "")


def words_over_cap(brief: Brief, plan: PlanDraft, texts: list[str]) -> int:
    """By how many words the instruction would be over its cap; at most 0 where it fits."""
    base = brief.composition if brief.composition.seed_instruction else begun(brief.task)
    added = tuple(
        Requirement(key=change.pair.key, text=text) for change, text in zip(plan.changes, texts, strict=True)
    )
    whole: Composition = base.model_copy(update={"requirements": (*base.requirements, *added)})
    return len(rendered(whole).split()) - word_cap(whole)
