"""A labelled plan or environment, and the digest that a set of them is known by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from agents.plan import Binding, Judgement, PlanDraft
from agents.roles import Author, Brief
from agents.rubrics import Rubric
from sandboxes.task import Task

ANY = "any"
"""In place of a criterion: something is wrong, and nobody said what."""


@dataclass(frozen=True, slots=True)
class Label:
    """What is known of a case: the criterion that it `fails` ("" for none), and those that it `passes`.

    Of a faulty case nothing is said about the other criteria, since one fault may well break two.
    `by_person` says who knows: a person who overruled a reviewer, or the code that planted the fault.
    """

    kind: str
    fails: str = ""
    passes: tuple[str, ...] = ()
    by_person: bool = False


@dataclass(frozen=True, slots=True)
class PlanCase:
    """`absent` are the commands that the parent's image does not have."""

    name: str
    label: Label
    brief: Brief
    plan: PlanDraft
    absent: frozenset[str] = frozenset()
    rubric: str = "plan"

    def judged_by(self, author: Author, rubric: Rubric) -> Judgement:
        brief = replace(self.brief, rubric=rubric, probe=lambda tools: frozenset(tools) - self.absent)
        return author.plan_reviewer.review(brief, self.plan)

    @property
    def facts(self) -> list[str]:
        """All that the reviewer is told, beside the rubric."""
        brief = self.brief
        history = [
            [plan.model_dump_json(), said.model_dump_json() if said else ""] for plan, said in brief.history
        ]
        return [
            brief.task.digest,
            brief.sequence.model_dump_json(),
            brief.composition.model_dump_json(),
            f"{brief.direction} {brief.effort} {brief.generation} {brief.rng_seed}",
            json.dumps([history, brief.wishes, sorted(self.absent)]),
            self.plan.model_dump_json(),
        ]


@dataclass(frozen=True, slots=True)
class EnvironmentCase:
    """A task as the rubric verifier sees it; `plan` is None for a seed."""

    name: str
    label: Label
    task: Task
    plan: PlanDraft | None = None
    bindings: tuple[Binding, ...] = ()
    rubric: str = "environment"

    def judged_by(self, author: Author, rubric: Rubric) -> Judgement:
        return author.rubric_verifier.judge(self.task, self.plan, self.bindings, rubric)

    @property
    def facts(self) -> list[str]:
        """All that the verifier is told, beside the rubric."""
        plan = self.plan.model_dump_json() if self.plan else ""
        return [self.task.digest, plan, *(binding.model_dump_json() for binding in self.bindings)]


Case = PlanCase | EnvironmentCase


def digest_of(cases: Iterable[Case]) -> str:
    """Hex SHA-256 over all cases with their labels."""
    lines = [
        json.dumps([each.rubric, each.name, each.label.kind, each.label.fails, each.label.passes, each.facts])
        for each in cases
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
