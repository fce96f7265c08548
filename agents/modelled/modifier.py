"""The modifier: builds the child by tools on a copy, and repairs it on the evidence of the gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.loop import Bounds, converse
from agents.modelled.child import Child
from agents.modelled.role import Modelled
from agents.modelled.showing import (
    room_for,
    show_bindings,
    show_failures,
    show_pairs,
    show_plan,
    show_task,
    show_wishes,
)
from agents.modelled.submission import Complaints
from agents.models import Role
from agents.offline.compose import rendered, word_cap
from agents.offline.reading import desk, workspace
from agents.prompting import prompt
from agents.quoting import quoted
from agents.roles import BuildOrder, Built, CannotBuild, Workbench
from agents.tools.base import Done, Tool
from agents.tools.delete_file import DeleteFile
from agents.tools.list_files import ListFiles
from agents.tools.read_file import ReadFile
from agents.tools.replace_text import ReplaceText
from agents.tools.run_command import RunCommand
from agents.tools.run_gates import RunGates
from agents.tools.submit import Submit, SubmitArguments
from agents.tools.write_file import WriteFile
from sandboxes.task import Task

FIRST = "Build what the plan says, from the parent's files."
REPAIR = (
    "This is repair {revision}: the files are those of your last version. Mend what the checks found and "
    "what people asked for, and leave the rest as it is. Then submit all of it again, with every binding."
)


@dataclass(frozen=True)
class ModelModifier(Modelled):
    """An `agents.roles.Modifier`. `bounds` hold for one version of the child."""

    bounds: Bounds = field(default_factory=Bounds)

    def build(self, order: BuildOrder) -> Built:
        """Raises `CannotBuild`, and `agents.line.ModelTrouble`: then nothing was built."""
        if not self.spec.can.tools:
            raise CannotBuild(f"{self.model} takes no tools, and a modifier works with them")
        child = Child(order)
        submission = converse(
            self.speaking,
            Role.MODIFIER,
            self.spec,
            subject=f"candidate {order.revision}",
            prompt=prompt(Role.MODIFIER),
            values=self._values(order, child),
            tools=tools(child, order.bench),
            bounds=self.bounds,
        )
        assert isinstance(submission, SubmitArguments)
        if not submission.bindings:
            raise CannotBuild(submission.notes.strip())
        return child.built(submission)

    def _values(self, order: BuildOrder, child: Child) -> dict[str, str]:
        cap = word_cap(child.composition)
        found = Task.of(child.files)
        return {
            "generation": str(order.generation),
            "order": REPAIR.format(revision=order.revision) if order.revision else FIRST,
            "word_cap": str(cap),
            "words_left": str(max(cap - len(rendered(child.composition).split()), 0)),
            "desk": quoted("the folder for deliveries", desk(workspace(order.parent)[0])),
            "plan": show_plan(order.plan),
            "pairs": show_pairs(order.plan.before),
            "task": show_task(found, room_for(self.spec)).text,
            "bindings": show_bindings(order.previous.bindings if order.previous else ()),
            "failures": show_failures(order.failures),
            "wishes": show_wishes(order.wishes),
        }


def tools(child: Child, bench: Workbench | None) -> Sequence[Tool[Any]]:
    """Without a bench nothing can be run."""
    complaints = Complaints(child)
    on_files = (ListFiles(child), ReadFile(child), WriteFile(child), ReplaceText(child), DeleteFile(child))
    on_bench = (RunCommand(child, bench), TryGates(child, bench)) if bench else ()
    return (*on_files, *on_bench, Submit(complaints))


class GatesArguments(SubmitArguments):
    """Run the quick gates on the files as they are now; takes what submit takes, and hands nothing in."""


class TryGates:
    """The quick gates on what a submission would come to: they judge bindings and requirements too."""

    name = "run_gates"
    arguments = GatesArguments
    replays = False

    def __init__(self, child: Child, bench: Workbench) -> None:
        self._child = child
        self._bench = bench

    def run(self, arguments: GatesArguments) -> Done:
        return RunGates(self._bench, lambda: self._child.built(arguments)).run(RunGates.arguments())
