"""What a model's modifier may try its work on while it builds: a sandbox, and the quicker gates.

Everything here runs in the role's thread and knows no database. Nothing that runs changes the files, and
nothing is kept as evidence: a candidate is judged by its audit alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace

from agents.roles import Built, Evidence
from lineages.gates import profile
from lineages.gates.base import Gate, Input, Once, Result, Subject, evidence
from lineages.library import machine
from sandboxes.base import ExecResult
from sandboxes.context import environment_context
from sandboxes.errors import TaskRefused
from sandboxes.intake import admit
from sandboxes.slots import Slots
from sandboxes.solvers import uploaded
from sandboxes.task import Task

QUICK = "fast"
BINDS = "conformance"
"""The one gate that runs trials and is asked all the same: nothing else tells whether a step counts."""


@dataclass(frozen=True)
class GrowthWorkbench:
    """An `agents.roles.Workbench` for one order. `subject` is the parent's, as a child's is judged."""

    subject: Subject
    profile: str
    slots: Slots

    def run(self, task: Task, command: str, *, seconds: float) -> ExecResult:
        """Raises `SandboxError`, its kind `BuildFailed` with the build's log among them."""
        backend = self.subject.backend
        image = backend.build(environment_context(task), timeout=task.config.environment.build_timeout_sec)
        with (
            self.slots.take(),
            backend.open(image, machine.limits(), labels=dict(self.subject.labels)) as sandbox,
        ):
            for folder in ("solution", "tests"):
                sandbox.write_files(uploaded(task, folder), f"/{folder}")
            return sandbox.exec(["bash", "-c", command], timeout=seconds)

    def gates(self, built: Built) -> tuple[Evidence, ...]:
        parent = self.subject.parent
        assert parent is not None, "a child has a parent"
        try:
            task = admit(parent.replace(built.changes).files).task
        except TaskRefused as refusal:
            return (Evidence("static", Result.FAILED, str(refusal)),)
        child = replace(self.subject, task=task, bindings=built.bindings, once=Once(), repeats=1)
        return tuple(self._failed(child))

    def _failed(self, child: Subject) -> Iterator[Evidence]:
        """The failures; a gate behind one that failed is not asked."""
        accepted: dict[str, bool] = {}
        for gate in [gate for gate in profile(self.profile) if _asked(gate)]:
            if not all(accepted.get(name, True) for name in gate.after):
                accepted[gate.name] = False
                continue
            with self.slots.take() if gate.sandbox else nullcontext():
                outcome = gate.check(child)
            accepted[gate.name] = gate.accepts(outcome.result)
            if not accepted[gate.name]:
                yield evidence(gate.name, outcome)


def _asked(gate: Gate) -> bool:
    """Those that only read, those of a quick look, and the one that binds files to the plan; no judge."""
    reads = not gate.sandbox and Input.JUDGE not in gate.inputs
    return reads or QUICK in gate.profiles or gate.name == BINDS
