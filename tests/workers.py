"""Real Celery worker processes on the test's own database and broker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

ROOT = Path(__file__).resolve().parent.parent
LEASE_SECONDS = 3
PATIENCE_SECONDS = 90


def database_url() -> str:
    """The test's own database, for another process."""
    where = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{where['NAME']}"
    return f"postgresql://{where['USER']}:{where['PASSWORD']}@{where['HOST']}:{where['PORT']}/{where['NAME']}"


@contextmanager
def worker(*, beat: bool = True, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker process group; whatever is left of it at the end is killed."""
    told = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "ENVEVO_DATABASE_URL": database_url(),
        "ENVEVO_INSTANCE": settings.INSTANCE,
        "ENVEVO_LEASE_SECONDS": str(LEASE_SECONDS),
        "ENVEVO_LEASE_BEAT_SECONDS": "0.5",
        "ENVEVO_SWEEP_SECONDS": "1",
        **environment,
    }
    command = [sys.executable, "-m", "celery", "-A", "envevo_site", "worker", "-Q", "agents,sandboxes"]
    command += ["--concurrency", "2", "--loglevel", "WARNING", "--without-mingle", "--without-gossip"]
    schedule = settings.VAR / f"beat-{uuid.uuid4().hex[:6]}"
    command += ["-B", "-s", str(schedule)] if beat else []
    process = subprocess.Popen(command, cwd=ROOT, env=told, start_new_session=True)
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """kill -9 for the worker and all its children, as a power cut would."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def stops_while(process: subprocess.Popen[bytes], holds: Callable[[], bool]) -> bool:
    """Stop the worker, and leave it so if the condition holds then; else let it go on."""
    os.killpg(process.pid, signal.SIGSTOP)
    if holds():
        return True
    os.killpg(process.pid, signal.SIGCONT)
    return False


def until(holds: Callable[[], bool], what: str, *, every: float = 0.01) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {PATIENCE_SECONDS} s in vain for: {what}")
        time.sleep(every)
