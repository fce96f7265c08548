"""Lineages of fifteen: a sample of what `make soak` runs whole (docs/soak.md)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from agents.plan import Effort, PlanDraft
from agents.roles import Built
from agents.rubrics import ENVIRONMENT_RUBRIC
from lineages.gates import profile
from lineages.gates.base import Subject
from sandboxes.backends import open_backend
from sandboxes.base import Backend, Limits
from sandboxes.intake import read_folder
from tests.agents.growing import OFFLINE, Grown, built, next_plan

SEEDS = Path(__file__).resolve().parents[2] / "seeds"
LIMITS = Limits(memory_mb=1024)
DEPTH = 15


@cache
def lineage(seed: str) -> tuple[tuple[Grown, PlanDraft, Built, Grown], ...]:
    """Parent, plan, what was built and the child, for each generation that the seed grows at high effort."""
    grown = Grown.seed(read_folder(SEEDS / seed).task)
    steps = list[tuple[Grown, PlanDraft, Built, Grown]]()
    while len(steps) < DEPTH and (plan := next_plan(grown, Effort.HIGH, "depth")):
        child, made = built(grown, plan)
        steps.append((grown, plan, made, child))
        grown = child
    return tuple(steps)


@pytest.fixture
def docker(tmp_path: Path) -> Iterator[Backend]:
    address = os.environ.get("DOCKER_HOST", "")
    backend = open_backend("docker", instance="tests-depth", folder=tmp_path, docker_host=address)
    yield backend
    backend.trim(keep=0, floor=0, unused_for=0)


# Each seed and each depth once; the other pairs in a soak run.
SAMPLE = (("log-forensics", 1), ("text-recovery", 8), ("log-forensics", 15))
OTHERS = (("text-recovery", 1), ("log-forensics", 8), ("text-recovery", 15))


@pytest.mark.docker
@pytest.mark.parametrize(
    ("seed", "generation"), [*SAMPLE, *(pytest.param(*pair, marks=pytest.mark.soak) for pair in OTHERS)]
)
def test_every_gate_passes_in_docker_near_the_seed_and_far_from_it(
    seed: str, generation: int, docker: Backend
) -> None:
    steps = lineage(seed)
    assert len(steps) == DEPTH
    parent, plan, made, child = steps[generation - 1]
    subject = Subject(
        task=child.task,
        backend=docker,
        limits=LIMITS,
        labels={"test": "depth"},
        judge=OFFLINE.rubric_verifier,
        judge_name=OFFLINE.name,
        rubric=ENVIRONMENT_RUBRIC.version,
        parent=parent.task,
        plan=plan,
        bindings=made.bindings,
    )
    said = {gate.name: gate.check(subject) for gate in profile("standard")}
    assert {name: outcome.summary for name, outcome in said.items() if not outcome.result.accepted} == {}
