"""What the tests ask of the solver's work: Python by its syntax, in a limited process; shell by its words."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from agents.stated import Told
from lineages.gates.base import Finding, Subject
from lineages.gates.commands import Program, Walk, Words, programs, scripts, walked
from lineages.gates.python_tests import child
from lineages.gates.shell_asks import shell_asks
from sandboxes.task import Task

HERE = Path(__file__).parent
START = "import sys; sys.path.append(sys.argv[1]); from python_tests.child import main; main()"
SECONDS = 4 * child.SECONDS
LARGEST = 1 << 20
WORKPLACES = frozenset("app workspace work root home opt srv data mnt output out results".split())
"""Folders in which solvers work by custom, each at the root of the container."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One thing asked for at a place of the tests; the kinds are those of `python_tests.asks.Ask`."""

    kind: str
    value: str
    path: str
    line: int


class Asked:
    """The tests of a task, read once."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.told = Told(task)

    @cached_property
    def walk(self) -> Walk:
        """Every script of the tests, also one that `tests/test.sh` is not seen to run."""
        return walked(self.task, self.told)

    @property
    def run(self) -> Sequence[Words]:
        """The commands of `tests/test.sh` and of what it runs of the tests."""
        return self.walk.found[: self.walk.reached]

    @cached_property
    def _python(self) -> tuple[list[Ask], list[Finding]]:
        asks: list[Ask] = []
        unreadable: list[Finding] = []
        for program in dict.fromkeys([*programs(self.task), *self.walk.programs]):
            found = _asked(program)
            if isinstance(found, Finding):
                unreadable.append(found)
            else:
                asks += found
        return asks, unreadable

    @property
    def unreadable(self) -> list[Finding]:
        """A finding for each program that says nothing of what it asks for."""
        return self._python[1]

    @cached_property
    def python_asks(self) -> list[Ask]:
        return self._python[0]

    @cached_property
    def asks(self) -> list[Ask]:
        """Everything asked for, once for each place."""
        shell = (Ask(*ask) for ask in shell_asks(self.walk))
        return list(dict.fromkeys([*self.python_asks, *shell]))

    @cached_property
    def written(self) -> frozenset[str]:
        """Paths that the tests make themselves."""
        return frozenset(ask.value.rstrip("/") for ask in self.asks if ask.kind == "written")

    @cached_property
    def own_names(self) -> frozenset[str]:
        """Names of the tests' own files, which they may have copied to where they work."""
        code = (program.path for program in programs(self.task))
        return frozenset(path.rsplit("/", 1)[-1] for path in (*code, *scripts(self.task)))

    @cached_property
    def roots(self) -> frozenset[str]:
        """First folders of the places where a solver works."""
        artifacts = (artifact.source for artifact in self.task.config.artifacts)
        places = (self.told.workdir, *self.told.delivered, *artifacts)
        return WORKPLACES | {path.split("/")[1] for path in places if path.count("/")}


def asked_of(subject: Subject) -> Asked:
    """The tests of a subject's task, shared by the gates of one audit."""
    return subject.once.get("tests", lambda: Asked(subject.task))


def _asked(program: Program) -> Iterable[Ask] | Finding:
    """What it asks for, or a finding: a warning for what is no Python of today, a failure at a limit."""
    place = program.path, program.line
    if len(program.source) > LARGEST:
        return Finding(f"This program has more than {LARGEST >> 20} MiB: nothing can be said of it.", *place)
    command = [sys.executable, "-I", "-S", "-c", START, str(HERE)]
    try:
        done = subprocess.run(
            command, input=program.source.encode(), capture_output=True, timeout=SECONDS, env={}, check=False
        )
    except subprocess.TimeoutExpired:
        done = None
    if done is None or done.returncode != 0:
        said = "Reading this program took more than its limits of time and memory: make it simpler."
        return Finding(said, *place)
    found = json.loads(done.stdout)
    if "unreadable" in found:
        return Finding(f"This program cannot be read: {found['unreadable']}.", *place, warning=True)
    if not found["all"]:
        return Finding("This program asks for more things than can be looked at: make it simpler.", *place)
    return [Ask(ask["kind"], ask["value"], program.path, program.line + ask["line"]) for ask in found["asks"]]
