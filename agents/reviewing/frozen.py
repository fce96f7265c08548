"""The frozen set: plans and environments grown from the bundled seeds, and copies with one fault each."""

from __future__ import annotations

from collections.abc import Mapping

from agents.plan import Direction, Effort
from agents.reviewing import environment_faults, plan_faults
from agents.reviewing.cases import Case, EnvironmentCase, Label, PlanCase
from agents.reviewing.growing import Grown, Planned, built, planned, seed
from agents.rubrics import ENVIRONMENT_RUBRIC, PLAN_RUBRIC
from sandboxes.task import Task

FROZEN = "1328a85136c53414e7dca0166720462bc3097cfb111746c206004891ba32a5ad"
"""`digest_of` the set. It changes with the seeds, the offline author and the plantings, and then runs of
before are not comparable with runs of after: each stores the digest of its own."""
SEEDS_JUDGED = 2
TURNS = tuple(Direction)


def frozen(seeds: Mapping[str, Task]) -> tuple[Case, ...]:
    """All cases, plans first, sound ones before faulty ones. Raises `LookupError` where a seed gives none."""
    roots = [seed(name, seeds[name]) for name in sorted(seeds)]
    plans = [_first(root, number) for number, root in enumerate(roots)]
    children = [built(plan) for plan in plans]
    later = [_first(child, number + 1) for number, child in enumerate(children)]
    plans += later
    children += [built(plan) for plan in later[: len(later) // 2]]
    return (
        *(_sound_plan(each) for each in plans),
        *plan_faults.planted_in(plans),
        *(_sound_environment(each) for each in (*roots[:SEEDS_JUDGED], *children)),
        *environment_faults.planted_in(children),
    )


def _first(parent: Grown, turn: int) -> Planned:
    """The plan of the first direction that gives one, beginning with that whose turn it is."""
    effort = Effort.HIGH if turn % 2 else Effort.LOW
    turned = [TURNS[(turn + step) % len(TURNS)] for step in range(len(TURNS))]
    for direction in turned:
        plan = planned(parent, direction, effort)
        if plan is not None:
            return plan
    raise LookupError(f"nothing grows from {parent.name}")


def _sound_plan(one: Planned) -> PlanCase:
    label = Label("sound", passes=PLAN_RUBRIC.keys)
    return PlanCase(f"{one.parent.name} {one.brief.direction}", label, one.brief, one.plan)


def _sound_environment(one: Grown) -> EnvironmentCase:
    label = Label("sound", passes=ENVIRONMENT_RUBRIC.keys)
    return EnvironmentCase(one.name, label, one.task, one.plan, one.bindings)
