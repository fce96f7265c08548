"""Take a task folder in: read it, mend what is only a matter of form, refuse the rest by name.

Nothing is dropped in silence: what does not belong to a task is named in a warning, everything else
that cannot be kept is refused with the path and what to do about it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandboxes.config import TaskConfig, decode
from sandboxes.digests import (
    GITIGNORE,
    HARBORIGNORE,
    SINGLE_FILES,
    UploadRules,
    harbor_digest,
    package_ignores,
)
from sandboxes.dockerfile import PolicyViolation, check_policy
from sandboxes.errors import TaskRefused
from sandboxes.files import EXECUTABLE, PLAIN, TaskFile, check_files, check_path, printable
from sandboxes.task import CONFIG, DOCKERFILE, INSTRUCTION, SOLVE, TEST, VERIFIER_DOCKERFILE, Task

MAX_FILES = 10_000
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_TOTAL_BYTES = 512 * 1024 * 1024

OLD_CONFIG = "task.yaml"
_TASK_FOLDERS = ("environment", "tests", "solution")
_SINGLES = (*SINGLE_FILES, GITIGNORE, HARBORIGNORE)

A_FOLDER = "this is a folder where a file belongs"
_BOM = b"\xef\xbb\xbf"


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
    if any(os.path.lexists(folder / name) for name in (CONFIG, OLD_CONFIG)):
        return True
    if (folder / INSTRUCTION).exists():
        return any((folder / name).is_dir() for name in _TASK_FOLDERS)
    return (folder / DOCKERFILE).exists() and (folder / TEST).exists()


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
    if OLD_CONFIG in present and CONFIG not in present:
        raise TaskRefused(OLD_CONFIG, OLD_FORMAT)
    reader = _Reader(path)
    files = reader.read()
    return admit(files, left_out=[*reader.empty, *(name for name in present if not belongs(name))])


OLD_FORMAT = (
    "this is a Terminal-Bench task.yaml, a format that is not supported yet; "
    "convert the task with `harbor task migrate`"
)


def belongs(path: str) -> bool:
    """Whether a path relative to the task folder is one that Harbor counts to the task."""
    top = path.partition("/")[0]
    return top in _TASK_FOLDERS or path in _SINGLES


class _Reader:
    """Reads what belongs to one task below the folder `root`, through directory handles."""

    def __init__(self, root: Path) -> None:
        self.empty: list[str] = []
        self._root = root.resolve()
        self._files: dict[str, TaskFile] = {}
        self._budget = Budget()

    def read(self) -> dict[str, TaskFile]:
        for here, folders, names, handle in os.fwalk(self._root, onerror=self._unreadable):
            prefix = os.path.relpath(here, self._root)
            prefix = "" if prefix == "." else prefix + "/"
            if prefix and not (folders or names):
                self.empty.append(f"{prefix} (an empty folder)")
            folders[:] = sorted(name for name in folders if belongs(prefix + name))
            for name in (*folders, *names):
                if belongs(prefix + name):
                    self._take(prefix + name, name, handle)
        return self._files

    def _unreadable(self, error: OSError) -> None:
        place = os.path.relpath(error.filename, self._root) if error.filename else "."
        raise TaskRefused(place, f"cannot be read: {error.strerror}")

    def _take(self, path: str, name: str, folder: int) -> None:
        check_path(path)
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            if path in _SINGLES or path in _REQUIRED:
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
        try:
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        except OSError as error:
            raise TaskRefused(path, f"cannot be read: {error.strerror}") from None
        with open(handle, "rb") as stream:
            mode = os.fstat(handle).st_mode
            return TaskFile(self._budget.read(path, stream.read), EXECUTABLE if mode & 0o111 else PLAIN)


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

    def read(self, path: str, read: Callable[[int], bytes]) -> bytes:
        """The whole of one file by calls of `read(size)`; never more than one byte over a cap is held."""
        data = read(MAX_FILE_BYTES + 1)
        self._bytes += len(data)
        if len(data) > MAX_FILE_BYTES:
            raise TaskRefused(path, f"this file is larger than {MAX_FILE_BYTES >> 20} MiB")
        if self._bytes > MAX_TOTAL_BYTES:
            raise TaskRefused(path, f"the task's files are larger than {MAX_TOTAL_BYTES >> 20} MiB together")
        return data


def admit(files: Mapping[str, TaskFile], left_out: Iterable[str] = ()) -> Intake:
    """Make a task of files that were read: check, mend, and say what was mended.

    `left_out` names what the reader found beside the task's own files. Raises `TaskRefused`.
    """
    check_files(files)
    source_digest = harbor_digest(files)
    kept, warnings = _without_ignored(files, left_out)
    for mend in (_without_bom, _with_unix_lines, _with_exec_bits):
        kept, warning = mend(kept)
        warnings += warning
    task = Task.of(kept)
    _check_supported(task)
    return Intake(task, (*warnings, *_not_run_here(task.config)), source_digest)


_Files = Mapping[str, TaskFile]
_Mended = tuple[_Files, list[str]]


def _without_ignored(files: _Files, left_out: Iterable[str]) -> _Mended:
    """Without the leavings of editors and Python, and without what `.harborignore` names."""
    rules, uploads = package_ignores(files), UploadRules(files)
    named = {path for path in files if rules.match_file(path) and path not in _SINGLES}
    # Under environment/ an editor's swap file may be what the task is about.
    rubbish = {path for path in named if GITIGNORE not in files and not path.startswith("environment/")}
    hidden = {path for path in files if uploads.leave_out(path) and not path.endswith(HARBORIGNORE)}
    kept = {path: file for path, file in files.items() if path not in rubbish | hidden}
    # Harbor runs a task with what .gitignore names, and publishes it without; here the run counts.
    unpublished = named - rubbish - hidden
    return kept, [
        *_warning("left out", {*left_out, *rubbish, *hidden}),
        *_warning("kept, though Harbor publishes the task without it", unpublished),
    ]


def _warning(what: str, paths: Iterable[str]) -> list[str]:
    names = sorted(paths)
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return [f"{what}: {', '.join(printable(name) for name in names[:20])}{more}"] if names else []


def _without_bom(files: _Files) -> _Mended:
    changed = {
        path: TaskFile(file.data.removeprefix(_BOM), file.mode)
        for path, file in files.items()
        if _is_form(path, file) and file.data.startswith(_BOM)
    }
    return {**files, **changed}, _warning("byte order mark removed", changed)


def _with_unix_lines(files: _Files) -> _Mended:
    changed = {
        path: TaskFile(file.data.replace(b"\r\n", b"\n"), file.mode)
        for path, file in files.items()
        if _is_form(path, file) and b"\r\n" in file.data
    }
    return {**files, **changed}, _warning("CRLF line ends changed to LF", changed)


def _with_exec_bits(files: _Files) -> _Mended:
    changed = {
        path: TaskFile(file.data, EXECUTABLE)
        for path, file in files.items()
        if _is_script(path, file) and file.data.startswith(b"#!") and not file.executable
    }
    return {**files, **changed}, _warning("executable bit set", changed)


def _is_form(path: str, file: TaskFile) -> bool:
    """Whether line ends and marks are a matter of form here: never in what the solver is given to work on."""
    if path in (CONFIG, DOCKERFILE, VERIFIER_DOCKERFILE) or "/" not in path and path.endswith(".md"):
        return file.link is None
    return _is_script(path, file) and b"\0" not in file.data


PLAIN_DATA = ("tests/held/", "tests/pristine/")
"""Copies of what the solver is given, which an evolved task keeps for its verifier."""


def _is_script(path: str, file: TaskFile) -> bool:
    if file.link is not None or not path.startswith(("tests/", "solution/")):
        return False
    if path.startswith(PLAIN_DATA):
        return False
    return path.endswith(".sh") or file.data.removeprefix(_BOM).startswith(b"#!")


_REQUIRED = {
    INSTRUCTION: "add the text that the agent is given",
    DOCKERFILE: "add the Dockerfile that builds the agent's container",
    TEST: "add the script that decides and writes /logs/verifier/reward.txt",
    SOLVE: "add the reference solution, a script that solves the task",
}


def _check_supported(task: Task) -> None:
    _refuse_other_kinds(task)
    for path, advice in _REQUIRED.items():
        if task.under(path):
            raise TaskRefused(path, A_FOLDER)
        if path not in task:
            raise TaskRefused(path, f"this file is missing; {advice}")
    for path in (CONFIG, VERIFIER_DOCKERFILE, *_REQUIRED):
        if path in task and task.files[path].link is not None:
            raise TaskRefused(path, "this is a link; put the file itself there")
    if not decode(task.files[INSTRUCTION].data, INSTRUCTION).strip():
        raise TaskRefused(INSTRUCTION, f"this file is empty; {_REQUIRED[INSTRUCTION]}")
    for path in (DOCKERFILE, VERIFIER_DOCKERFILE):
        if path in task:
            _check_dockerfile(path, decode(task.files[path].data, path))


def _check_dockerfile(path: str, text: str) -> None:
    try:
        check_policy(text, build_network=True)  # whether builds have one is the backend's to say
    except PolicyViolation as violation:
        raise TaskRefused(path, violation.reason, violation.line) from None


def _refuse_other_kinds(task: Task) -> None:
    for folder in ("environment", "tests"):
        for name in ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml"):
            if f"{folder}/{name}" in task:
                raise TaskRefused(f"{folder}/{name}", f"tasks with a {name} are not supported yet")
    verifier = task.config.verifier.environment
    if task.config.environment.docker_image and DOCKERFILE not in task:
        raise TaskRefused(
            CONFIG, "a prebuilt docker_image without environment/Dockerfile is not supported yet"
        )
    if verifier and verifier.docker_image and VERIFIER_DOCKERFILE not in task:
        raise TaskRefused(CONFIG, "a prebuilt docker_image without tests/Dockerfile is not supported yet")


def _not_run_here(config: TaskConfig) -> Iterator[str]:
    for key in ("healthcheck", "mcp_servers"):
        if getattr(config.environment, key):
            yield f"environment.{key} is kept in the task, but has no effect in runs here"
    if config.environment.docker_image:
        yield "environment.docker_image is what runs are made from; environment/Dockerfile is not built"
    verifier = config.verifier.environment
    if verifier and verifier.docker_image:
        yield "verifier.environment.docker_image is what the tests run in; tests/Dockerfile is not built"
