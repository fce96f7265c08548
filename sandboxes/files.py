"""One file of a task, and the paths and links between such files."""

from __future__ import annotations

import posixpath
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sandboxes.errors import TaskRefused

MAX_PATH_BYTES = 1024
MAX_NAME_BYTES = 255
"""Of one file or folder; no file system of Linux takes more."""

# Control characters, what is not storable text, and marks that are not seen: two names that look the same
# are two files, and some make a name read backwards.
_BAD_IN_NAMES = re.compile(
    "[\x00-\x1f\x7f-\x9f\\\\\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)

EXECUTABLE = 0o755
PLAIN = 0o644

# As many as Linux follows before it says ELOOP.
_MAX_HOPS = 40


@dataclass(frozen=True, slots=True)
class TaskFile:
    """Content and permission bits of a regular file, or the target of a symbolic link.

    A link has `link` set and no data; it is only ever relative and stays inside its task.
    """

    data: bytes = b""
    mode: int = PLAIN
    link: str | None = None

    @classmethod
    def text(cls, content: str, *, executable: bool = False) -> TaskFile:
        return cls(content.encode(), EXECUTABLE if executable else PLAIN)

    @property
    def executable(self) -> bool:
        return bool(self.mode & 0o111)


def follow(files: Mapping[str, TaskFile], path: str) -> str | None:
    """Where `path` leads once every link on the way is followed, as Linux would.

    Returns the path of a file, of a folder or of nothing at all; None where the way leaves the root or
    goes round in a circle.
    """
    ahead = deque(path.split("/"))
    done: list[str] = []
    hops = 0
    while ahead:
        part = ahead.popleft()
        if part == ".." and not done:
            return None
        if part == "..":
            done.pop()
        elif part not in ("", "."):
            done.append(part)
            target = _link(files, done)
            hops += target is not None
            if hops > _MAX_HOPS or (target or "").startswith("/"):
                return None
            if target is not None:
                done.pop()
                ahead.extendleft(reversed(target.split("/")))
    return "/".join(done)


def _link(files: Mapping[str, TaskFile], parts: list[str]) -> str | None:
    file = files.get("/".join(parts))
    return file.link if file else None


def printable(name: str) -> str:
    """A file name for a sentence: as it is where it can be printed, else escaped; at most 200 characters."""
    return ascii(name[:200]) if _BAD_IN_NAMES.search(name) else name[:200]


def check_path(path: str) -> None:
    """Raises `TaskRefused` unless `path` is relative, normal and of printable UTF-8 without backslashes."""
    if _BAD_IN_NAMES.search(path):
        bad = "a backslash, a control character, a mark that is not seen, or bytes that are not UTF-8"
        raise TaskRefused(printable(path), f"a file name may not hold {bad}; rename it")
    if len(path.encode()) > MAX_PATH_BYTES:
        raise TaskRefused(printable(path), f"this path is longer than {MAX_PATH_BYTES:,} bytes")
    if any(len(part.encode()) > MAX_NAME_BYTES for part in path.split("/")):
        raise TaskRefused(printable(path), f"a name in this path is longer than {MAX_NAME_BYTES} bytes")
    if path.startswith("/") or any(part in ("", ".", "..") for part in path.split("/")):
        raise TaskRefused(path, "a path has to be relative to the task and without '..'")


def check_files(files: Mapping[str, TaskFile]) -> None:
    """Raises `TaskRefused` unless paths are safe, links stay inside, and no file is a folder too."""
    for path, file in files.items():
        check_path(path)
        if file.link is not None:
            _check_link(files, path, file.link)
        for parent in parents(path):
            if parent in files:
                raise TaskRefused(path, f"{parent} is a file or a link, so nothing can be below it")


def parents(path: str) -> Iterator[str]:
    """The folders that `path` is in, innermost first, without the root."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _check_link(files: Mapping[str, TaskFile], path: str, target: str) -> None:
    if not target or target.startswith("/") or _BAD_IN_NAMES.search(target):
        shown = printable(target)
        raise TaskRefused(path, f"this link to {shown} is not relative; put the file itself there")
    # By name first, since `follow` cannot see through a folder that is not there.
    by_name = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    if by_name == ".." or by_name.startswith("../"):
        raise TaskRefused(path, f"this link to {target} leaves the task; put the file itself there")
    if by_name != path and follow(files, path) is None:
        reason = "leaves the task or goes round in a circle, by way of another link"
        raise TaskRefused(path, f"this link to {target} {reason}; put the file itself there")
    if f"{path}/".startswith(f"{by_name}/") or by_name == ".":
        raise TaskRefused(path, f"this link to {target} goes round in a circle")
