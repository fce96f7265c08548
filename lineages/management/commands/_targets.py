"""What a TARGET of `verify` means: a folder of one or many tasks, an archive, or an environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from agents.authors import author
from lineages.growth.subjects import of_environment
from lineages.library import audits, rubrics
from lineages.library.references import NoSuchEnvironment, find
from lineages.library.snapshots import store
from lineages.library.sources import NO_TASK, in_archive
from lineages.library.verifying import Case, Prepared, Target
from sandboxes.errors import TaskRefused
from sandboxes.intake import Intake, find_tasks, read_folder
from sandboxes.task import Task

JUDGE = "offline"
ENDINGS = (".tar.gz", ".tgz", ".tar", ".zip")


class Targets:
    """The tasks of one TARGET, found one at a time. `total` is how many there are, once that is known.

    Of what lies in a folder of many tasks `apart` names the folders that hold none, and `archives` the
    archives, which nobody looks into.
    """

    def __init__(self, target: str) -> None:
        """A path that exists wins over a reference.

        Raises `NoSuchEnvironment`, `TaskRefused`, and `ValueError` where nothing is named.
        """
        if not target:
            raise ValueError("TARGET is empty: name a folder, an archive or a reference")
        self.total = 1
        self.apart: tuple[str, ...] = ()
        self.archives: tuple[str, ...] = ()
        path = Path(target)
        if not path.exists():
            self._found = iter([_environment(target)])
        elif path.is_dir():
            self._found = self._in_folder(path)
        else:
            self._found = self._in_archive(path)

    def __iter__(self) -> Iterator[Target]:
        return self._found

    def _in_folder(self, path: Path) -> Iterator[Target]:
        folders = find_tasks(path)
        self.total = max(1, len(folders))
        if path not in folders:
            self.apart, self.archives = _beside(path, folders)
        if not folders:
            return iter([Target(str(path), _refusing(str(path), NO_TASK))])
        return (_task(folder, partial(read_folder, folder)) for folder in folders)

    def _in_archive(self, path: Path) -> Iterator[Target]:
        for source in in_archive(path, path, found=self._count):
            yield _task(source.path, source.read)

    def _count(self, number: int) -> None:
        self.total = number


def _beside(path: Path, folders: list[Path]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the folders below `path` that none of the tasks is in, and of the archives. No hidden ones."""
    holding = {folder.relative_to(path).parts[0] for folder in folders}
    others = sorted(child for child in path.iterdir() if child.name not in holding and child.name[0] != ".")
    apart = tuple(child.name for child in others if child.is_dir())
    return apart, tuple(child.name for child in others if not child.is_dir() and _is_archive(child))


def _is_archive(path: Path) -> bool:
    return path.name.lower().endswith(ENDINGS)


def _refusing(path: str, reason: str) -> Callable[[], Case]:
    def read() -> Case:
        raise TaskRefused(path, reason)

    return read


def _task(path: Path, read: Callable[[], Intake]) -> Target:
    def case() -> Case:
        taken = read()
        return Case(taken.task.digest, taken.warnings, partial(_prepared, taken.task))

    return Target(str(path), case)


def _prepared(task: Task) -> Prepared:
    snapshot = store(task)
    subject = audits.subject_of(snapshot, author(JUDGE), rubrics.today(rubrics.ENVIRONMENT))
    return Prepared(snapshot, None, subject)


def _environment(reference: str) -> Target:
    """An environment, judged together with its plan and parent."""
    if reference.startswith(("/", ".")):
        raise NoSuchEnvironment(f"there is no file or folder {reference!r}")
    environment = find(reference)

    def prepared() -> Prepared:
        parent = environment.parent.snapshot if environment.parent else None
        return Prepared(environment.snapshot, parent, of_environment(environment, author(JUDGE)))

    return Target(reference, lambda: Case(environment.snapshot.digest, (), prepared))
