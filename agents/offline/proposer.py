"""The offline proposer: draws operators and objects by the seeded RNG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from random import Random

from agents.offline.compose import without_history
from agents.offline.drafting import Choice, draft
from agents.offline.families import families
from agents.offline.objects import subjects
from agents.offline.reading import desk, read_task
from agents.offline.rules import RULES, broken, first_reason, not_harder, too_deep, used_up
from agents.plan import Effort, PlanDraft
from agents.roles import Brief, NothingToPropose

COUNTS = {Effort.LOW: (1,), Effort.HIGH: (1, 2), Effort.MAX: (1, 2, 3)}
TRIES = 60
ALSO = {"levers": "harder"}
"""What the loop's own rules call a criterion of ours."""
UNTAUGHT = frozenset({"specific"})
"""Criteria that no single choice can fail."""
Signature = frozenset[tuple[str, str, str]]


class OfflineProposer:
    """An `agents.roles.Proposer`.

    The first draft of a direction heeds what an operator can build and whether its lever moves; it does not
    probe the image, nor look back at the last generation. Each rejection teaches it the rules behind the
    criteria that failed; a second one teaches it all.
    It never proposes again what its history holds.
    """

    def propose(self, brief: Brief) -> PlanDraft:
        """Raises `NothingToPropose` with the commonest reasons."""
        orphan = without_history(brief.task, brief.composition)
        if orphan:
            raise NothingToPropose(orphan)
        brief = replace(brief, probe=cache(brief.probe))
        rng = Random(f"{brief.rng_seed}/{brief.generation}/{brief.direction}/{len(brief.history)}")
        reasons: Counter[str] = Counter()
        choices = list(_possible(brief, reasons))
        rng.shuffle(choices)
        # Operators that the lineage has not used yet come first, so that families do not run out early.
        spent = Counter(use.operator for use in brief.composition.uses)
        choices.sort(key=lambda choice: spent[choice.operator.name])
        plan = _plan(brief, choices, rng)
        if plan is None:
            raise NothingToPropose(_why(brief, choices, reasons))
        return plan


def _possible(brief: Brief, reasons: Counter[str]) -> Iterator[Choice]:
    learnt = _learnt(brief)
    objects = subjects(brief.task, brief.sequence, brief.composition)
    for operator in families().values():
        for subject in objects if operator.direction is brief.direction else ():
            for variant in operator.variants:
                choice = Choice(operator, variant, subject)
                why_not = _why_not(brief, choice, learnt)
                reasons[why_not] += 1
                if not why_not:
                    yield choice


def _why_not(brief: Brief, choice: Choice, learnt: list[str]) -> str:
    rules = (used_up, too_deep, not_harder)
    first = choice.operator.refusal(choice.subject) or first_reason(rules, brief, choice)
    return first or next((reason for key in learnt if (reason := broken(brief, choice, key))), "")


def _learnt(brief: Brief) -> list[str]:
    """The criteria whose rules are known by now; a criterion of somebody else's teaches all of them."""
    judgements = [judgement for _, judgement in brief.history if judgement is not None]
    named = [
        ALSO.get(failure.criterion, failure.criterion) for each in judgements for failure in each.failures
    ]
    return list(RULES) if len(brief.history) > 1 or not set(named) <= {*RULES, *UNTAUGHT} else named


def _plan(brief: Brief, choices: list[Choice], rng: Random) -> PlanDraft | None:
    folder = desk(read_task(brief.task).workdir)
    seen = {signature(plan) for plan, _ in brief.history}
    for count in sorted(COUNTS[brief.effort], key=lambda _: rng.random()) + [1]:
        for picked in _picks(choices, count):
            plan = draft(brief, picked, folder)
            if signature(plan) not in seen and (brief.effort is not Effort.HIGH or plan.is_span):
                return plan
    return None


def _picks(choices: list[Choice], count: int) -> Iterator[list[Choice]]:
    """Sets of compatible choices: each start in turn, filled up with what goes with it."""
    for at, first in enumerate(choices[:TRIES] if count > 1 else choices):
        if count == 1:
            yield [first]
            continue
        rest = [choice for choice in choices[at + 1 :] if _goes_with(choice, [first])]
        for second in rest:
            picked = [first, second]
            third = next((choice for choice in rest if _goes_with(choice, picked)), None)
            if count == 2 or third is not None:
                yield picked if count == 2 or third is None else [*picked, third]


def _goes_with(choice: Choice, others: list[Choice]) -> bool:
    """Different operators on different objects, and no pair replaced twice."""
    return all(
        choice.operator.name != other.operator.name
        and choice.subject.path != other.subject.path
        and not (choice.replaces and choice.subject.pair == other.subject.pair)
        for other in others
    )


def signature(plan: PlanDraft) -> Signature:
    return frozenset((change.operator, change.variant, change.subject) for change in plan.changes)


def _why(brief: Brief, choices: list[Choice], reasons: Counter[str]) -> str:
    if choices:
        return f"every plan of direction {brief.direction} that is possible was turned down"
    common = "; ".join(reason for reason, _ in reasons.most_common(3))
    why = common or "the task has no objects"
    return f"no operator of direction {brief.direction} has an object left: {why}"
