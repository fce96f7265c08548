"""plan_review: the rules of edits and levers first, then the rubric, criterion by criterion."""

from __future__ import annotations

from dataclasses import replace

from agents.plan import CriterionVerdict, Judgement, Verdict
from agents.roles import over
from lineages.growth.briefs import brief, rules
from lineages.growth.models import Attempt, Evolution, Plan
from lineages.growth.work import Answered, Fault, Work, close, store_review


def run(work: Work) -> None:
    """Ends in `building`, in `plan_approval` where a person decides, or in `drafting` for the next round."""
    attempt = work.attempt()
    plan = attempt.plan if attempt else None
    if attempt is None or plan is None:
        raise Fault("there is no plan to review")
    illegal = _illegal(plan, work)
    if illegal:
        with work.lease.writing():
            store_review(illegal, role="rules", reviewer="rules of edits and levers", call=None, plan=plan)
            work.move(Evolution.Status.DRAFTING, reason=illegal.failures[0].explanation)
        return
    answered = _review(work, attempt, plan)
    judgement = answered.value
    with work.lease.writing():
        call = answered.save(attempt)
        if judgement is None:
            close(attempt, Attempt.Outcome.REFUSED, f"the plan reviewer refused: {answered.refusal}")
            work.move(Evolution.Status.DRAFTING, reason=answered.refusal)
            return
        # The model that answered, as in reviews of candidates; without one the author.
        reviewer = call.author if call else work.author.name
        store_review(judgement, role="plan_reviewer", reviewer=reviewer, call=call, plan=plan)
        work.move(_next(work, judgement))


def _illegal(plan: Plan, work: Work) -> Judgement | None:
    """What the rules say against a plan, before anybody is asked."""
    verdicts = [
        CriterionVerdict(criterion=name, verdict=Verdict.FAIL, explanation=text)
        for name, text in rules(work, plan.attempt).broken(plan.draft)
    ]
    return Judgement(verdicts=tuple(verdicts)) if verdicts else None


def _review(work: Work, attempt: Attempt, plan: Plan) -> Answered[Judgement]:
    handed = brief(work, attempt)
    earlier = tuple((draft, judgement) for draft, judgement in handed.history if draft != plan.draft)
    handed = replace(handed, history=earlier)
    return work.ask(
        "plan_reviewer",
        lambda line: over(work.author.plan_reviewer, line).review(handed, plan.draft),
        attempt=attempt,
    )


def _next(work: Work, judgement: Judgement) -> Evolution.Status:
    if not judgement.accepted:
        return Evolution.Status.DRAFTING
    return Evolution.Status.PLAN_APPROVAL if work.recipe.approves_plans else Evolution.Status.BUILDING
