"""When an image was last used on this machine, and which are to go when there is too little room.

Neither an engine nor a folder says when an image last served; a file for each image says so by its time.
Losing the folder loses no image: one without a file counts from when it was made.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Kept:
    """An image as it takes room: `name` as its backend removes it, `size` in bytes without what is shared,
    `used` in seconds since the epoch."""

    name: str
    size: int
    used: float


@dataclass(frozen=True, slots=True)
class UseLog:
    """One empty file for each image in `folder`; its modification time is the last use."""

    folder: Path

    def note(self, name: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        place = self.folder / name
        place.touch()
        os.utime(place)

    def last(self, name: str, made: float) -> float:
        try:
            return max(made, (self.folder / name).stat().st_mtime)
        except FileNotFoundError:
            return made

    def forget(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)


def trim(
    images: Iterable[Kept],
    *,
    keep: int,
    short_of_room: Callable[[], bool],
    unused_for: float,
    remove: Callable[[Kept], bool],
) -> int:
    """Remove the least recently used images while they take more than `keep` bytes or room is short.

    One that was used in the last `unused_for` seconds stays; `remove` says whether it could be removed (one
    in use cannot). Returns the bytes that the removed ones took.
    """
    before = time.time() - unused_for
    oldest_first = sorted(images, key=lambda image: image.used)
    total, freed = sum(image.size for image in oldest_first), 0
    for image in oldest_first:
        if total - freed <= keep and not short_of_room():
            break
        if image.used <= before and remove(image):
            freed += image.size
    return freed
