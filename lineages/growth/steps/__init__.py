"""One file for each status that is worked on; `STEPS` maps the status to it.

A step reads under the lease, does one thing, stores it under the lease and ends with a move. Run again after
a crash it finds what is stored and fills the gap, so a doubled message or a dead worker doubles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lineages.growth.models import Evolution
from lineages.growth.steps import building, drafting, plan_review, repairing, verifying
from lineages.growth.work import Work
from lineages.messages import AGENTS, SANDBOXES


@dataclass(frozen=True)
class Step:
    """`queue`: `sandboxes` if the step may open one, a reviewer's probe included; `agents` has no engine."""

    run: Callable[[Work], None]
    queue: str


STEPS: Mapping[str, Step] = {
    Evolution.Status.DRAFTING: Step(drafting.run, SANDBOXES),
    Evolution.Status.PLAN_REVIEW: Step(plan_review.run, SANDBOXES),
    Evolution.Status.BUILDING: Step(building.run, AGENTS),
    Evolution.Status.VERIFYING: Step(verifying.run, SANDBOXES),
    Evolution.Status.REPAIRING: Step(repairing.run, AGENTS),
}
