"""plan_review: the rules of edits first, then the rubric, criterion by criterion."""

from __future__ import annotations

from dataclasses import replace

from agents.plan import CriterionVerdict, Judgement, Verdict
from lineages import edits
from lineages.growth.briefs import brief
from lineages.growth.models import Attempt, Evolution, Plan
from lineages.growth.work import Answered, Fault, Work, store_review


def run(work: Work) -> None:
    """Ends in `building`, in `plan_approval` where a person decides, or in `drafting` for the next round."""
    attempt = work.attempt()
    plan = attempt.plan if attempt else None
    if attempt is None or plan is None:
        raise Fault("there is no plan to review")
    illegal = _illegal(plan, work)
    if illegal:
        with work.lease.writing():
            store_review(illegal, role="edits", reviewer="rules of edits", call=None, plan=plan)
            work.move(Evolution.Status.DRAFTING, reason=illegal.failures[0].explanation)
        return
    answered = _review(work, attempt, plan)
    judgement = answered.value
    if judgement is None:
        raise Fault(f"the plan reviewer gave no judgement: {answered.refusal}")
    with work.lease.writing():
        call = answered.save(attempt)
        store_review(judgement, role="plan_reviewer", reviewer=work.author.name, call=call, plan=plan)
        work.move(_next(work, judgement))


def _illegal(plan: Plan, work: Work) -> Judgement | None:
    broken = edits.violations(plan.draft, work.evolution.parent.sequence)
    if not broken:
        return None
    return Judgement(
        verdicts=tuple(
            CriterionVerdict(criterion="edits", verdict=Verdict.FAIL, explanation=rule) for rule in broken
        )
    )


def _review(work: Work, attempt: Attempt, plan: Plan) -> Answered[Judgement]:
    handed = brief(work, attempt)
    earlier = tuple((draft, judgement) for draft, judgement in handed.history if draft != plan.draft)
    handed = replace(handed, history=earlier)
    return work.ask(
        "plan_reviewer",
        lambda: work.author.plan_reviewer.review(handed, plan.draft),
        about=handed.task.digest,
    )


def _next(work: Work, judgement: Judgement) -> Evolution.Status:
    if not judgement.accepted:
        return Evolution.Status.DRAFTING
    return Evolution.Status.PLAN_APPROVAL if work.recipe.approves_plans else Evolution.Status.BUILDING
