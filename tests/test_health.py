"""`/healthz` as a probe meets it, and the files that say that a worker hears and beat sends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import current_app
from django.conf import settings
from django.db import OperationalError, connection
from django.test import Client

from envevo_site.health import SILENT
from tests.conftest import ROOT
from tests.workers import until, worker

NOBODY = "redis://default:hush@127.0.0.1:1/0"


@pytest.mark.redis
@pytest.mark.django_db
def test_a_probe_needs_neither_a_login_nor_a_host_name_of_ours() -> None:
    answer = Client(headers={"host": "10.0.0.7:8000"}).get("/healthz")

    assert answer.status_code == 200
    assert answer.json() == {"database": "ok", "broker": "ok"}
    assert answer.headers["Cache-Control"] == "no-store"
    assert not answer.cookies


@pytest.mark.django_db
def test_a_silent_broker_is_named_without_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(current_app.conf, "broker_write_url", NOBODY)

    answer = Client().get("/healthz")

    assert answer.status_code == 503
    assert answer.json() == {"database": "ok", "broker": SILENT}


@pytest.mark.redis
@pytest.mark.django_db
def test_a_silent_database_is_named_without_its_address() -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OperationalError("no route to db.internal")

    with connection.execute_wrapper(refuse):
        answer = Client().get("/healthz")

    assert answer.status_code == 503
    assert answer.json() == {"database": SILENT, "broker": "ok"}


def test_nothing_can_be_sent_there() -> None:
    answer = Client().post("/healthz")

    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")


@pytest.fixture
def _queues() -> Iterator[None]:
    """Empty afterwards, so that no message of this test is heard in another."""
    yield
    broker = redis.Redis.from_url(os.environ["ENVEVO_TEST_REDIS_URL"])
    for key in broker.scan_iter(f"envevo-{settings.INSTANCE}-*"):
        broker.delete(key)


@pytest.mark.redis
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_queues")
def test_a_worker_is_heard_to_live_by_the_messages_that_reach_it_and_by_nothing_else(tmp_path: Path) -> None:
    pulse = tmp_path / "pulse"

    with worker(beat=False, ENVEVO_PULSE=str(pulse)):
        until(pulse.exists, "the worker is connected")
        os.utime(pulse, (0, 0))
        current_app.send_task("envevo_site.pulse", queue="agents")
        until(lambda: pulse.stat().st_mtime > 0, "the message was heard")


@pytest.mark.redis
@pytest.mark.usefixtures("_queues")
def test_beat_sends_at_once_and_is_heard_to_live_by_what_it_sent(tmp_path: Path) -> None:
    pulse = tmp_path / "pulse"
    told = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "ENVEVO_INSTANCE": settings.INSTANCE,
        "ENVEVO_PULSE": str(pulse),
        "ENVEVO_SWEEP_SECONDS": "3600",
    }
    command = "celery -A envevo_site beat -S envevo_site.liveness:Timekeeper --pidfile=".split()
    process = subprocess.Popen(
        [sys.executable, "-m", *command], cwd=ROOT, env=told, stderr=subprocess.DEVNULL
    )
    broker = redis.Redis.from_url(os.environ["ENVEVO_TEST_REDIS_URL"])
    try:
        until(pulse.exists, "something was sent")
        for queue in ("agents", "sandboxes"):
            name = f"envevo-{settings.INSTANCE}-{queue}"
            until(lambda: broker.llen(name) >= 1, f"a message in {queue}")  # noqa: B023
    finally:
        process.kill()
        process.wait()
