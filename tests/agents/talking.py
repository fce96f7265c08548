"""A desk for a scripted model: files, tools and a bench, and how a talk at it ends."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from agents.line import (
    Line,
    ModelTrouble,
)
from agents.loop import Bounds, converse
from agents.memory_line import MemoryLine
from agents.models import ModelSpec, Role
from agents.providers.base import Reply
from agents.tools.base import Tool
from agents.tools.read_file import ReadFile
from agents.tools.run_command import RunCommand
from agents.tools.submit_solution import SubmitSolution
from agents.tools.write_file import WriteFile
from agents.workspace import Workspace
from sandboxes.base import ExecResult
from sandboxes.errors import MachineFault
from sandboxes.task import Task
from tests.agents.scripted_models import (
    PROMPT,
    SPEC,
    VALUES,
    Scripted,
    Step,
    call,
    called,
    line_to,
    only,
)
from tests.tasks import words


class Bench:
    """A workbench on which every command prints its own text."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def run(self, task: Task, command: str, *, seconds: float) -> ExecResult:
        self.ran.append(command)
        if command == "broken machine":
            raise MachineFault("no engine")
        return ExecResult(("sh",), 0, command.encode() * 3, b"", 0, 0.1, datetime.now(UTC))

    def gates(self, built: Any) -> tuple[Any, ...]:
        return ()


class Desk:
    """What one sitting of a worker has: a workspace and its tools, new every time; the bench is shared."""

    def __init__(self, bench: Bench | None = None) -> None:
        self.bench = bench or Bench()
        self.files = Workspace(words().files)
        self.tools: Sequence[Tool[Any]] = (
            ReadFile(self.files),
            WriteFile(self.files),
            RunCommand(self.files, self.bench),
            SubmitSolution(),
        )

    def talk(self, line: Line, *, spec: ModelSpec = SPEC, **bounds: Any) -> object:
        return converse(
            line,
            Role.MODIFIER,
            spec,
            subject="candidate 0",
            prompt=PROMPT,
            values=VALUES,
            tools=self.tools,
            bounds=Bounds(**bounds),
        )


def write(path: str, text: str = "x\n") -> Reply:
    return called(call("write_file", path=path, text=text))


def submit(script: str = "done") -> Reply:
    return called(call("submit_solution", script=script))


def read(path: str = "instruction.md") -> Reply:
    return called(call("read_file", path=path))


def ended(kind: type[ModelTrouble], *steps: Step, **more: Any) -> tuple[Scripted, Desk, str]:
    """Who was asked, the desk, and why it ended; the conversation has ended with that outcome."""
    provider, desk = Scripted(steps), Desk()
    line = line_to(provider, *([more["spec"]] if "spec" in more else []))
    with pytest.raises(kind) as caught:
        desk.talk(line, **more)
    assert only(line).outcome == kind.outcome
    assert only(line).note == str(caught.value)
    return provider, desk, str(caught.value)


def played(*steps: Step, **more: Any) -> tuple[Scripted, Desk, MemoryLine]:
    provider, desk = Scripted(steps), Desk()
    line = line_to(provider, *([more["spec"]] if "spec" in more else []))
    assert desk.talk(line, **more) == "done"
    assert only(line).outcome == "answered"
    return provider, desk, line


SMALL = SPEC.model_copy(update={"context_tokens": 4_000})
"""A model that soon has no more room."""
