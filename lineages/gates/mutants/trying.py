"""Running wrong solutions: what the reference leaves, and what the tests say to something else.

In separate mode a wrong output is only graded, and the solver is not run again. In shared mode, where the
tests see the whole file system, the reference is run and its outputs changed before it ends.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from lineages.gates.base import Subject
from lineages.gates.mutants import Files, Mutant
from lineages.gates.mutants.outputs import outputs_of
from lineages.gates.trials import fresh, regrade, solved, untouched
from sandboxes.base import Kind as Entered
from sandboxes.base import Sandbox
from sandboxes.errors import TooMuch
from sandboxes.files import TaskFile
from sandboxes.handover import Delivery, run_plumbing
from sandboxes.task import INSTRUCTION, Task
from sandboxes.trial import Solved, Solver, Trial, oracle

MOST_NAMES = 200
"""Of paths that an instruction may name in shared mode; a longer one is no list of outputs."""

NOTHING_SEEN = (
    "The reference makes or changes no file that the instruction names, so that what a wrong solution leaves "
    "cannot be told from it."
)

LEAST_SECONDS, TIMES_AS_LONG = 60.0, 5.0
"""A command of a wrong solution may take that long, or so many times what the reference took in all."""

_PATH = re.compile(r"(?<![\w./:-])/?(?:[\w.+-]+/)*[\w.+-]*\w/?")
_SYSTEM = ("/bin", "/dev", "/lib", "/proc", "/run", "/sbin", "/sys", "/tests", "/usr")
_MIXED = ("/", "/etc", "/root", "/var")
"""Folders that hold the system's own beside other things: those below them may be a task's."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A wrong solution's trial. `left` is None where nobody looked: it is what the mutant says."""

    done: Trial
    left: Files | None = None


class Trying(Protocol):
    """`reference` are the outputs that the reference left, `before` what stood there without it.

    `first` is the trial in which they were seen. `left_out` says what was not looked at, and why.
    """

    first: Trial
    reference: Files
    before: Files
    left_out: Sequence[str]

    def output(self, mutant: Mutant) -> Tried: ...

    def solution(self, mutant: Mutant) -> Tried: ...

    def again(self) -> Files:
        """The outputs of the reference, really run once more."""


def trying(subject: Subject) -> Trying:
    """The way to try mutants of this task. Raises as `run_trial` does."""
    return Separate(subject) if subject.task.separate else Shared(subject)


def _patient(subject: Subject) -> Subject:
    """The subject with less time: a wrong solution may never end, and the task's own limit be an hour."""
    most = max(LEAST_SECONDS, TIMES_AS_LONG * solved(subject).seconds)
    return replace(subject, limits=replace(subject.limits, seconds=min(subject.limits.seconds, most)))


class Separate:
    """Outputs are the files that are handed over."""

    def __init__(self, subject: Subject) -> None:
        self._subject = _patient(subject)
        self.first = solved(subject)
        self._left = self.first.solved or Solved(())
        self.reference: Files = self._left.artifacts
        self.before: Files = untouched(subject).artifacts
        self.left_out: Sequence[str] = [
            f"{each.source} is not changed: {each.refused}." for each in self._left.deliveries if each.refused
        ]

    def output(self, mutant: Mutant) -> Tried:
        return Tried(regrade(self._subject, with_outputs(self._left, mutant.outputs)))

    def solution(self, mutant: Mutant) -> Tried:
        done = fresh(self._subject, reference_with(mutant.solution))
        return Tried(done, done.artifacts)

    def again(self) -> Files:
        return self._subject.once.get("oracle, again", lambda: fresh(self._subject, oracle)).artifacts


def with_outputs(left: Solved, outputs: Mapping[str, TaskFile | None]) -> Solved:
    """What a solver left, with these files another or gone; its commands are another trial's evidence."""
    return Solved(tuple(_changed(delivery, outputs) for delivery in left.deliveries))


def _changed(delivery: Delivery, outputs: Mapping[str, TaskFile | None]) -> Delivery:
    inside = delivery.source.rstrip("/") + "/"
    own = {
        path: file
        for path, file in outputs.items()
        if path in delivery.files or path == delivery.source or (delivery.folder and path.startswith(inside))
    }
    files = {**delivery.files, **{path: file for path, file in own.items() if file}}
    return replace(delivery, files={path: file for path, file in files.items() if own.get(path, file)})


def reference_with(files: Files) -> Solver:
    """The reference solution, these files of it being others."""

    def solve(task: Task, sandbox: Sandbox) -> None:
        oracle(task.replace(files), sandbox)

    return solve


class Shared:
    """Outputs are the files that the instruction names, or that are in a folder which it names."""

    def __init__(self, subject: Subject) -> None:
        self._subject = _patient(subject)
        every = named_paths(subject.task.text(INSTRUCTION))
        self._names = every[:MOST_NAMES]
        seen = _Seen(self._names)
        self.first = fresh(subject, seen.around(oracle))
        self.reference: Files = seen.after
        self.before: Files = seen.before
        self.left_out: Sequence[str] = sorted(seen.left_out)
        if len(every) > MOST_NAMES:
            more = f"The instruction names {len(every)} paths; only the first {MOST_NAMES} are looked at."
            self.left_out = [more, *self.left_out]
        if not outputs_of(self.reference, self.before):
            self.left_out = [NOTHING_SEEN, *self.left_out]

    def output(self, mutant: Mutant) -> Tried:
        def solve(task: Task, sandbox: Sandbox) -> None:
            oracle(task, sandbox)
            for path, file in mutant.outputs.items():
                _put(sandbox, path, file)

        return Tried(fresh(self._subject, solve))

    def solution(self, mutant: Mutant) -> Tried:
        seen = _Seen(self._names)
        done = fresh(self._subject, seen.around(reference_with(mutant.solution)))
        return Tried(done, seen.after)

    def again(self) -> Files:
        return self._subject.once.get("oracle, again", self._run_again)

    def _run_again(self) -> Files:
        seen = _Seen(self._names)
        fresh(self._subject, seen.around(oracle))
        return seen.after


def _put(sandbox: Sandbox, path: str, file: TaskFile | None) -> None:
    if file is None:
        run_plumbing(sandbox, 'rm -f -- "$@"', [path])
    else:
        sandbox.write_files({posixpath.basename(path): file}, posixpath.dirname(path))


@dataclass
class _Seen:
    """What stood at the named places before and after a solver's turn."""

    names: list[str]
    before: dict[str, TaskFile] = field(default_factory=dict)
    after: dict[str, TaskFile] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)

    def around(self, solver: Solver) -> Solver:
        def solve(task: Task, sandbox: Sandbox) -> None:
            self.before = self._looked(sandbox)
            solver(task, sandbox)
            self.after = self._looked(sandbox)

        return solve

    def _looked(self, sandbox: Sandbox) -> dict[str, TaskFile]:
        """The regular files at the named places, and below the folders among them."""
        found: dict[str, TaskFile] = {}
        for path, entry in sandbox.look(list(_places(sandbox.image.workdir, self.names))).items():
            if entry.kind is Entered.FOLDER and _is_system(path):
                self.left_out.add(f"{path} holds the system's own; only what is named in it is looked at.")
                continue
            try:
                read = sandbox.read_files([path])
            except TooMuch as refusal:
                # A whole workspace, may be; the files in it that the text names are looked at themselves.
                self.left_out.add(f"{path} as a whole is not looked at or changed: {refusal}.")
                continue
            if not read and entry.kind is not Entered.FOLDER:
                self.left_out.add(f"{path} is a link, a special file or behind a link; it is not changed.")
            found |= read
        return found


def named_paths(instruction: str) -> list[str]:
    """What in a text may be the path of a file or a folder, in order: a slash or a suffix is in it."""
    found = (match[0].rstrip(".") for match in _PATH.finditer(instruction))
    return list(dict.fromkeys(each for each in found if "/" in each or "." in each.strip(".")))


def _places(workdir: str, names: list[str]) -> Iterator[str]:
    """Absolute paths that the names may mean: a relative one below the work folder and each named folder."""
    absolute = [posixpath.normpath(name) for name in names if name.startswith("/")]
    yield from absolute
    for name in names:
        if not name.startswith("/"):
            yield from (
                posixpath.normpath(f"{folder}/{name}") for folder in dict.fromkeys([workdir, *absolute])
            )


def _is_system(path: str) -> bool:
    return path in _MIXED or any(f"{path}/".startswith(f"{folder}/") for folder in _SYSTEM)
