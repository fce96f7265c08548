"""Two snapshots against each other: which files differ, in which way, and by how much the task mutated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

from lineages import mutation
from lineages.library import blobs
from lineages.library.models import SnapshotFile
from sandboxes.task import INSTRUCTION

INSTRUCTION_BYTES = 400_000
KINDS = ("changed", "added", "removed", "renamed", "mode")
"""Ways in which a file can differ, in the order in which they are read."""


@dataclass(frozen=True, slots=True)
class Change:
    """A file that differs. `renamed`: equal content at another path; `mode`: only the permissions differ."""

    kind: str
    before: SnapshotFile | None
    after: SnapshotFile | None

    @property
    def path(self) -> str:
        file = self.after or self.before
        assert file is not None, "a change has one side at least"
        return file.path

    @property
    def old_path(self) -> str:
        """The path on the left, where it is another one."""
        return self.before.path if self.before and self.before.path != self.path else ""

    @property
    def exchanged_path(self) -> str:
        """Its path once the sides have been exchanged."""
        return self.old_path or self.path

    @property
    def anchor(self) -> str:
        """Part of the ids of this file's lines: no two paths share it, and it has no colon."""
        return quote(self.path)

    @property
    def sizes(self) -> tuple[int, int]:
        return (self.before.blob.size if self.before else 0, self.after.blob.size if self.after else 0)


@dataclass(frozen=True, slots=True)
class Comparison:
    """All files of two snapshots."""

    changes: tuple[Change, ...]
    unchanged: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mutated:
    """One part of the task. `of` is None where it was too large to be counted."""

    part: str
    unit: str
    of: mutation.Mutation | None


def compare(left: int, right: int) -> tuple[Comparison, tuple[Mutated, ...]]:
    """Two snapshots, by primary key: what differs in their files, and by how much. One query."""
    old: dict[str, SnapshotFile] = {}
    new: dict[str, SnapshotFile] = {}
    for file in SnapshotFile.objects.filter(snapshot__in={left, right}).select_related("blob"):
        if file.snapshot_id == left:
            old[file.path] = file
        if file.snapshot_id == right:
            new[file.path] = file
    return Comparison(tuple(_changes(old, new)), tuple(_unchanged(old, new))), tuple(_mutations(old, new))


def _changes(old: dict[str, SnapshotFile], new: dict[str, SnapshotFile]) -> list[Change]:
    moved = dict(_moved(old, new))
    sources = set(moved.values())
    found = [
        Change(_kind(old[path], file), old[path], file)
        for path, file in new.items()
        if path in old and _content(old[path]) != _content(file)
    ]
    found += [
        Change("renamed", old[moved[path]], file) if path in moved else Change("added", None, file)
        for path, file in new.items()
        if path not in old
    ]
    found += [
        Change("removed", file, None) for path, file in old.items() if path not in new and path not in sources
    ]
    return sorted(found, key=lambda each: (KINDS.index(each.kind), _reading_order(each.path)))


def _moved(old: dict[str, SnapshotFile], new: dict[str, SnapshotFile]) -> Iterator[tuple[str, str]]:
    """New path and old path of each content that went away at one place only and came at one place only."""
    gone = _once(file for path, file in old.items() if path not in new)
    come = _once(file for path, file in new.items() if path not in old)
    return ((path, gone[digest]) for digest, path in come.items() if digest in gone)


def _once(files: Iterable[SnapshotFile]) -> dict[str, str]:
    """Path by digest of contents that occur once; empty files and links do not tell where they came from."""
    telling = [file for file in files if file.blob.size and not file.link]
    counted = Counter(file.blob_id for file in telling)
    return {file.blob_id: file.path for file in telling if counted[file.blob_id] == 1}


def _unchanged(old: dict[str, SnapshotFile], new: dict[str, SnapshotFile]) -> list[str]:
    same = (path for path, file in new.items() if path in old and _content(old[path]) == _content(file))
    return sorted(same, key=_reading_order)


def _mutations(old: dict[str, SnapshotFile], new: dict[str, SnapshotFile]) -> Iterator[Mutated]:
    texts = [_instruction(files.get(INSTRUCTION)) for files in (old, new)]
    counted = None if None in texts else mutation.by_token(*(text or "" for text in texts))
    yield Mutated("Instruction", "tokens", counted)
    files = [{path: ":".join(map(str, _content(file))) for path, file in side.items()} for side in (old, new)]
    yield Mutated("Environment", "files", mutation.by_file(*files))
    yield Mutated("Verifier", "test units", mutation.by_unit(*files))


def _instruction(file: SnapshotFile | None) -> str | None:
    """Its text, empty where there is none; None where it is too large, lost or only a link."""
    if file is None:
        return ""
    if file.blob.size > INSTRUCTION_BYTES or file.link:
        return None
    try:
        return blobs.read(file.blob_id).decode("utf-8", errors="replace")
    except blobs.BlobLost:
        return None


def _content(file: SnapshotFile) -> tuple[str, int, str]:
    return file.blob_id, file.mode, file.link


def _kind(before: SnapshotFile, after: SnapshotFile) -> str:
    return "mode" if (before.blob_id, before.link) == (after.blob_id, after.link) else "changed"


def _reading_order(path: str) -> tuple[bool, str]:
    """What lies at the top (instruction.md, task.toml) says most about a task."""
    return "/" in path, path
