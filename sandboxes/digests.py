"""The two digests of a task: ours, which a verdict is bound to, and the one Harbor's packager computes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pathspec import GitIgnoreSpec, PathSpec

from sandboxes.errors import TaskRefused
from sandboxes.files import TaskFile, follow

SINGLE_FILES = ("task.toml", "instruction.md", "README.md", "trajectory.json")
FOLDERS = ("environment", "tests", "solution", "steps")
GITIGNORE = ".gitignore"
HARBORIGNORE = ".harborignore"
DEFAULT_IGNORES = ("__pycache__/", "*.pyc", ".DS_Store", "*.swp", "*.swo", "*~")
_DEFAULT = PathSpec.from_lines("gitignore", DEFAULT_IGNORES)


def content_digest(files: Mapping[str, TaskFile]) -> str:
    """Hex SHA-256 over each file's path, kind (plain, executable, link) and content or link target.

    Order of insertion, and permission bits other than the executable ones, do not count.
    """
    outer = hashlib.sha256()
    for path, file in sorted(files.items()):
        name = path.encode("utf-8", errors="surrogatepass")
        # Length first and a digest of fixed size last: no two sets of files give the same stream.
        outer.update(b"%d:%b%b" % (len(name), name, _kind(file)))
        outer.update(hashlib.sha256(_content(file)).digest())
    return outer.hexdigest()


def _kind(file: TaskFile) -> bytes:
    if file.link is not None:
        return b"l"
    return b"x" if file.executable else b"-"


def _content(file: TaskFile) -> bytes:
    return file.data if file.link is None else file.link.encode("utf-8", errors="surrogatepass")


def harbor_digest(files: Mapping[str, TaskFile]) -> str:
    """Hex SHA-256 as `publisher/packager.py` of harbor 0.26 computes it.

    As there, a link to a file counts with the content that it leads to, and a link to a folder or to
    nothing is left out with whatever is behind it.
    """
    outer = hashlib.sha256()
    for path, file in packaged(files):
        outer.update(f"{path}\0{hashlib.sha256(file.data).hexdigest()}\n".encode("utf-8", "surrogatepass"))
    return outer.hexdigest()


def packaged(files: Mapping[str, TaskFile]) -> Iterator[tuple[str, TaskFile]]:
    """The files that Harbor's packager publishes, links followed, sorted by path."""
    ignored = package_ignores(files)
    uploads = UploadRules(files)
    for path in sorted(files):
        if not _is_publishable(path) or ignored.match_file(path):
            continue
        target = follow(files, path) or ""
        if target in files and not uploads.leave_out(path) and not uploads.leave_out(target):
            yield path, files[target]


def _is_publishable(path: str) -> bool:
    return path in SINGLE_FILES or path.partition("/")[0] in FOLDERS and "/" in path


def package_ignores(files: Mapping[str, TaskFile]) -> PathSpec[Any]:
    """The task's `.gitignore`, or Harbor's default rules where there is none."""
    target = follow(files, GITIGNORE) or ""
    return PathSpec.from_lines("gitignore", _lines(GITIGNORE, files[target])) if target in files else _DEFAULT


def _lines(path: str, file: TaskFile) -> list[str]:
    """The patterns of a rule file. Raises `TaskRefused` for one that is none."""
    lines = file.data.decode("utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            GitIgnoreSpec.from_lines([line])
        except (ValueError, re.error) as error:
            raise TaskRefused(path, f"this pattern cannot be read: {error}", number) from None
    return lines


class UploadRules:
    """The `.harborignore` files in `tests/` and `solution/`: what Harbor neither packs nor uploads.

    A file counts for its own folder and all below; the deepest rule that speaks decides, and nothing
    below a folder that is left out comes back.
    """

    def __init__(self, files: Mapping[str, TaskFile]) -> None:
        self._rules = {
            path.rpartition("/")[0]: GitIgnoreSpec.from_lines(_lines(path, file))
            for path, file in files.items()
            if _in_scope(path) and path.rpartition("/")[2] == HARBORIGNORE
        }

    def leave_out(self, path: str) -> bool:
        """Whether Harbor leaves the file at `path` out; rule files themselves always are."""
        if path.rpartition("/")[2] == HARBORIGNORE:
            return True
        if not _in_scope(path) or not self._rules:
            return False
        parts = path.split("/")
        depths = range(1, len(parts) + 1)
        return any(self._excluded(parts[:depth], folder=depth < len(parts)) for depth in depths)

    def _excluded(self, parts: list[str], *, folder: bool) -> bool:
        excluded = False
        for depth in range(1, len(parts)):
            rule = self._rules.get("/".join(parts[:depth]))
            if rule is None:
                continue
            said = rule.check_file("/".join(parts[depth:]) + "/" * folder).include
            excluded = excluded if said is None else said
        return excluded


def _in_scope(path: str) -> bool:
    return path.startswith(("tests/", "solution/"))
