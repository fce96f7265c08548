"""An evolved task's files: the parent's, and one more part for each changed pair.

    task.toml                  edited in place: comments, order and unknown keys stay
    instruction.md             the seed's text, then "Further requirements", within `word_cap`
    environment/Dockerfile     the seed's, ending in `COPY overlay/ /` (leaf by leaf where the image has a
                               user of its own); what was taken away is gone
    environment/.dockerignore  the seed's, where it has one, ending in lines that let the overlay through
    environment/overlay/…      what operators deliver, at its container path
    solution/solve.sh          runs solution/steps/NN-*: 50-seed, obstacles before it, dependent steps after
    tests/test.sh              runs tests/units/NN-*: 00-seed and one for each use of an operator
    tests/held/…               pristine bytes of what was taken away, at its container path
    tests/pristine/, tests/Dockerfile   of a task that graded in the solver's container before

What a held path holds is no longer in the verifier's image at its own place: there a unit sees the
solver's file or none, never a pristine one that would pass for it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import tomlkit

from agents.composition import (
    HELD,
    IGNORES,
    OVERLAY,
    SEED_SOLVE,
    SEED_STEP,
    SEED_TEST,
    SEED_UNIT,
    STEPS,
    UNITS,
    is_frame,
)
from agents.offline.contexts import (
    below,
    brought,
    spell_out_root,
    take_away,
    under,
    uses_of,
    without_landing,
)
from agents.offline.operator import Part, Site, Subject
from agents.offline.ownership import copy_of, holds_anything, user_of
from agents.offline.reading import Reading, desk, read_task
from agents.offline.runners import (
    SEED_STEP_TEXT,
    SEED_UNIT_TEXT,
    SOLVE_RUNNER,
    TEST_RUNNER,
    interpreter,
)
from agents.plan import Binding, Composition, Requirement, Use
from agents.roles import CannotBuild
from sandboxes.dockerfile import Copies, copies
from sandboxes.files import TaskFile
from sandboxes.task import CONFIG, DOCKERFILE, INSTRUCTION, SOLVE, TEST, VERIFIER_DOCKERFILE, Task

PRISTINE_FOLDER = "pristine"
PLACEHOLDER = ".keep"
LET_THROUGH = ("!overlay", "!overlay/**")
HEADING = "## Further requirements"


@dataclass(frozen=True, slots=True)
class Placement:
    """One part to put into the task, with what the composition has to remember of it."""

    subject: Subject
    site: Site
    part: Part
    requirement: str
    use: Use
    before: bool


class Composer:
    """Builds one child from the parent's files: each `place` adds a part, `finish` seals the whole."""

    def __init__(self, parent: Task, composition: Composition) -> None:
        """Raises `CannotBuild` for a task that has no shape we can extend."""
        self.parent = parent
        self.reading = read_task(parent)
        self.files = dict(parent.files)
        self.composition = composition if composition.seed_instruction else begun(parent)
        self.artifacts = [artifact.source for artifact in parent.config.artifacts]
        self._refuse()
        self._let_overlay_through()
        if SEED_STEP not in self.files:
            self._convert()

    def _refuse(self) -> None:
        orphan = without_history(self.parent, self.composition)
        if orphan:
            raise CannotBuild(orphan)
        missing = [path for path in (DOCKERFILE, SOLVE, TEST, INSTRUCTION) if path not in self.files]
        if missing:
            raise CannotBuild(f"the task has no {missing[0]}")
        if "environment/docker-compose.yaml" in self.files:
            raise CannotBuild("the task is a composition of several containers (docker-compose.yaml)")
        own = [folder for folder in (STEPS, UNITS, OVERLAY) if under(self.files, folder)]
        if own and SEED_STEP not in self.files:
            # The seed's own scripts would run our parts, and ours would run them, without an end.
            raise CannotBuild(f"the task has a folder {own[0]} of its own")
        if self.parent.config.environment.docker_image:
            raise CannotBuild("the task starts from a prebuilt image, which nothing can be added to")

    def _convert(self) -> None:
        """The first evolution: runners take the scripts' place, the verifier gets an image of its own."""
        if not self.parent.separate:
            self.artifacts = self.artifacts or graded_files(self.reading)
        if VERIFIER_DOCKERFILE not in self.files:
            self._make_verifier()
        elif (
            f"/{SEED_UNIT}"
            not in copies(self.parent.text(VERIFIER_DOCKERFILE), self._tests_with_units()).files
        ):
            self._append(VERIFIER_DOCKERFILE, "COPY . /tests/")
        spell_out_root(self.files, "environment")
        self._append(DOCKERFILE, copy_of(desk(self.reading.workdir), self._user()))
        self._put_runner(SOLVE, SEED_SOLVE, SOLVE_RUNNER, SEED_STEP, SEED_STEP_TEXT)
        self._put_runner(TEST, SEED_TEST, TEST_RUNNER, SEED_UNIT, SEED_UNIT_TEXT)

    def _user(self) -> str:
        return user_of(self.parent.text(DOCKERFILE))

    def _tests_with_units(self) -> Mapping[str, TaskFile]:
        return {**under(self.files, "tests"), "units/00-seed": TaskFile()}

    def _make_verifier(self) -> None:
        """The verifier's image: the seed's environment, its sources byte for byte below tests/pristine."""
        seed = dict(self.parent.files)
        spell_out_root(seed, "environment")
        dockerfile = seed[DOCKERFILE].data.decode()
        for path in brought(dockerfile, under(self.parent.files, "environment")):
            self.files[f"tests/{PRISTINE_FOLDER}/{path}"] = self.parent.files[f"environment/{path}"]
        self.files[VERIFIER_DOCKERFILE] = TaskFile.text(below(dockerfile, PRISTINE_FOLDER))
        self._append(VERIFIER_DOCKERFILE, "COPY . /tests/")

    def _put_runner(self, path: str, seed_path: str, runner: str, part_path: str, part: str) -> None:
        seed = self.files[path]
        self.files[seed_path] = seed
        self.files[path] = TaskFile.text(runner, executable=True)
        text = seed.data.decode("utf-8", "replace")
        self.files[part_path] = TaskFile.text(part.format(interpreter=interpreter(text)))

    def _append(self, path: str, line: str) -> None:
        text = self.files[path].data.decode()
        newline = "" if text.endswith("\n") else "\n"
        self.files[path] = replace(self.files[path], data=f"{text}{newline}{line}\n".encode())

    def place(self, placement: Placement) -> Binding:
        """Put one part in. Raises `CannotBuild` if its subject cannot be taken away cleanly."""
        before = dict(self.files)
        for path, data in {
            **placement.part.delivered,
            placement.site.note: placement.part.note.encode(),
        }.items():
            self.files[f"{OVERLAY}{path}"] = TaskFile(data)
        if placement.before:
            self._take_away(placement.subject.path, placement.subject.data)
        step = f"{STEPS}/{self._step_number(placement.before):02d}-{placement.site.name[3:]}"
        unit = f"{UNITS}/{placement.site.name}"
        self.files[step] = TaskFile.text(placement.part.step)
        self.files[unit] = TaskFile.text(placement.part.unit)
        self._add_artifacts(placement.part.artifacts)
        requirement = Requirement(key=placement.use.key, text=placement.requirement)
        self.composition = self.composition.model_copy(
            update={
                "requirements": (*self.composition.requirements, requirement),
                "uses": (*self.composition.uses, placement.use),
            }
        )
        changed = {path for path in {*before, *self.files} if before.get(path) != self.files.get(path)}
        return Binding(
            key=placement.use.key,
            solution_block=step,
            test_units=(unit,),
            environment_paths=tuple(
                sorted(path for path in changed if path.startswith("environment/") and not is_frame(path))
            ),
            requirement=placement.requirement,
        )

    def _step_number(self, before: bool) -> int:
        """Obstacles run newest first, so each new one goes below the lowest; dependent steps go on top."""
        taken = [
            int(path.rsplit("/", 1)[-1].split("-")[0]) for path in self.files if path.startswith(f"{STEPS}/")
        ]
        return min(taken) - 1 if before else max(taken) + 1

    def adopt(
        self, files: Mapping[str, TaskFile], requirements: Iterable[Requirement], artifacts: Iterable[str]
    ) -> None:
        """Put another author's work in place: `files` is the whole child, of which the frame stays ours.

        A delivered file that it does without is taken away as `place` would. Raises `CannotBuild`.
        """
        gone = [path for path in self.files if not is_frame(path) and path not in files]
        # First: an overlay that is empty would leave the Dockerfile along with an input.
        self.files.update({path: file for path, file in files.items() if not is_frame(path)})
        landed = {path: place for place, path in self._landed("environment").files.items()}
        for path in gone:
            place = landed.get(path.removeprefix("environment/"))
            if path.startswith("environment/") and not path.startswith(f"{OVERLAY}/") and place:
                self._take_away(place, self.files[path].data)
            else:
                del self.files[path]
        self._add_artifacts(artifacts)
        told = (*self.composition.requirements, *requirements)
        self.composition = self.composition.model_copy(update={"requirements": told})

    def _take_away(self, place: str, data: bytes) -> None:
        context = under(self.files, "environment")
        dockerfile = self.files[DOCKERFILE].data.decode()
        path = copies(dockerfile, context).files.get(place)
        if path is None:
            raise CannotBuild(f"{place} is not a file that the environment's Dockerfile copies")
        if uses_of(dockerfile, context, path) > 1:
            raise CannotBuild(f"{path} is copied to several places, so it cannot be taken away from one")
        take_away(self.files, "environment", path)
        self._keep_folder(posixpath.dirname(place))
        self._hold(place, data)

    def _keep_folder(self, folder: str) -> None:
        """A folder that is gone with its last file comes back empty where only its owner could make it."""
        user, own = self._user(), desk(self.reading.workdir)
        landed = self._landed("environment")
        if not user or holds_anything(landed, folder) or f"{folder}/".startswith(f"{own}/"):
            return
        self.files[f"{OVERLAY}{folder}/{PLACEHOLDER}"] = TaskFile()
        self._append(DOCKERFILE, copy_of(folder, user))

    def _landed(self, root: str) -> Copies:
        return copies(self.files[f"{root}/Dockerfile"].data.decode(), under(self.files, root))

    def _hold(self, place: str, data: bytes) -> None:
        """Keep the pristine bytes for the verifier, but not where its image would put them.

        The files themselves stay where they are in tests/: the seed's own tests may read them there.
        """
        context = under(self.files, "tests")
        verifier = self.files[VERIFIER_DOCKERFILE]
        path = copies(verifier.data.decode(), context).files.get(place)
        if path is not None:
            text = without_landing(verifier.data.decode(), context, path, place)
            if text is None:
                raise CannotBuild(
                    f"the verifier's own Dockerfile brings {path} in a way that cannot be undone"
                )
            self.files[VERIFIER_DOCKERFILE] = replace(verifier, data=text.encode())
        self.files[HELD + place] = TaskFile(data)

    def _add_artifacts(self, paths: Iterable[str]) -> None:
        for path in paths:
            if not any(path == known or path.startswith(known.rstrip("/") + "/") for known in self.artifacts):
                self.artifacts.append(path)

    def finish(self, generation: int) -> dict[str, TaskFile | None]:
        """The residual on the parent's files.

        Raises `CannotBuild` if the instruction is over its cap, or a part would not be in its image.
        """
        self._check_landings()
        instruction = rendered(self.composition)
        words, cap = len(instruction.split()), word_cap(self.composition)
        if words > cap:
            raise CannotBuild(f"the instruction would have {words} words, and its cap is {cap}")
        self.files[INSTRUCTION] = replace(self.files[INSTRUCTION], data=instruction.encode())
        config = configured(self.parent.text(CONFIG), self.artifacts, generation)
        self.files[CONFIG] = replace(self.files[CONFIG], data=config.encode())
        child = Task.of(self.files)
        return {path: child.files.get(path) for path in child.changed_paths(self.parent)}

    def _let_overlay_through(self) -> None:
        for path in IGNORES:
            lines = self.files[path].data.decode("utf-8", "replace").split("\n") if path in self.files else []
            if lines and lines[-3:] != [*LET_THROUGH, ""]:
                self._append(path, "\n".join(LET_THROUGH))

    def _check_landings(self) -> None:
        """What does not land is not there: a solver could not know of it, nor a verifier run it."""
        landed = {root: self._landed(root).files for root in ("environment", "tests")}
        for path in self.files:
            root, _, name = path.partition("/")
            container = path[len(OVERLAY) :] if path.startswith(f"{OVERLAY}/") else f"/{path}"
            delivered = path.startswith((f"{OVERLAY}/", f"{UNITS}/"))
            if delivered and landed[root].get(container) != name:
                raise CannotBuild(f"{path} would not be at {container}: the task's build leaves it out")


def without_history(task: Task, composition: Composition) -> str:
    """Why an evolved task that came without its composition cannot be grown; empty for any other task.

    What its parts are about is not in its files: its notes would pass for inputs, its steps for the seed's.
    """
    if SEED_STEP not in task or composition.uses or composition.requirements:
        return ""
    return "this is an evolved task without its history: grow it where it was grown"


def begun(seed: Task) -> Composition:
    """The composition of a seed: nothing added yet."""
    text = seed.text(INSTRUCTION)
    return Composition(seed_instruction=text, seed_words=len(text.split()))


def word_cap(composition: Composition) -> int:
    return max(composition.seed_words * 16 // 10, composition.seed_words + 180)


def rendered(composition: Composition) -> str:
    """The instruction: the seed's text unchanged, then one line for each requirement."""
    if not composition.requirements:
        return composition.seed_instruction
    lines = "".join(f"- {requirement.text}\n" for requirement in composition.requirements)
    return f"{composition.seed_instruction.rstrip()}\n\n{HEADING}\n\n{lines}"


def graded_files(reading: Reading) -> list[str]:
    """What leaves the solver: the files that the reference writes if all are known, else its folder."""
    if reading.complete:
        return list(reading.outputs)
    if reading.workdir == "/":
        raise CannotBuild("it cannot be told which files the solution writes, and the working folder is /")
    return [reading.workdir]


def configured(text: str, artifacts: list[str], generation: int) -> str:
    """`task.toml` with separate grading, the artifacts and the generation's name; all else as it was."""
    document = tomlkit.parse(text)
    verifier = document.setdefault("verifier", tomlkit.table())
    verifier["environment_mode"] = "separate"
    listed: Any = document.get("artifacts")
    if listed is None:
        document["artifacts"] = listed = tomlkit.array()
    known = {entry if isinstance(entry, str) else entry["source"] for entry in listed}
    for path in artifacts:
        if path not in known:
            listed.append(path)
    if "task" in document and "name" in document["task"]:
        document["task"]["name"] = generation_name(str(document["task"]["name"]), generation)
    return tomlkit.dumps(document)


def generation_name(name: str, generation: int) -> str:
    base, dash, last = name.rpartition("-g")
    return f"{base if dash and last.isdigit() else name}-g{generation}"
