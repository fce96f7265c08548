"""The child while a model writes it: the parent in composed form, what was changed, and what it comes to."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agents.composition import OVERLAY, STEPS, UNITS, is_frame
from agents.offline.compose import Composer
from agents.plan import Binding, Composition, Requirement
from agents.roles import BuildOrder, Built, CannotBuild
from agents.tools.base import ToolError
from agents.tools.submit import SubmitArguments
from agents.workspace import Workspace
from sandboxes.errors import TaskRefused
from sandboxes.files import TaskFile
from sandboxes.task import CONFIG, INSTRUCTION, Task

NAMED = re.compile(r"[0-9][0-9]-[A-Za-z0-9][A-Za-z0-9._-]*")
"""A step or a unit: two digits say when it runs."""
PARENTS_NUMBER = "00"
"""Of the parent's own test, before which nothing runs."""
TRUTH = "tests/truth"
"""Data that a new unit reads."""
PROGRAMS = (
    *("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec"),
    *("/usr/local/bin", "/usr/local/sbin", "/usr/local/lib", "/root/.local", "/etc/ld.so.preload"),
)
"""Where an image's tools are and what they load: they are the parent's, the solver's as the verifier's."""
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

    def _refusal(self, path: str) -> str | None:
        if path == INSTRUCTION:
            return "code writes it, from the requirements that you give with submit"
        if path == CONFIG:
            return "code writes it; artifacts are named with submit"
        if is_frame(path):
            return "it belongs to the frame of every evolved task, which code keeps"
        if path in self.base:
            return "the parent's tests stay as they are" if path.startswith("tests/") else None
        return _misplaced(path) or (_misplaced_test(path) if path.startswith("tests/") else None)


def within(path: str, folder: str) -> bool:
    """Whether the path is the folder or lies in it."""
    return f"{path}/".startswith(f"{folder}/")


def _misplaced(path: str) -> str | None:
    """Why a new file cannot be there."""
    if path.startswith("environment/") and not path.startswith(f"{OVERLAY}/"):
        return f"new files for the container go below {OVERLAY}/, by their absolute path there"
    if f"{path}/".startswith(GRADERS_PLACES):
        return "the solver's container holds nothing of the tests, the solution or the grader's logs"
    if any(within(path, f"{OVERLAY}{folder}") for folder in PROGRAMS):
        return "the programs of the image stay as they are; deliver files for the work"
    if path.startswith("solution/") and not path.startswith(f"{STEPS}/"):
        return f"the solution is made of steps; write {STEPS}/NN-name"
    for folder in (STEPS, UNITS):
        if path.startswith(f"{folder}/") and not NAMED.fullmatch(path[len(folder) + 1 :]):
            return f"below {folder}/ a file is called NN-name, with two digits for its place in the order"
    return None


def _misplaced_test(path: str) -> str | None:
    """Why a new file among the tests could change what the parent's tests say, or runs before them.

    A `.dockerignore` would leave some of them out of the verifier, a `conftest.py` or a module of Python
    would be loaded into them.
    """
    if not path.startswith((f"{UNITS}/", f"{TRUTH}/")):
        return f"new tests are units, {UNITS}/NN-name; data that they read goes below {TRUTH}/"
    if path.endswith((".py", ".pyc")):
        return "Python beside the parent's tests may be loaded into them; a unit is a shell script"
    if path.startswith(f"{UNITS}/{PARENTS_NUMBER}"):
        return f"number {PARENTS_NUMBER} is the parent's own test; take a higher one"
    return None
