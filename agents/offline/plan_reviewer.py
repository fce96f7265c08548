"""The offline plan reviewer: each criterion of the plan rubric as a rule that can say no."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

from agents.offline.drafting import Choice
from agents.offline.families import families
from agents.offline.objects import subjects
from agents.offline.operator import Site, Subject
from agents.offline.proposer import signature
from agents.offline.reading import desk, read_task
from agents.offline.rules import broken, words_over_cap
from agents.plan import Change, CriterionVerdict, Judgement, PlanDraft, Verdict
from agents.roles import Brief

Finding = tuple[str, str]
"""Why a criterion fails, and the words of the plan that show it. An empty reason is a pass."""
GOOD: Finding = ("", "")


class OfflinePlanReviewer:
    """An `agents.roles.PlanReviewer`, for plans that name operators; others fail on being specific."""

    def review(self, brief: Brief, plan: PlanDraft) -> Judgement:
        case = _Case(replace(brief, probe=cache(brief.probe)), plan)
        return Judgement(
            verdicts=tuple(
                _verdict(key, *CHECKS[key](case)) if key in CHECKS else DECIDED.get(key) or _unknown(key)
                for key in brief.rubric.keys
            )
        )


def _unknown(key: str) -> CriterionVerdict:
    return CriterionVerdict(
        criterion=key,
        verdict=Verdict.NOT_APPLICABLE,
        explanation="No rule of ours knows this criterion: a person or a model judges it.",
    )


def _verdict(key: str, reason: str, quote: str) -> CriterionVerdict:
    if not reason:
        return CriterionVerdict(
            criterion=key, verdict=Verdict.PASS, explanation="Nothing speaks against it.", quote=quote
        )
    return CriterionVerdict(
        criterion=key, verdict=Verdict.FAIL, explanation=f"{reason[0].upper()}{reason[1:]}.", quote=quote
    )


class _Case:
    """A plan with its brief, and the choices that its changes stand for."""

    def __init__(self, brief: Brief, plan: PlanDraft) -> None:
        self.brief, self.plan = brief, plan
        self.objects = subjects(brief.task, brief.sequence, brief.composition)
        self.choices = [self._choice(change) for change in plan.changes]

    def _choice(self, change: Change) -> Choice | str:
        operator = families().get(change.operator)
        if operator is None:
            return f"{change.operator or 'an empty name'} is no operator that is here"
        try:
            variant = operator.variant(change.variant)
        except KeyError:
            return f"{operator.name} has no variant {change.variant or 'without a name'}"
        found = [subject for subject in self.objects if subject.path == change.subject]
        refusals = [operator.refusal(subject) for subject in found]
        subject: Subject | None = next((one for one, no in zip(found, refusals, strict=True) if not no), None)
        if subject is None:
            why = refusals[0] if refusals else "it is no object"
            return f"{operator.name} cannot work on {change.subject or 'nothing'}: {why}"
        return Choice(operator, variant, subject)

    def known(self) -> list[tuple[Change, Choice]]:
        pairs = zip(self.plan.changes, self.choices, strict=True)
        return [(change, choice) for change, choice in pairs if isinstance(choice, Choice)]

    def by_rules(self, criterion: str) -> Finding:
        for change, choice in self.known():
            reason = broken(self.brief, choice, criterion)
            if reason:
                return reason, change.subject
        return GOOD


def _solvable(case: _Case) -> Finding:
    return case.by_rules("solvable")


def _specific(case: _Case) -> Finding:
    if not case.plan.changes:
        return "the plan changes nothing", case.plan.summary
    wrong = next((choice for choice in case.choices if isinstance(choice, str)), "")
    if wrong:
        return wrong, case.plan.summary
    keys = [change.pair.key for change in case.plan.changes]
    return ("one pair is changed twice", keys[0]) if len(set(keys)) < len(keys) else ("", case.plan.summary)


def _harder(case: _Case) -> Finding:
    return case.by_rules("harder")


def _non_redundant(case: _Case) -> Finding:
    mine = signature(case.plan)
    if any(signature(plan) == mine for plan, _ in case.brief.history):
        return "this plan was turned down before", case.plan.summary
    names = [change.operator for change in case.plan.changes if change.operator]
    if len(set(names)) < len(names):
        return "one operator is used twice in this plan", names[0]
    return case.by_rules("non_redundant")


def _bounded(case: _Case) -> Finding:
    found = case.by_rules("bounded")
    if found[0] or len(case.known()) < len(case.choices):
        return found
    folder = desk(read_task(case.brief.task).workdir)
    start = len(case.brief.composition.uses) + 1
    texts = [
        choice.operator.requirement(choice.subject, Site(number, choice.operator.name, folder))
        for number, (_, choice) in enumerate(case.known(), start=start)
    ]
    over = words_over_cap(case.brief, case.plan, texts)
    return (f"the instruction would be {over} words over its cap", case.plan.summary) if over > 0 else GOOD


CHECKS: Mapping[str, Callable[[_Case], Finding]] = {
    "solvable": _solvable,
    "specific": _specific,
    "harder": _harder,
    "non_redundant": _non_redundant,
    "bounded": _bounded,
}
DECIDED: Mapping[str, CriterionVerdict] = {
    key: CriterionVerdict(
        criterion=key, verdict=Verdict.NOT_APPLICABLE, explanation="The rules of edits decided this."
    )
    for key in ("direction", "effort", "goal_kept")
}
"""`lineages.edits` refuses a plan that breaks these before any reviewer sees it."""
