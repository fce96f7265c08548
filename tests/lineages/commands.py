"""The commands as a shell would see them, in this process or in one of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.workers import ROOT, database_url


@dataclass
class Said:
    """What a command left: its exit code and both streams."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Runner:
    """Runs a command in this process."""

    def __init__(self, streams: pytest.CaptureFixture[str]) -> None:
        self._streams = streams

    def __call__(self, *words: object) -> Said:
        self._streams.readouterr()
        code = 0
        try:
            call_command(*map(str, words))
        except SystemExit as left:
            code = int(left.code or 0)
        except CommandError:
            code = 2  # argparse, which leaves with 2 where it is not called from Python
        out, err = self._streams.readouterr()
        return Said(code, out, err)


def in_a_shell(**environment: str) -> dict[str, str]:
    """The variables of a process on the test's database."""
    own = {"DJANGO_SETTINGS_MODULE": "tests.settings", "ENVEVO_DATABASE_URL": database_url()}
    return {**os.environ, **own, **environment}


def shell(*words: object, limit: float = 120, **environment: str) -> Said:
    """`python manage.py` in a process of its own, on the test's database, for `limit` seconds at most."""
    done = subprocess.run(
        [sys.executable, "manage.py", *map(str, words)],
        cwd=ROOT,
        env=in_a_shell(**environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=limit,
    )
    return Said(done.returncode, done.stdout, done.stderr)
