"""Real parts: a test that needs one is marked with its name.

Where the part is absent the test is skipped with the reason, and the end of the run lists the skipped
parts; a part that `ENVEVO_REQUIRE` names makes it fail instead.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import docker
import docker.errors
import pytest
import redis

ROOT = Path(__file__).resolve().parent.parent
HARBOR = ROOT / "scripts" / "harbor"


def _docker() -> str:
    try:
        docker.from_env(timeout=10).ping()
    except docker.errors.DockerException:
        return "no Docker engine answers: run `scripts/services up`"
    return ""


def _postgres() -> str:
    return "" if os.environ.get("ENVEVO_TEST_DATABASE_URL") else "ENVEVO_TEST_DATABASE_URL is not set"


def _redis() -> str:
    address = os.environ.get("ENVEVO_TEST_REDIS_URL", "")
    try:
        return "" if address and redis.Redis.from_url(address).ping() else "ENVEVO_TEST_REDIS_URL is not set"
    except redis.RedisError:
        return f"no Redis answers at {address.rsplit('@')[-1]}"


def _chromium() -> str:
    found = os.environ.get("ENVEVO_CHROMIUM") or shutil.which("chromium")
    return "" if found else "there is no Chromium: run `scripts/services up`"


def _harbor() -> str:
    done = subprocess.run([HARBOR, "--version"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else (done.stderr.strip() or "Harbor does not start").splitlines()[-1]


def _localmodel() -> str:
    installed = (ROOT / "var" / "localmodel" / ".installed").exists()
    return "" if installed else "the local model is not installed: run `make test-localmodel`"


PARTS: dict[str, Callable[[], str]] = {
    "docker": cache(_docker),
    "postgres": cache(_postgres),
    "redis": cache(_redis),
    "browser": cache(_chromium),
    "harbor": cache(_harbor),
    "localmodel": _localmodel,
}
ALSO_CALLED = {"chromium": "browser"}
REQUIRED = {
    ALSO_CALLED.get(part, part) for part in filter(None, os.environ.get("ENVEVO_REQUIRE", "").split(","))
}
skipped: dict[str, str] = {}


def pytest_runtest_setup(item: pytest.Item) -> None:
    for part, missing in PARTS.items():
        if item.get_closest_marker(part) and (reason := missing()):
            if part in REQUIRED:
                pytest.fail(f"{part} is required: {reason}", pytrace=False)
            skipped[part] = reason
            pytest.skip(f"{part}: {reason}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for part, reason in skipped.items():
        terminalreporter.write_line(f"NOT COVERED, its real part is absent: {part} ({reason})", yellow=True)


@pytest.fixture(autouse=True, scope="session")
def _folder_goes_away() -> Iterator[None]:
    yield
    if "envevo-test-" in os.environ.get("ENVEVO_VAR", ""):
        shutil.rmtree(os.environ["ENVEVO_VAR"], ignore_errors=True)


@pytest.fixture(scope="session")
def engine() -> Iterator[docker.DockerClient]:
    """The Docker engine, for tests that look at it from outside."""
    client = docker.from_env()
    yield client
    client.close()
