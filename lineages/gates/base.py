"""What a gate is: a function from a subject to an outcome, without a database.

A gate is one file in this folder with a module-level `GATE`. It declares its inputs; its key is the hash of
those and of its version, and a result is current only while its key is today's. Adding a gate touches no
other file; deleting its file removes it.
"""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeVar

from agents.line import Line
from agents.plan import Binding, Judgement, PlanDraft
from agents.roles import Adversary, Evidence, FailureJudge, RubricVerifier, Solver, over
from agents.rubrics import ENVIRONMENT_RUBRIC, Rubric
from lineages.gates.surroundings import Archive, Benchmarks, KeptProbe
from sandboxes.base import Backend, ExecResult, Limits
from sandboxes.errors import Unsupported
from sandboxes.task import Task
from sandboxes.trial import Solved, contexts


class Result(StrEnum):
    """What a gate may say. A required gate accepts `PASSED` and `NOT_APPLICABLE`."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not_applicable"
    NOT_RUN = "not_run"
    ERROR = "error"

    @property
    def accepted(self) -> bool:
        return self in (Result.PASSED, Result.NOT_APPLICABLE)


class Input(StrEnum):
    """Something that a gate's answer can depend on."""

    ENVIRONMENT = "environment"
    SOLUTION = "solution"
    TESTS = "tests"
    INSTRUCTION = "instruction"
    CONFIG = "config"
    PARENT = "parent"
    PLAN = "plan"
    BACKEND = "backend"
    BASE = "base"
    JUDGE = "judge"
    RUBRIC = "rubric"
    REPEATS = "repeats"
    THOROUGH = "thorough"
    ARCHIVE = "archive"
    BENCHMARKS = "benchmarks"
    PROBES = "probes"


WHOLE_TASK = frozenset({Input.ENVIRONMENT, Input.SOLUTION, Input.TESTS, Input.INSTRUCTION, Input.CONFIG})
A_SOLVE = frozenset({Input.ENVIRONMENT, Input.SOLUTION, Input.CONFIG, Input.BACKEND, Input.BASE})
A_TRIAL = A_SOLVE | {Input.TESTS}


T = TypeVar("T")

MOST_FINDINGS = 200
"""Of one gate that are listed."""


class Once:
    """What is made once in an audit, however many gates ask for it, and from whatever thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._made: dict[str, Any] = {}

    def get(self, name: str, make: Callable[[], T]) -> T:
        """What `make` gave for this name; who asks meanwhile waits. What it raises is not kept."""
        with self._lock:
            lock = self._locks[name]
        with lock:
            if name not in self._made:
                self._made[name] = make()
            made: T = self._made[name]
            return made


@dataclass(frozen=True)
class Subject:
    """What is judged, and with what. `plan`, `bindings` and `parent` are empty for a seed.

    `repeats` and `thorough` are the profile's. `archive`, `benchmarks` and `probes` are what a gate may know
    of other tasks, looked up before the gates run, since they have no database; None or empty where there
    is none. `solved` holds what solvers left in earlier audits, by `solve_key`: graded again, not run again.
    `judge_version` stands for the judge's own code, so that another version of it outdates its verdicts.
    `adversary`, `solver` and `failure_judge` are None where no model plays them.
    """

    task: Task
    backend: Backend
    limits: Limits
    labels: Mapping[str, str]
    judge: RubricVerifier
    judge_name: str
    rubric: str
    criteria: Rubric = ENVIRONMENT_RUBRIC
    parent: Task | None = None
    plan: PlanDraft | None = None
    bindings: tuple[Binding, ...] = ()
    judge_version: str = ""
    repeats: int = 3
    thorough: bool = False
    archive: Archive | None = None
    benchmarks: Benchmarks | None = None
    probes: tuple[KeptProbe, ...] = ()
    solved: Mapping[str, Solved] = field(default_factory=dict)
    adversary: Adversary | None = None
    solver: Solver | None = None
    failure_judge: FailureJudge | None = None
    once: Once = field(default_factory=Once, compare=False)

    def over(self, line: Line) -> Subject:
        """The same with its roles speaking over that line."""
        return replace(
            self,
            judge=over(self.judge, line),
            adversary=over(self.adversary, line),
            solver=over(self.solver, line),
            failure_judge=over(self.failure_judge, line),
        )

    @cached_property
    def backend_identity(self) -> str:
        """Asked once for a run over all gates: an engine takes its time to say its version."""
        return self.backend.identity()

    @cached_property
    def base_images(self) -> str:
        """The ids of the images that the task's Dockerfiles start from, as the machine has them now."""
        try:
            files = contexts(self.task).values()
        except Unsupported:
            return ""  # no image is ever built of it
        found = (self.backend.bases(context) for context in files)
        return _sha(sorted(f"{name}={id_}" for each in found for name, id_ in each.items()))

    def solve_key(self, solver: str, *, reads_solution: bool = True) -> str:
        """All that a solver's work hangs on, which is not the tests that grade it, as 64 hex digits.

        The first half, `solve_context`, is the same for all solvers.
        """
        return self.solve_context(reads_solution=reads_solution) + _sha([solver])[:32]

    def solve_context(self, *, reads_solution: bool) -> str:
        """32 hex digits for what solvers work in, and for the solution where they read it."""
        inputs = A_SOLVE if reads_solution else A_SOLVE - {Input.SOLUTION}
        return _sha(f"{name}={_digest(name, self)}" for name in sorted(inputs))[:32]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to see, at a place of the task where there is one.

    `line` counts from 1; 0 is no line. A `warning` fails nothing. `repair` says what to write instead, as
    something to copy, where that can be said.
    """

    text: str
    path: str = ""
    line: int = 0
    warning: bool = False
    repair: str = ""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line} " if self.line else f"{self.path}: " if self.path else ""
        return f"{place}{self.text}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A gate's answer. `summary` is a sentence for the person who must act; `detail` the evidence as text.

    `runs` of the same thing were made and `runs_passed` of them did as they should; both 0 where nothing was
    repeated. `kept` is what solvers left, by `Subject.solve_key`, for later audits to grade again.
    `graded_again` says that a solver's earlier work was graded and the solver not run.
    """

    result: Result
    summary: str
    detail: str = ""
    reward: float | None = None
    weaker: bool = False
    commands: tuple[ExecResult, ...] = ()
    judgement: Judgement | None = None
    findings: tuple[Finding, ...] = ()
    runs: int = 0
    runs_passed: int = 0
    kept: Mapping[str, Solved] = field(default_factory=dict)
    graded_again: bool = False


def found(findings: Iterable[Finding], well: str, *, most: int = MOST_FINDINGS) -> Outcome:
    """Failed by the first finding that is no warning; else passed, with `well` as its summary.

    Failures stand before warnings; of more than `most` findings the others are counted in a last one.
    """
    # Sorting keeps the order within each kind.
    every = sorted(findings, key=lambda finding: finding.warning)
    failed = bool(every) and not every[0].warning
    shown = every[:most]
    if len(every) > most:
        shown.append(Finding(f"{len(every) - most} more findings are not listed.", warning=True))
    if failed:
        return Outcome(Result.FAILED, str(every[0]), findings=tuple(shown))
    return Outcome(Result.PASSED, well, findings=tuple(shown))


@dataclass(frozen=True)
class Gate:
    """One check.

    `failing` says in a plain sentence what it means that the gate fails, `cost` what asking it takes, e.g.
    "one trial". `waivable`: whether a person may void its failure with a reason. A gate that is not
    `required` blocks nothing where it did not run: nothing here can ask what it asks, and the page says so.
    `after` names the gates that must be accepted first; where one is not, this gate is `not_run`.
    `sandbox` says that it needs a slot of the machine.
    """

    name: str
    version: int
    title: str
    inputs: frozenset[Input]
    check: Callable[[Subject], Outcome]
    after: tuple[str, ...] = ()
    sandbox: bool = False
    profiles: frozenset[str] = field(default=frozenset({"standard", "strict"}))
    failing: str = ""
    cost: str = "reads files"
    waivable: bool = True
    required: bool = True

    @property
    def hard(self) -> bool:
        """Whether no judge's opinion is in it: what it passed once and fails now is withdrawn."""
        return Input.JUDGE not in self.inputs

    def accepts(self, result: Result) -> bool:
        """Whether this answer stands in nobody's way."""
        return result.accepted or (not self.required and result is Result.NOT_RUN)

    def key(self, subject: Subject) -> str:
        """Hex SHA-256 of everything that the answer depends on."""
        parts = [
            self.name,
            str(self.version),
            *(f"{name}={_digest(name, subject)}" for name in sorted(self.inputs)),
        ]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def evidence(gate: str, outcome: Outcome, cap: int = 8000) -> Evidence:
    """A failed outcome as the repairer reads it; the middle of a long detail is cut and said."""
    detail = "\n".join([*map(_told, outcome.findings), outcome.detail]).strip()
    if len(detail) > cap:
        half = cap // 2
        detail = f"{detail[:half]}\n[… {len(detail) - cap} characters cut …]\n{detail[-half:]}"
    return Evidence(gate, outcome.result, outcome.summary, detail)


def _told(finding: Finding) -> str:
    text = f"warning: {finding}" if finding.warning else str(finding)
    return f"{text}\nWrite instead: {finding.repair}" if finding.repair else text


_FOLDERS = {Input.ENVIRONMENT: "environment", Input.SOLUTION: "solution", Input.TESTS: "tests"}
_FILES = {Input.INSTRUCTION: "instruction.md", Input.CONFIG: "task.toml"}


def _digest(name: Input, subject: Subject) -> str:
    if name in _FOLDERS:
        return _files_digest(subject.task, lambda path: path.startswith(_FOLDERS[name] + "/"))
    if name in _FILES:
        return _files_digest(subject.task, lambda path: path == _FILES[name])
    return _OTHERS[name](subject)


_OTHERS: Mapping[Input, Callable[[Subject], str]] = {
    Input.PARENT: lambda subject: subject.parent.digest if subject.parent else "",
    Input.PLAN: lambda subject: _sha(
        [
            subject.plan.model_dump_json() if subject.plan else "",
            *(b.model_dump_json() for b in subject.bindings),
        ]
    ),
    Input.BACKEND: lambda subject: subject.backend_identity,
    Input.BASE: lambda subject: subject.base_images,
    Input.JUDGE: lambda subject: _sha([subject.judge_name, subject.judge_version]),
    Input.RUBRIC: lambda subject: subject.rubric,
    Input.REPEATS: lambda subject: str(subject.repeats),
    Input.THOROUGH: lambda subject: str(subject.thorough),
    Input.ARCHIVE: lambda subject: subject.archive.version if subject.archive else "",
    Input.BENCHMARKS: lambda subject: subject.benchmarks.version if subject.benchmarks else "",
    Input.PROBES: lambda subject: _sha(probe.digest for probe in subject.probes),
}


def _files_digest(task: Task, wanted: Callable[[str], bool]) -> str:
    return _sha(
        f"{path}\0{file.mode & 0o111:o}\0{file.link or ''}\0{hashlib.sha256(file.data).hexdigest()}"
        for path, file in task.files.items()
        if wanted(path)
    )


def _sha(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
