"""Where tasks come from: a folder of one, a folder of many, an archive of either. Found one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sandboxes.archives import opened
from sandboxes.errors import TaskRefused
from sandboxes.intake import Intake, find_tasks, read_folder

_ENDINGS = (".tar.gz", ".tgz", ".tar", ".zip")
NO_TASK = "no task in it: a task is a folder with a task.toml"


@dataclass(frozen=True)
class Source:
    """One task that was found. `read` raises `TaskRefused`; it works until the next source is asked for."""

    path: Path
    name: str
    read: Callable[[], Intake]


def sources(path: Path) -> Iterator[Source]:
    """Every task in a folder or an archive.

    Where there is none, or the archive cannot be taken in, the only source is the path itself, refused.
    """
    if path.is_dir():
        yield from _in_folder(path)
    elif path.exists():
        yield from in_archive(path, path)
    else:
        yield _refused(path, TaskRefused(str(path), "there is no such folder or archive"))


def _in_folder(path: Path) -> Iterator[Source]:
    found = find_tasks(path)
    if not found:
        yield _refused(path, TaskRefused(str(path), NO_TASK))
    for folder in found:
        yield Source(folder, folder.name, partial(read_folder, folder))


def _nothing(_: object = None) -> None:
    """Nobody listens."""


def in_archive(
    path: Path,
    shown: Path,
    *,
    scratch: Path | None = None,
    found: Callable[[int], None] = _nothing,
    tick: Callable[[], None] = _nothing,
) -> Iterator[Source]:
    """The tasks of an archive that people know as `shown`.

    `found` is told how many there are; `scratch` and `tick` as in `opened`.
    """
    try:
        with opened(path, scratch, tick) as archive:
            found(max(1, len(archive.tasks)))
            for task in archive.tasks:
                tick()
                yield Source(
                    shown / task, task.rpartition("/")[2] or _stem(shown.name), partial(archive.read, task)
                )
            if not archive.tasks:
                yield _refused(shown, TaskRefused(str(shown), NO_TASK))
    except TaskRefused as refusal:
        yield _refused(shown, TaskRefused(str(shown), _about(refusal, path.name)))


def _refused(path: Path, refusal: TaskRefused) -> Source:
    def read() -> Intake:
        raise refusal

    return Source(path, path.name, read)


def _about(refusal: TaskRefused, archive: str) -> str:
    return refusal.reason if refusal.path == archive else f"{refusal.path}: {refusal.reason}"


def _stem(name: str) -> str:
    for ending in _ENDINGS:
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return name
