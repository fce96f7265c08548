"""The child while a model writes it: the parent in composed form, what was changed, and what it comes to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from agents.composition import OVERLAY, STEPS, UNITS, is_frame
from agents.offline.compose import Composer
from agents.plan import Binding, Composition, Direction, Requirement
from agents.roles import BuildOrder, Built, CannotBuild
from agents.tools.base import ToolError
from agents.tools.submit import SubmitArguments
from agents.workspace import Workspace
from sandboxes.errors import TaskRefused
from sandboxes.files import TaskFile
from sandboxes.task import CONFIG, INSTRUCTION, Task

NAMED = re.compile(r"\d\d-[A-Za-z0-9][A-Za-z0-9._-]*")
"""A step or a unit: two digits say when it runs."""
GRADERS_PLACES = tuple(f"{OVERLAY}/{folder}/" for folder in ("tests", "solution", "logs"))


class Child(Workspace):
    """A workspace whose task is what its files come to: runners, verifier, instruction and config are code's.

    A repair begins with the files of the last version.
    """

    def __init__(self, order: BuildOrder) -> None:
        """Raises `CannotBuild` for a parent that nothing can be added to."""
        self.order = order
        composer = Composer(order.parent, order.composition)
        self.base: Mapping[str, TaskFile] = dict(composer.files)
        self.composition: Composition = composer.composition
        start = order.parent.replace(order.previous.changes).files if order.previous else self.base
        super().__init__(start, self._refusal)

    @property
    def written(self) -> frozenset[str]:
        """Paths that differ from the parent's, the frame aside."""
        files = self.files
        paths = {*self.base, *files}
        return frozenset(
            path for path in paths if not is_frame(path) and self.base.get(path) != files.get(path)
        )

    def task(self) -> Task:
        """The child as it stands, without new requirements."""
        return self.order.parent.replace(self._composed((), ()).changes)

    def built(self, submission: SubmitArguments) -> Built:
        """What the submission comes to. Raises `ToolError` where the task's own build stands in the way."""
        bindings = tuple(
            Binding(
                key=each.key,
                solution_block=each.solution_block,
                test_units=each.test_units,
                environment_paths=each.environment_paths,
                requirement=each.requirement.strip(),
            )
            for each in submission.bindings
        )
        return self._composed(bindings, submission.artifacts, submission.notes)

    def _composed(self, bindings: tuple[Binding, ...], artifacts: tuple[str, ...], notes: str = "") -> Built:
        if not any(path.startswith(f"{OVERLAY}/") for path in self.files):
            raise ToolError(f"nothing lies below {OVERLAY}/, which the image copies: put a file there first")
        composer = Composer(self.order.parent, self.order.composition)
        requirements = [Requirement(key=each.key, text=each.requirement) for each in bindings]
        try:
            composer.adopt(self.files, requirements, artifacts)
            changes = composer.finish(self.order.generation)
        except (CannotBuild, TaskRefused) as problem:
            raise ToolError(str(problem)) from problem
        return Built(changes, self._completed(bindings, changes), composer.composition, notes)

    def _completed(
        self, bindings: tuple[Binding, ...], changes: Mapping[str, TaskFile | None]
    ) -> tuple[Binding, ...]:
        """What code put beside a file that was taken away belongs to the pair that took it away."""
        ours = tuple(path for path in changes if path.startswith(f"{OVERLAY}/") and path not in self.files)
        return tuple(
            each.model_copy(update={"environment_paths": (*each.environment_paths, *ours)})
            if ours and any(path not in self.files for path in each.environment_paths)
            else each
            for each in bindings
        )

    @cached_property
    def _only_adds(self) -> bool:
        return self.order.plan.direction is Direction.LENGTH

    def _refusal(self, path: str) -> str | None:
        if path == INSTRUCTION:
            return "code writes it, from the requirements that you give with submit"
        if path == CONFIG:
            return "code writes it; artifacts are named with submit"
        if is_frame(path):
            return "it belongs to the frame of every evolved task, which code keeps"
        if path in self.base:
            kept = self._only_adds and path.startswith("tests/")
            return "this plan only adds, so the parent's tests stay as they are" if kept else None
        return _misplaced(path)


def _misplaced(path: str) -> str | None:
    """Why a new file cannot be there."""
    if path.startswith("environment/") and not path.startswith(f"{OVERLAY}/"):
        return f"new files for the container go below {OVERLAY}/, by their absolute path there"
    if path.startswith(GRADERS_PLACES):
        return "the solver's container holds nothing of the tests, the solution or the grader's logs"
    if path.startswith("solution/") and not path.startswith(f"{STEPS}/"):
        return f"the solution is made of steps; write {STEPS}/NN-name"
    for folder in (STEPS, UNITS):
        if path.startswith(f"{folder}/") and not NAMED.fullmatch(path[len(folder) + 1 :]):
            return f"below {folder}/ a file is called NN-name, with two digits for its place in the order"
    return None
