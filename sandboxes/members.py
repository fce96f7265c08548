"""What an archive says it holds, judged member by member before anything of it is read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO

from sandboxes.errors import TaskRefused
from sandboxes.files import check_path, printable

MAX_ENTRIES = 200_000
"""Files and folders together, of all tasks; a task's files have their own, lower cap."""
MAX_UNPACKED_BYTES = 8 * 1024**3
MAX_RATIO = 200
"""How much larger than the archive its content may be, once it is larger than `RATIO_FLOOR`."""
MAX_TARGET = 4096
"""As long as Linux follows one; to follow a longer one takes the square of its length."""
RATIO_FLOOR = 64 * 1024 * 1024
HALF_A_FOLDER = "this is a folder by its name or its kind alone, so readers differ; pack it anew"


@dataclass(frozen=True, slots=True)
class Member:
    """A file or link of an archive. `fault` is why its task has to be refused, whatever else it says.

    `mode` is 0 where the archive does not know it. A zip keeps a link's target as its content.
    """

    size: int = 0
    mode: int = 0
    link: str | None = None
    is_link: bool = False
    fault: str = ""
    opens: Callable[[], AbstractContextManager[IO[bytes]]] | None = None


class Index:
    """The members of one archive so far. Every method raises `TaskRefused` for what refuses all of it.

    `tick` is called at each one.
    """

    def __init__(self, archive_bytes: int, tick: Callable[[], None]) -> None:
        self.tick = tick
        self.members: dict[str, Member] = {}
        self.folders: set[str] = set()
        self._archive_bytes = archive_bytes
        self._entries = 0
        self._bytes = 0

    def entry(self, raw: str) -> str:
        """Count one member and return its path, "" for the root itself."""
        self.tick()
        self._entries += 1
        if self._entries > MAX_ENTRIES:
            raise TaskRefused(printable(raw), too_many_entries())
        path = raw.rstrip("/") if not raw.startswith("/") else raw
        while path.startswith("./"):
            path = path[2:]
        return "" if path == "." else path

    def unpacks_to(self, size: int) -> None:
        """Count bytes that the archive unpacks to, as they are met or as it declares them."""
        self._bytes += size
        if self._bytes > max(RATIO_FLOOR, MAX_RATIO * self._archive_bytes):
            raise TaskRefused("", f"the compression ratio is over {MAX_RATIO}; this looks like a bomb")
        if self._bytes > MAX_UNPACKED_BYTES:
            raise TaskRefused("", f"the archive unpacks to more than {MAX_UNPACKED_BYTES >> 30} GiB")

    def folder(self, path: str) -> None:
        if path:
            self.folders.add(self._named(path)[0])

    def add(self, path: str, member: Member) -> None:
        if not path:
            raise TaskRefused("", "the archive has a file without a name")
        named, fault = self._named(path)
        target = member.size if member.is_link else len(member.link or "")
        if target > MAX_TARGET:
            fault = f"the target of this link is longer than {MAX_TARGET:,} characters"
        if named in self.members:
            fault = fault or "this name is in the archive twice"
        self.members[named] = Member(fault=fault) if fault else member

    def _named(self, path: str) -> tuple[str, str]:
        """The path, or a stand-in for it in its folder and why it is refused."""
        try:
            check_path(path)
        except TaskRefused as refusal:
            folder, _, name = path.rpartition("/")
            if not folder or any(part in ("", ".", "..") for part in path.split("/")):
                raise
            check_path(folder)
            return f"{folder}/{printable(name)}", refusal.reason
        return path, ""


def too_many_entries() -> str:
    return f"the archive has more than {MAX_ENTRIES:,} entries; pack its tasks in several archives"
