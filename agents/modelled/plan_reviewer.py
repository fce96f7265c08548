"""The plan reviewer: a verdict on every criterion of the plan rubric, before anything is built."""

from __future__ import annotations

from dataclasses import dataclass

from agents.modelled.drafting import command
from agents.modelled.judging import Case, judge
from agents.modelled.role import Modelled
from agents.modelled.showing import (
    NONE,
    pair_words,
    plan_words,
    room_for,
    show_history,
    show_pairs,
    show_plan,
    show_task,
    show_wishes,
)
from agents.models import Role
from agents.plan import Judgement, PlanDraft
from agents.quoting import quoted
from agents.roles import Brief


@dataclass(frozen=True)
class ModelPlanReviewer(Modelled):
    """An `agents.roles.PlanReviewer`."""

    def review(self, brief: Brief, plan: PlanDraft) -> Judgement:
        """Raises `agents.line.ModelTrouble`."""
        shown = show_task(brief.task, room_for(self.spec))
        values = {
            "direction": brief.direction,
            "effort": brief.effort,
            "plan": show_plan(plan),
            "pairs": show_pairs(brief.sequence),
            "task": shown.text,
            "tools": _tools(brief, plan),
            "history": show_history(brief.history),
            "wishes": show_wishes(brief.wishes),
        }
        sequence = "\n".join(pair_words(pair) for pair in brief.sequence.pairs)
        return judge(
            self,
            Case(
                role=Role.PLAN_REVIEWER,
                subject=f"{brief.direction} round {len(brief.history)}",
                form="plan_review",
                values=values,
                texts=(plan_words(plan), sequence, *shown.texts),
                rubric=brief.rubric,
            ),
        )


def _tools(brief: Brief, plan: PlanDraft) -> str:
    """Which of the plan's commands the parent's image has: measured, where a judge could only guess."""
    named = tuple(sorted({change.pair.tool for change in plan.changes if command(change.pair.tool)}))
    there = brief.probe(named) if named else frozenset()
    lines = [f"{name}: {'there' if name in there else 'not there'}" for name in named]
    return quoted("commands", "\n".join(lines)) if lines else NONE
