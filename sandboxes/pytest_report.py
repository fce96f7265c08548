"""Hearing what each test of a pytest run said, and having it take another order, without the task's help.

A folder that nobody could guess is put at the end of PYTHONPATH, and holds a plugin as an installed
distribution would: pytest finds it by itself. Where tests set PYTHONPATH anew, or empty the environment,
pytest does not find it, and runs as it would have.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from sandboxes.base import Sandbox
from sandboxes.files import TaskFile

REPORT = "units.jsonl"
ORDER = "order"

# Runs on whatever Python the task has, and must never be what a test fails by.
PLUGIN = '''"""Writes down what each test said; shuffles them where a file `order` stands beside this one."""

import json
import os
import random

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
BUSY = "ENVEVO_UNITS_BUSY"


def pytest_configure(config):
    # A pytest that a test starts, and the workers of a parallel one, are parts of the first.
    if not os.environ.get(BUSY):
        os.environ[BUSY] = "1"
        config.pluginmanager.register(Units(), "envevo-units-of-this-run")


class Units(object):
    def __init__(self):
        self.said = {}
        self.shuffled = False

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        before = list(items)
        try:
            with open(os.path.join(HERE, "order")) as order:
                chance = random.Random(int(order.read()))
        except (IOError, OSError, ValueError):
            return
        files = {}
        for item in before:
            files.setdefault(item.nodeid.split("::")[0], []).append(item)
        names = sorted(files)
        chance.shuffle(names)
        mixed = []
        for name in names:
            chance.shuffle(files[name])
            mixed += files[name]
        items[:] = mixed[1:] + mixed[:1] if mixed == before else mixed
        self.shuffled = self.shuffled or items != before

    def pytest_collectreport(self, report):
        if report.failed:
            self.said[report.nodeid] = False

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.said[report.nodeid] = False
        elif report.when == "call" and report.passed:
            self.said.setdefault(report.nodeid, True)

    def pytest_sessionfinish(self):
        rows = [{"name": name, "passed": passed} for name, passed in self.said.items()]
        rows += [{"shuffled": True}] if self.shuffled else []
        try:
            with open(os.path.join(HERE, "units.jsonl"), "a") as report:
                report.write("".join(json.dumps(row) + "\\n" for row in rows))
        except (IOError, OSError):
            pass

    def pytest_unconfigure(self):
        os.environ.pop(BUSY, None)
'''

_DISTRIBUTION = "envevo_units-1.dist-info"
FILES = {
    "envevo_units.py": TaskFile.text(PLUGIN),
    f"{_DISTRIBUTION}/METADATA": TaskFile.text("Metadata-Version: 2.1\nName: envevo-units\nVersion: 1\n"),
    f"{_DISTRIBUTION}/entry_points.txt": TaskFile.text("[pytest11]\nenvevo_units = envevo_units\n"),
    # Whichever user the tests run as writes to it.
    REPORT: TaskFile(b"", mode=0o666),
}


def put_plugin(sandbox: Sandbox, order: int | None) -> str:
    """Put the plugin into a sandbox in which the solver can do nothing more; gives its folder there."""
    folder = f"/opt/envevo-{secrets.token_hex(8)}"
    shuffles = {} if order is None else {ORDER: TaskFile.text(f"{order}\n")}
    sandbox.write_files({**FILES, **shuffles}, folder)
    return folder


def with_plugin(known: Mapping[str, str], folder: str) -> str:
    """PYTHONPATH as the tests would have it, and the plugin's folder after that: it shadows nothing."""
    return ":".join(filter(None, (known.get("PYTHONPATH", ""), folder)))
