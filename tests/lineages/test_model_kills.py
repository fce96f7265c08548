"""Workers that are killed with -9 while a model plays every role: nothing is lost, doubled or paid twice."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import redis
from django.conf import LazySettings
from django.db.models import Count, Max

from agents.models import book_of
from lineages.gates import profile
from lineages.growth.evolving import RecipeSettings, start
from lineages.growth.models import Candidate, Evolution, Plan, Review
from lineages.growth.nudge import nudge
from lineages.library import importing
from lineages.library.calls import AgentCall, Conversation, ToolRun
from lineages.library.models import Audit, Environment, GateResult
from lineages.library.sources import Source
from sandboxes.intake import Intake
from tests.agents.tasks import SEPARATE, regions
from tests.model_servers.recorded import RecordedServer, models_file, recorded
from tests.workers import kill, until, worker

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.redis,
    pytest.mark.docker,
    pytest.mark.timeout(600),
]

KILLS = 5
REQUESTS = 16
"""So many a generation takes that nobody disturbs; some of the last are left for those who finish it."""
DELAY = 0.4


@pytest.fixture(autouse=True)
def _empty_queues(settings: LazySettings) -> Iterator[None]:
    yield
    broker = redis.Redis.from_url(os.environ["ENVEVO_TEST_REDIS_URL"])
    for key in broker.scan_iter(f"envevo-{settings.INSTANCE}-*"):
        broker.delete(key)


def planted() -> Environment:
    task = regions(SEPARATE)
    found = Source(Path("tests"), "regions", lambda: Intake(task, (), task.source_digest))
    (taken,) = importing.take_in([found])
    assert isinstance(taken, importing.Imported)
    return taken.environment


def test_five_kills_at_random_moments_lose_nothing_and_pay_no_answer_twice(
    tmp_path: Path, settings: LazySettings
) -> None:
    seed = random.SystemRandom().randrange(10**6)
    sys.stdout.write(f"the moments follow from the seed {seed}\n")
    moments = random.Random(seed)

    with recorded(delay=DELAY) as server:
        models = models_file(tmp_path / "models.toml", server)
        settings.MODELS = book_of(models.read_text(), lambda _: None)
        recipe = RecipeSettings(author="anthropic", directions=("length",), profile="paper")
        evolution = start(planted(), recipe)
        nudge(evolution)
        for at in sorted(moments.sample(range(1, REQUESTS - KILLS), KILLS)):
            # Every worker gets to ask something, or a later one would be killed before it did anything.
            awaited = max(at, server.count.get("requests", 0) + 1)
            with worker(ENVEVO_SANDBOX="docker", ENVEVO_MODELS=str(models)) as struck:
                until(partial(came, server, awaited), f"request {awaited}")
                time.sleep(moments.uniform(0, 2 * DELAY))
                kill(struck)
        with worker(ENVEVO_SANDBOX="docker", ENVEVO_MODELS=str(models)):
            until(lambda: status(evolution) in Evolution.ENDED, "the end", every=0.1)

        assert_nothing_lost_or_doubled(evolution)
        assert_no_answer_was_paid_twice(server)


def came(server: RecordedServer, requests: int) -> bool:
    return server.count.get("requests", 0) >= requests


def status(evolution: Evolution) -> str:
    evolution.refresh_from_db()
    return evolution.status


def assert_nothing_lost_or_doubled(evolution: Evolution) -> None:
    """One of each thing that a generation with one repair needs; three audits with the seed's."""
    assert evolution.status == "accepted", evolution.fault
    assert list(evolution.history().values_list("to_status", flat=True)) == [
        "plan_review", "building", "verifying", "repairing", "verifying", "accepted",
    ]  # fmt: skip
    assert evolution.attempts.count() == 1
    assert list(Plan.objects.values_list("round", flat=True)) == [0]
    assert list(Candidate.objects.values_list("n", flat=True)) == [0, 1]
    assert Review.objects.filter(role="plan_reviewer").count() == 1
    assert Environment.objects.filter(generation=1).count() == 1
    audits = Audit.objects.exclude(status="error")
    assert audits.count() == 3 and not audits.filter(status="queued").exists()
    gates = sorted(gate.name for gate in profile("paper"))
    for audit in audits:
        assert sorted(audit.results.values_list("gate", flat=True)) == gates
    assert GateResult.objects.count() == 3 * len(gates)


def assert_no_answer_was_paid_twice(server: RecordedServer) -> None:
    """Each request has one answered row; beside these there are only those that a kill cut off."""
    roles = Conversation.objects.values_list("role").annotate(Count("pk")).order_by("role")
    assert dict(roles) == {"modifier": 2, "plan_reviewer": 1, "proposer": 1, "rubric_verifier": 3}
    assert set(Conversation.objects.values_list("outcome", flat=True)) == {"answered"}
    calls = AgentCall.objects.filter(conversation__isnull=False)
    answered, lost = calls.filter(outcome="answered"), calls.filter(outcome="sent")
    assert calls.count() == answered.count() + lost.count()
    for conversation in Conversation.objects.all():
        numbers = list(answered.filter(conversation=conversation).values_list("number", flat=True))
        assert sorted(numbers) == list(range(len(numbers)))
        assert conversation.calls.aggregate(last=Max("number"))["last"] == len(numbers) - 1
    assert answered.count() == REQUESTS
    assert lost.count() <= KILLS
    assert calls.count() - lost.count() <= server.count["requests"] <= calls.count()
    runs = ToolRun.objects.values("conversation", "number", "position").annotate(times=Count("pk"))
    assert runs and not runs.filter(times__gt=1).exists()
