"""Take a task folder in: read it, mend what is only a matter of form, refuse the rest by name.

Nothing is dropped in silence: what does not belong to a task is named in a warning, everything else
that cannot be kept is refused with the path and what to do about it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandboxes.digests import harbor_digest
from sandboxes.errors import TaskRefused
from sandboxes.files import EXECUTABLE, PLAIN, TaskFile, check_files, check_path
from sandboxes.kinds import A_FOLDER, REQUIRED, check_supported, not_run_here
from sandboxes.mending import SINGLES, mended
from sandboxes.task import CONFIG, DOCKERFILE, INSTRUCTION, TEST, Task
from sandboxes.terminal_bench import OLD_CONFIG, convert

MAX_FILES = 10_000
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_TOTAL_BYTES = 512 * 1024 * 1024

CONFIGS = (CONFIG, OLD_CONFIG)
"""A folder with one of these is a task, whatever else is in it."""
TASK_FOLDERS = ("environment", "tests", "solution")


@dataclass(frozen=True)
class Intake:
    """A task that was taken in, and what was changed or left out on the way (one sentence a kind).

    `source_digest` is Harbor's digest of the files as they were found, before anything was mended.
    """

    task: Task
    warnings: tuple[str, ...]
    source_digest: str


def find_tasks(path: Path) -> list[Path]:
    """The task folders at or below `path`, sorted. A folder that is a task is itself the only one.

    Broken tasks and tasks of an old format are found too, so that a batch can say what it refused. Does
    not look inside a task, into hidden folders or through links (a link straight to a task is found).
    Raises `TaskRefused` where `path` is no readable folder.
    """
    if not path.is_dir():
        raise TaskRefused(str(path), "there is no such folder")
    return sorted(_tasks_below(path))


def _tasks_below(folder: Path) -> Iterator[Path]:
    open_folders = [folder]
    while open_folders:
        here = open_folders.pop()
        children = _children(here)
        if children is None or _looks_like_a_task(here):
            yield here  # also where it cannot be looked into, so that reading it says so
        elif here == folder or not here.is_symlink():
            open_folders += (child for child in children if not child.name.startswith("."))


def _children(folder: Path) -> list[Path] | None:
    try:
        return [child for child in folder.iterdir() if child.is_dir()]
    except OSError:
        return None


def _looks_like_a_task(folder: Path) -> bool:
    if any(os.path.lexists(folder / name) for name in CONFIGS):
        return True
    # Not the methods of `Path`, which raise where a path is longer than the system takes.
    if os.path.exists(folder / INSTRUCTION):
        return any(os.path.isdir(folder / name) for name in TASK_FOLDERS)
    return os.path.exists(folder / DOCKERFILE) and os.path.exists(folder / TEST)


def read_folder(path: Path) -> Intake:
    """Read one task folder. Links are never followed.

    Raises `TaskRefused` for anything that cannot be taken in; caps: 10,000 files, 64 MiB a file and
    512 MiB in all.
    """
    if not path.is_dir():
        raise TaskRefused(str(path), "there is no such folder")
    try:
        present = frozenset(os.listdir(path))
    except OSError as error:
        raise TaskRefused(str(path), f"this folder cannot be read: {error.strerror}") from None
    old = is_old(present)
    reader = _Reader(path, everything=old)
    files = reader.read()
    beside = [] if old else [name for name in present if not belongs(name)]
    return admit_any(files, left_out=[*reader.empty, *beside])


def is_old(names: Container[str]) -> bool:
    """Whether these are the files of an old Terminal-Bench task."""
    return OLD_CONFIG in names and CONFIG not in names


def belongs(path: str) -> bool:
    """Whether a path relative to the task folder is one that Harbor counts to the task."""
    top = path.partition("/")[0]
    return top in TASK_FOLDERS or path in SINGLES


class _Reader:
    """Reads what belongs to one task below the folder `root`, through directory handles.

    `everything`: the task is an old one, to which each file belongs.
    """

    def __init__(self, root: Path, *, everything: bool = False) -> None:
        self.empty: list[str] = []
        self._everything = everything
        self._root = root.resolve()
        self._files: dict[str, TaskFile] = {}
        self._budget = Budget()

    def read(self) -> dict[str, TaskFile]:
        for here, folders, names, handle in os.fwalk(self._root, onerror=self._unreadable):
            prefix = os.path.relpath(here, self._root)
            prefix = "" if prefix == "." else prefix + "/"
            if prefix and not (folders or names):
                self.empty.append(f"{prefix} (an empty folder)")
            folders[:] = sorted(name for name in folders if self._belongs(prefix + name))
            for name in (*folders, *names):
                if self._belongs(prefix + name):
                    self._take(prefix + name, name, handle)
        return self._files

    def _belongs(self, path: str) -> bool:
        return self._everything or belongs(path)

    def _unreadable(self, error: OSError) -> None:
        place = os.path.relpath(error.filename, self._root) if error.filename else "."
        raise TaskRefused(place, f"cannot be read: {error.strerror}")

    def _take(self, path: str, name: str, folder: int) -> None:
        check_path(path)
        try:
            self._take_entry(path, name, folder)
        except OSError as error:  # gone, or something else, since the folder was listed
            raise TaskRefused(path, f"cannot be read: {error.strerror}") from None

    def _take_entry(self, path: str, name: str, folder: int) -> None:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            if path in SINGLES or path in REQUIRED or path == OLD_CONFIG:
                raise TaskRefused(path, A_FOLDER)
            return
        self._budget.count(path)
        if stat.S_ISLNK(found.st_mode):
            self._files[path] = TaskFile(link=os.readlink(name, dir_fd=folder))
        elif stat.S_ISREG(found.st_mode):
            self._files[path] = self._regular(path, name, folder)
        else:
            raise TaskRefused(path, "this is a special file (device, pipe or socket); take it out")

    def _regular(self, path: str, name: str, folder: int) -> TaskFile:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with open(handle, "rb") as stream:
            before = os.fstat(handle)
            data = self._budget.read(path, stream.read)
            after = os.fstat(handle)
        if (
            not stat.S_ISREG(before.st_mode)
            or _written(before) != _written(after)
            or len(data) != after.st_size
        ):
            raise TaskRefused(
                path, "this file changed while it was read; import again once nothing writes to it"
            )
        return TaskFile(data, EXECUTABLE if before.st_mode & 0o111 else PLAIN)


def _written(found: os.stat_result) -> tuple[int, int]:
    return found.st_size, found.st_mtime_ns


class Budget:
    """Counts what one task takes in. Every method raises `TaskRefused`, naming the file and the cap."""

    def __init__(self) -> None:
        self._files = 0
        self._bytes = 0

    def count(self, path: str) -> None:
        """One more file, link or folder entry."""
        self._files += 1
        if self._files > MAX_FILES:
            raise TaskRefused(
                path, f"there are more than {MAX_FILES:,} files; a task holds at most that many"
            )

    def check(self, path: str, size: int) -> None:
        """That a file which says it has this size may be read."""
        if size > MAX_FILE_BYTES:
            raise TaskRefused(path, f"this file is larger than {MAX_FILE_BYTES >> 20} MiB")

    def read(self, path: str, read: Callable[[int], bytes]) -> bytes:
        """The whole of one file by calls of `read(size)`; never more than one byte over a cap is held."""
        data = read(MAX_FILE_BYTES + 1)
        self._bytes += len(data)
        self.check(path, len(data))
        if self._bytes > MAX_TOTAL_BYTES:
            raise TaskRefused(path, f"the task's files are larger than {MAX_TOTAL_BYTES >> 20} MiB together")
        return data


def admit_any(files: Mapping[str, TaskFile], left_out: Iterable[str] = ()) -> Intake:
    """Like `admit`, for the files of today's format or of the old one. Raises `TaskRefused`."""
    if not is_old(files):
        return admit(files, left_out)
    check_files(files)
    converted, notes = convert(files)
    taken = admit(converted, left_out)
    return Intake(taken.task, (*notes, *taken.warnings), taken.source_digest)


def admit(files: Mapping[str, TaskFile], left_out: Iterable[str] = ()) -> Intake:
    """Make a task of files that were read: check, mend, and say what was mended.

    `left_out` names what the reader found beside the task's own files. Raises `TaskRefused`.
    """
    check_files(files)
    kept, warnings = mended(files, left_out)
    task = Task.of(kept)
    check_supported(task)
    source_digest = task.source_digest if dict(kept) == dict(files) else harbor_digest(files)
    return Intake(task, (*warnings, *not_run_here(task.config)), source_digest)
