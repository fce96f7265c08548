"""Real plans and environments without a database: the offline author grows them from the bundled seeds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agents.offline.author import offline_author
from agents.plan import Binding, Composition, Direction, Effort, Judgement, PlanDraft, Sequence
from agents.roles import Brief, BuildOrder, NothingToPropose
from sandboxes.task import Task

OFFLINE = offline_author()
RNG_SEED = "review-bench"
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Grown:
    """A task with what a lineage carries beside it. `plan` is None for a seed."""

    name: str
    task: Task
    sequence: Sequence
    composition: Composition
    generation: int = 0
    plan: PlanDraft | None = None
    bindings: tuple[Binding, ...] = ()


@dataclass(frozen=True, slots=True)
class Planned:
    """An accepted plan and what its reviewer was told."""

    parent: Grown
    brief: Brief
    plan: PlanDraft


def seed(name: str, task: Task) -> Grown:
    return Grown(name, task, OFFLINE.extractor.extract(task), Composition())


def brief_of(parent: Grown, direction: Direction, effort: Effort) -> Brief:
    """What is asked for; every command is there."""
    return Brief(
        task=parent.task,
        sequence=parent.sequence,
        composition=parent.composition,
        direction=direction,
        effort=effort,
        generation=parent.generation + 1,
        rng_seed=RNG_SEED,
        probe=frozenset,
    )


def planned(parent: Grown, direction: Direction, effort: Effort) -> Planned | None:
    """What proposer and reviewer agree on in this direction; None where they do not."""
    brief = brief_of(parent, direction, effort)
    history: tuple[tuple[PlanDraft, Judgement | None], ...] = ()
    for _ in range(ROUNDS):
        try:
            plan = OFFLINE.proposer.propose(replace(brief, history=history))
        except NothingToPropose:
            return None
        judgement = OFFLINE.plan_reviewer.review(replace(brief, history=history), plan)
        if judgement.accepted:
            return Planned(parent, brief, plan)
        history += ((plan, judgement),)
    return None


def built(planned_: Planned) -> Grown:
    """The child of a plan. Raises `CannotBuild`."""
    parent, plan = planned_.parent, planned_.plan
    generation = parent.generation + 1
    made = OFFLINE.modifier.build(BuildOrder(parent.task, parent.composition, plan, generation, RNG_SEED))
    return Grown(
        f"{parent.name.partition(':')[0]}:g{generation}",
        parent.task.replace(made.changes),
        plan.after,
        made.composition,
        generation,
        plan,
        made.bindings,
    )
