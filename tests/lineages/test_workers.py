"""Real Celery worker processes on a real Redis, killed with -9 in every state."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import redis
from django.conf import settings

from lineages.gates import profile
from lineages.growth.evolving import RecipeSettings, start
from lineages.growth.models import Candidate, Evolution, Plan, Review
from lineages.growth.nudge import nudge
from lineages.library.models import Audit, Environment, GateResult
from tests.workers import kill, stops_while, until, worker

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.redis,
    pytest.mark.lifecycle,
    pytest.mark.timeout(180),
]


@pytest.fixture(autouse=True)
def _empty_queues() -> Iterator[None]:
    """No message of one test is heard in another; unacknowledged ones are gone too."""
    yield
    broker = redis.Redis.from_url(os.environ["ENVEVO_TEST_REDIS_URL"])
    for key in broker.scan_iter(f"envevo-{settings.INSTANCE}-*"):
        broker.delete(key)


def begin(seed: Environment, generations: int = 1) -> Evolution:
    recipe = RecipeSettings(author="scripted-clumsy", directions=("length",), profile="paper")
    evolution = start(seed, recipe, generations=generations)
    nudge(evolution)
    return evolution


def status(evolution: Evolution) -> str:
    evolution.refresh_from_db()
    return evolution.status


def in_the_middle_of(evolution: Evolution, state: str) -> bool:
    return status(evolution) == state and bool(evolution.lease_token)


def assert_nothing_lost_or_doubled(evolution: Evolution) -> None:
    """One of each thing that one clumsy generation needs: two candidates, two audits beside the seed's."""
    assert evolution.status == "accepted", evolution.fault
    assert list(evolution.history().values_list("to_status", flat=True)) == [
        "plan_review", "building", "verifying", "repairing", "verifying", "accepted",
    ]  # fmt: skip
    assert evolution.attempts.count() == 1
    assert Plan.objects.count() == 1
    assert [each.n for each in Candidate.objects.all()] == [0, 1]
    assert Review.objects.filter(role="plan_reviewer").count() == 1
    assert Environment.objects.filter(generation=1).count() == 1
    audits = Audit.objects.exclude(status="error")
    assert audits.count() == 3
    assert not audits.filter(status="queued").exists()
    for audit in audits:
        gates = list(audit.results.values_list("gate", flat=True))
        assert sorted(gates) == sorted(gate.name for gate in profile("paper"))
    assert GateResult.objects.count() == 3 * len(profile("paper"))


def test_a_worker_grows_generations_from_a_nudge_alone(seed: Environment) -> None:
    evolution = begin(seed, generations=2)

    with worker(beat=False):
        until(lambda: Environment.objects.filter(generation=2).exists(), "generation 2")

    assert status(evolution) == "accepted"


@pytest.mark.parametrize("state", ["drafting", "plan_review", "building", "verifying", "repairing"])
def test_kill_9_in_any_state_loses_nothing_and_doubles_nothing(state: str, seed: Environment) -> None:
    evolution = begin(seed)

    with worker() as first:
        until(lambda: in_the_middle_of(evolution, state), f"a step in {state}", every=0.002)
        kill(first)
    assert status(evolution) == state, "a dead worker moves nothing"
    with worker():
        until(lambda: status(evolution) in Evolution.ENDED, "the end")

    assert_nothing_lost_or_doubled(evolution)


def test_a_message_redelivered_to_a_new_worker_beside_the_running_one_doubles_nothing(
    seed: Environment,
) -> None:
    evolution = begin(seed)

    with worker():
        until(lambda: in_the_middle_of(evolution, "verifying"), "a step in verifying")
        for _ in range(5):
            nudge(evolution)
        with worker():
            until(lambda: status(evolution) in Evolution.ENDED, "the end")

    assert_nothing_lost_or_doubled(evolution)


def test_work_whose_message_was_lost_is_found_by_the_sweep(seed: Environment) -> None:
    evolution = start(seed, RecipeSettings(author="scripted-clumsy", directions=("length",), profile="paper"))

    with worker():
        until(lambda: status(evolution) in Evolution.ENDED, "the end")

    assert_nothing_lost_or_doubled(evolution)


@pytest.mark.docker
def test_containers_of_a_killed_worker_are_swept(seed: Environment, engine: object) -> None:
    evolution = begin(seed)

    def ours() -> list[object]:
        return engine.containers.list(all=True, filters={"label": f"org.envevo.instance={settings.INSTANCE}"})  # type: ignore[attr-defined]

    with worker(ENVEVO_SANDBOX="docker") as first:
        until(
            lambda: in_the_middle_of(evolution, "verifying") and stops_while(first, lambda: bool(ours())),
            "a container",
            every=0.05,
        )
        kill(first)
    assert ours(), "the kill left a container behind"
    with worker(ENVEVO_SANDBOX="docker"):
        until(lambda: status(evolution) in Evolution.ENDED, "the end")
        until(lambda: not ours(), "no container left", every=0.2)

    assert_nothing_lost_or_doubled(evolution)
