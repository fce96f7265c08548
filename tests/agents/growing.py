"""Plans and children made by the offline author, as the loops would ask for them, without a database."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from agents.authors import author
from agents.offline.drafting import Choice, draft
from agents.offline.families import families
from agents.offline.objects import subjects
from agents.plan import Composition, Direction, Effort, Judgement, PlanDraft, Sequence
from agents.roles import Brief, BuildOrder, Built, NothingToPropose, Probe
from sandboxes.task import Task

OFFLINE = author("offline")
DESK = "/app/handover"


@dataclass(frozen=True)
class Rewards:
    oracle: float | None
    nop: float | None
    without: tuple[float | None, ...]
    seed: float | None
    output: str

    def assert_only_the_oracle_passes(self) -> None:
        assert self.oracle == 1, self.output
        assert (self.nop, self.seed) == (0, 0)
        assert set(self.without) == {0}


@dataclass(frozen=True)
class Grown:
    """A task with what a lineage carries beside it."""

    task: Task
    sequence: Sequence
    composition: Composition
    generation: int = 0

    @classmethod
    def seed(cls, task: Task) -> Grown:
        return cls(task, OFFLINE.extractor.extract(task), Composition())


def everything(tools: tuple[str, ...]) -> frozenset[str]:
    return frozenset(tools)


def brief(
    parent: Grown,
    direction: Direction = Direction.SCENARIO,
    effort: Effort = Effort.LOW,
    *,
    history: tuple[tuple[PlanDraft, Judgement | None], ...] = (),
    probe: Probe = everything,
    rng_seed: str = "test",
) -> Brief:
    return Brief(
        task=parent.task,
        sequence=parent.sequence,
        composition=parent.composition,
        direction=direction,
        effort=effort,
        generation=parent.generation + 1,
        rng_seed=rng_seed,
        probe=probe,
        history=history,
    )


def plan_of(parent: Grown, operator: str, variant: str, path: str, effort: Effort = Effort.LOW) -> PlanDraft:
    """The plan of one choice."""
    found = families()[operator]
    subject = next(
        subject
        for subject in subjects(parent.task, parent.sequence, parent.composition)
        if subject.path == path and not found.refusal(subject)
    )
    asked = brief(parent, found.direction, effort)
    return draft(asked, [Choice(found, found.variant(variant), subject)], DESK)


def order(parent: Grown, plan: PlanDraft, rng_seed: str = "test") -> BuildOrder:
    return BuildOrder(parent.task, parent.composition, plan, parent.generation + 1, rng_seed)


def built(parent: Grown, plan: PlanDraft, rng_seed: str = "test") -> tuple[Grown, Built]:
    made = OFFLINE.modifier.build(order(parent, plan, rng_seed))
    child = Grown(parent.task.replace(made.changes), plan.after, made.composition, parent.generation + 1)
    return child, made


def next_plan(parent: Grown, effort: Effort, rng_seed: str, rounds: int = 3) -> PlanDraft | None:
    """The first accepted plan over the three directions in random order; None where all fail."""
    directions = list(Direction)
    Random(f"{rng_seed}/{parent.generation}").shuffle(directions)
    for direction in directions:
        plan = accepted(parent, direction, effort, rng_seed, rounds)
        if plan is not None:
            return plan
    return None


def accepted(
    parent: Grown, direction: Direction, effort: Effort, rng_seed: str = "test", rounds: int = 3
) -> PlanDraft | None:
    """What proposer and reviewer agree on in one direction."""
    history: tuple[tuple[PlanDraft, Judgement | None], ...] = ()
    for _ in range(rounds):
        asked = brief(parent, direction, effort, history=history, rng_seed=rng_seed)
        try:
            plan = OFFLINE.proposer.propose(asked)
        except NothingToPropose:
            return None
        judgement = OFFLINE.plan_reviewer.review(asked, plan)
        if judgement.accepted:
            return plan
        history += ((plan, judgement),)
    return None
