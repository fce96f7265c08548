"""The files a model works on: a copy in memory, changed only by name and only where it may.

Nothing here touches a disk, so a path can lead nowhere; the rules keep what is written a task's folder:
relative POSIX paths below environment/, solution/ and tests/, and the files that the root already has. A
link is shown and never followed.
"""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agents.tools.base import ToolError
from sandboxes.errors import TaskRefused
from sandboxes.files import EXECUTABLE, PLAIN, TaskFile, check_path, parents, printable
from sandboxes.task import Task
from sandboxes.text import clean

ROOTS = ("environment", "solution", "tests")
MAX_FILE_BYTES = 1024 * 1024
MAX_WRITTEN_BYTES = 8 * 1024 * 1024
MAX_WRITTEN_FILES = 500
"""Of one file, and of all that were written: more than any environment here needs by hand."""

_DRIVE = re.compile(r"[A-Za-z]:")
_NEAR_LINES, _NEAR_CHARS, _AROUND = 4_000, 300, 2
_MOST_PLACES, _MOST_COUNTED = 10, 1_000

Refuse = Callable[[str], str | None]
"""Why a path may not be changed, as a sentence; None where it may."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One file of a list: `size` in bytes; `link` is a link's target."""

    path: str
    size: int
    executable: bool
    link: str | None


class Workspace:
    """The files of one conversation. Everything that it refuses, it refuses by `ToolError`."""

    def __init__(self, files: Mapping[str, TaskFile], refuse: Refuse = lambda _: None) -> None:
        self._before = dict(files)
        self._files = dict(files)
        self._refuse = refuse

    @property
    def files(self) -> Mapping[str, TaskFile]:
        return dict(self._files)

    def changes(self) -> Mapping[str, TaskFile | None]:
        """What is different from the files it began with; None for a file that is gone."""
        paths = sorted({*self._before, *self._files})
        return {p: self._files.get(p) for p in paths if self._before.get(p) != self._files.get(p)}

    def task(self) -> Task:
        """The files as a task."""
        try:
            return Task.of(self._files)
        except TaskRefused as problem:
            raise ToolError(f"the files are no task now: {problem}") from problem

    def list(self, folder: str = "") -> tuple[Listed, ...]:
        """The files at or below a folder, all of them without one, sorted."""
        if folder.strip("/") in ("", "."):
            found = sorted(self._files)
        else:
            path = _safe(folder.rstrip("/"))
            found = sorted(p for p in self._files if p == path or p.startswith(f"{path}/"))
            if not found:
                raise ToolError(f"there is nothing at {path}; the root has {self._tops()}")
        return tuple(self._listed(path) for path in found)

    def read(self, path: str) -> str:
        """The text of a file, exactly."""
        file = self._there(_safe(path))
        try:
            return file.data.decode("utf-8")
        except UnicodeDecodeError:
            start = file.data[:16].hex(" ")
            raise ToolError(
                f"{path} is no text: {len(file.data):,} bytes, beginning {start}; look at it by a command"
            ) from None

    def write(self, path: str, text: str) -> TaskFile:
        """Make the file, or give it this text in place of all it had. Its mode stays.

        What begins with `#!` is executable.
        """
        path = self._changeable(path)
        self._check_place(path)
        if clean(text) != text:
            raise ToolError("the text holds a NUL or half a surrogate pair; write text only")
        data = text.encode()
        known = self._files.get(path)
        mode = EXECUTABLE if data.startswith(b"#!") else known.mode if known else PLAIN
        self._check_size(path, len(data))
        self._files[path] = TaskFile(data, mode)
        return self._files[path]

    def replace(self, path: str, old: str, new: str) -> int:
        """Put `new` in the place of `old`, which occurs exactly once; returns the line it begins in."""
        path = self._changeable(path)
        text = self.read(path)
        if not old:
            raise ToolError("the text to look for is empty; write the whole file with write_file instead")
        places = _places(text, old)
        if not places:
            raise ToolError(f"the text to look for is not in {path}. {_nearest(text, old)}")
        if len(places) > 1:
            numbers = dict.fromkeys(text.count("\n", 0, at) + 1 for at in places[:_MOST_PLACES])
            lines = ", ".join(str(number) for number in numbers)
            more = " and more" if len(places) > _MOST_PLACES else ""
            least = "at least " if len(places) == _MOST_COUNTED else ""
            raise ToolError(
                f"the text to look for is in {path} {least}{len(places):,} times, from lines {lines}{more}; "
                "take more of the lines around the one you mean"
            )
        self.write(path, text[: places[0]] + new + text[places[0] + len(old) :])
        return text.count("\n", 0, places[0]) + 1

    def delete(self, path: str) -> None:
        """Take a file away, or a link itself."""
        path = self._changeable(path)
        if path not in self._files:
            self._there(path)
        del self._files[path]

    def _tops(self) -> str:
        return ", ".join(sorted({path.split("/")[0] for path in self._files})) or "nothing"

    def _listed(self, path: str) -> Listed:
        file = self._files[path]
        return Listed(path, len(file.data), file.executable, file.link)

    def _there(self, path: str) -> TaskFile:
        """The regular file at that path."""
        file = self._files.get(path)
        if file is None:
            if any(known.startswith(f"{path}/") for known in self._files):
                raise ToolError(f"{path} is a folder; list it with list_files")
            raise ToolError(f"there is no file {path}{self._like(path)}")
        if file.link is not None:
            raise ToolError(f"{path} is a link to {printable(file.link)}, and links are not followed")
        return file

    def _like(self, path: str) -> str:
        known = [each for each in self._files if len(each) <= _NEAR_CHARS][:_NEAR_LINES]
        near = difflib.get_close_matches(path, known, n=3) if len(path) <= _NEAR_CHARS else []
        return f"; there is {', '.join(near)}" if near else "; list_files shows what there is"

    def _changeable(self, path: str) -> str:
        path = _safe(path)
        if path.split("/")[0] not in ROOTS and path not in self._before:
            raise ToolError(f"{path} is outside of {'/, '.join(ROOTS)}/; nothing can be written there")
        if path in ROOTS:
            raise ToolError(f"{path} is a folder")
        reason = self._refuse(path)
        if reason:
            raise ToolError(f"{path} cannot be changed: {reason}")
        return path

    def _check_place(self, path: str) -> None:
        """No link is written through or over, no file is below another one."""
        known = self._files.get(path)
        if known is not None and known.link is not None:
            raise ToolError(f"{path} is a link, and links are not followed; delete it first")
        for parent in parents(path):
            if parent in self._files:
                raise ToolError(f"{parent} is a file or a link, so nothing can be below it")
        if known is None and any(other.startswith(f"{path}/") for other in self._files):
            raise ToolError(f"{path} is a folder, so it cannot be a file")

    def _check_size(self, path: str, size: int) -> None:
        if size > MAX_FILE_BYTES:
            raise ToolError(f"{path} would have {size:,} bytes; a file may have {MAX_FILE_BYTES:,}")
        written = {p: len(file.data) for p, file in self.changes().items() if file is not None} | {path: size}
        if sum(written.values()) > MAX_WRITTEN_BYTES:
            raise ToolError(f"all that is written would have more than {MAX_WRITTEN_BYTES:,} bytes")
        if len(written) > MAX_WRITTEN_FILES:
            raise ToolError(f"no more than {MAX_WRITTEN_FILES} files may be written")


def _safe(path: str) -> str:
    """The path, if it is one inside a task as it stands: nothing is normalised away."""
    try:
        check_path(path)
    except TaskRefused as problem:
        shown = printable(path) or "an empty path"
        raise ToolError(f"{shown}: {problem.reason}{_meant(path)}") from problem
    if _DRIVE.match(path):
        raise ToolError(f"{path}: a path has to be relative to the task, without a drive")
    return path


def _meant(path: str) -> str:
    """The path that a model may have meant by one with a detour; nothing of it is done for it."""
    plain = posixpath.normpath(path)
    if plain == path or plain.startswith(("/", ".")) or printable(plain) != plain:
        return ""
    return f"; write {plain} if that is what you mean"


def _places(text: str, old: str) -> list[int]:
    """Where `old` occurs, overlapping places too, up to a number: each could be the one that is meant."""
    places: list[int] = []
    at = text.find(old)
    while at >= 0 and len(places) < _MOST_COUNTED:
        places.append(at)
        at = text.find(old, at + 1)
    return places


def _nearest(text: str, old: str) -> str:
    """The lines of the text that are most like the longest line of `old`, with those around them."""
    lines = text.splitlines()
    short = [line[:_NEAR_CHARS].strip() for line in lines[:_NEAR_LINES]]
    wanted = max((line.strip()[:_NEAR_CHARS] for line in old.splitlines()), key=len, default="")
    near = difflib.get_close_matches(wanted, [line for line in short if line], n=1, cutoff=0.5)
    if not near:
        return f"Nothing in its {len(lines)} lines is like it; read the file again."
    at = short.index(near[0])
    first = max(at - _AROUND, 0)
    block = "\n".join(line[:_NEAR_CHARS] for line in lines[first : at + _AROUND + 1])
    return f"The nearest is at line {at + 1}; lines {first + 1} and on really are:\n{block}"
