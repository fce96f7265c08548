"""One installation of docker-compose.yml on the engine of the tests, and a person at its pages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
FILES = ("docker-compose.yml", "tests/compose/override.yml")
PATIENCE_SECONDS = 150
BUILD_SECONDS = 400
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


@dataclass(frozen=True)
class Installation:
    """`name`: of the compose project, its images and its sandboxes' label. `folder` has its secrets."""

    name: str
    folder: Path

    def compose(self, *words: str, **environment: str) -> str:
        """What the command printed. Fails the test with its errors when it does not end well."""
        files = [part for file in FILES for part in ("-f", file)]
        command = [
            "docker",
            "compose",
            "--env-file",
            str(self.folder / ".env"),
            "-p",
            self.name,
            *files,
            *words,
        ]
        told = {**os.environ, "ENVEVO_BIND": "127.0.0.1:0", "ENVEVO_IMAGE": self.name, **environment}
        done = subprocess.run(
            command, cwd=ROOT, env=told, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False
        )
        assert done.returncode == 0, f"{' '.join(words)}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    def run(self, service: str, *command: str) -> str:
        """A command in the running container of a service."""
        return self.compose("exec", "-T", service, *command)

    def row(self, question: str) -> list[str]:
        """The first row that the database has for an SQL question."""
        asked = self.run("postgres", "psql", "-U", "envevo", "-d", "envevo", "-tAc", question)
        return asked.strip().partition("\n")[0].split("|")

    def containers(self) -> dict[str, dict[str, Any]]:
        """What the engine says now of each service's container."""
        mine = f"label=com.docker.compose.project={self.name}"
        found = subprocess.check_output(["docker", "ps", "--all", "--quiet", "--filter", mine], text=True)
        listed: list[dict[str, Any]] = json.loads(
            subprocess.check_output(["docker", "inspect", *found.split()])
        )
        return {each["Config"]["Labels"]["com.docker.compose.service"]: each for each in listed}

    def heard(self, service: str) -> float:
        """When a worker last took a message, in seconds of the clock."""
        return float(self.run(service, "stat", "--format=%.Y", "/tmp/pulse"))

    def until(self, holds: Callable[[], bool], what: str, *, every: float = 0.2) -> None:
        """Wait for it; the test fails with what the workers last said when it does not come."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            if time.monotonic() > deadline:
                said = self.compose("logs", "--no-color", "--tail", "15", "worker-agents", "worker-sandboxes")
                pytest.fail(f"waited {PATIENCE_SECONDS} s in vain for: {what}\n{said}")
            time.sleep(every)

    @cached_property
    def address(self) -> str:
        return f"http://{self.compose('port', 'web', '8000').strip()}"


class Browser:
    """Somebody at the pages, without a browser."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._opener = build_opener(HTTPCookieProcessor(CookieJar()))

    def get(self, path: str) -> str:
        with self._opener.open(self._address + path, timeout=30) as answer:
            text: str = answer.read().decode()
        return text

    def post(self, path: str, **fields: Any) -> str:
        """Send the form of a page; returns the path that it led to."""
        token = TOKEN.search(self.get(path))
        assert token, f"{path} has no form"
        data = urlencode({**fields, "csrfmiddlewaretoken": token[1]}, doseq=True).encode()
        with self._opener.open(self._address + path, data, timeout=30) as answer:
            led_to: str = answer.geturl()
        return led_to.removeprefix(self._address)
