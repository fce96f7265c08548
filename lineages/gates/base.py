"""What a gate is: a function from a subject to an outcome, without a database.

A gate is one file in this folder with a module-level `GATE`. It declares its inputs; its key is the hash of
those and of its version, and a result is current only while its key is today's. Adding a gate touches no
other file; deleting its file removes it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from agents.plan import Binding, Judgement, PlanDraft
from agents.roles import Evidence, RubricVerifier
from sandboxes.base import Backend, ExecResult, Limits
from sandboxes.task import Task


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
    JUDGE = "judge"
    RUBRIC = "rubric"


WHOLE_TASK = frozenset({Input.ENVIRONMENT, Input.SOLUTION, Input.TESTS, Input.INSTRUCTION, Input.CONFIG})
A_TRIAL = frozenset({Input.ENVIRONMENT, Input.SOLUTION, Input.TESTS, Input.CONFIG, Input.BACKEND})


@dataclass(frozen=True)
class Subject:
    """What is judged, and with what. `plan`, `bindings` and `parent` are empty for a seed."""

    task: Task
    backend: Backend
    limits: Limits
    labels: Mapping[str, str]
    judge: RubricVerifier
    judge_name: str
    rubric: str
    parent: Task | None = None
    plan: PlanDraft | None = None
    bindings: tuple[Binding, ...] = ()

    @cached_property
    def backend_identity(self) -> str:
        """Asked once for a run over all gates: an engine takes its time to say its version."""
        return self.backend.identity()


@dataclass(frozen=True, slots=True)
class Outcome:
    """A gate's answer. `summary` is a sentence for the person who must act; `detail` the evidence as text."""

    result: Result
    summary: str
    detail: str = ""
    reward: float | None = None
    weaker: bool = False
    commands: tuple[ExecResult, ...] = ()
    judgement: Judgement | None = None


@dataclass(frozen=True)
class Gate:
    """One check.

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
    profiles: frozenset[str] = field(default=frozenset({"standard"}))

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
    detail = outcome.detail
    if len(detail) > cap:
        half = cap // 2
        detail = f"{detail[:half]}\n[… {len(detail) - cap} characters cut …]\n{detail[-half:]}"
    return Evidence(gate, outcome.result, outcome.summary, detail)


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
    Input.JUDGE: lambda subject: subject.judge_name,
    Input.RUBRIC: lambda subject: subject.rubric,
}


def _files_digest(task: Task, wanted: Callable[[str], bool]) -> str:
    return _sha(
        f"{path}\0{file.mode & 0o111:o}\0{file.link or ''}\0{hashlib.sha256(file.data).hexdigest()}"
        for path, file in task.files.items()
        if wanted(path)
    )


def _sha(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
