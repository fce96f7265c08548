"""The rubric verifier: a verdict on every criterion of the environment rubric, over the built files."""

from __future__ import annotations

from dataclasses import dataclass

from agents.modelled.judging import Case, judge
from agents.modelled.role import Modelled
from agents.modelled.showing import plan_words, room_for, show_bindings, show_plan, show_task
from agents.models import Role
from agents.plan import Binding, Judgement, PlanDraft
from agents.rubrics import ENVIRONMENT_RUBRIC, Rubric
from sandboxes.task import Task


@dataclass(frozen=True)
class ModelRubricVerifier(Modelled):
    """An `agents.roles.RubricVerifier`."""

    def judge(
        self,
        task: Task,
        plan: PlanDraft | None,
        bindings: tuple[Binding, ...],
        rubric: Rubric = ENVIRONMENT_RUBRIC,
    ) -> Judgement:
        """Raises `agents.line.ModelTrouble`."""
        shown = show_task(task, room_for(self.spec))
        values = {"plan": show_plan(plan), "bindings": show_bindings(bindings), "task": shown.text}
        return judge(
            self,
            Case(
                role=Role.RUBRIC_VERIFIER,
                subject="rubric",
                form="environment_review",
                values=values,
                texts=(*shown.texts, plan_words(plan) if plan else ""),
                rubric=rubric,
            ),
        )
