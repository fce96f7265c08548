"""Files into and out of a sandbox as plain, uncompressed tar streams; nothing is unpacked on the host."""

from __future__ import annotations

import io
import posixpath
import re
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import lru_cache
from typing import IO

from sandboxes.base import Found
from sandboxes.errors import SandboxError, TooMuch
from sandboxes.files import TaskFile

MAX_MEMBERS = 100_000
CHUNK = 1 << 20
MTIME = 946_684_800  # 2000-01-01: always the same, and late enough for zip files (1980)
SPOOL = 8 << 20  # archives below this size never touch the disk

USR_LINKS = frozenset({"bin", "sbin", "lib", "lib32", "lib64", "libx32"})
"""Top-level links of a merged-/usr system: the only links that writing goes through."""


def absolute(path: str) -> str:
    """The normal form of an absolute path; raises `ValueError` for any other path."""
    if not path.startswith("/") or "\0" in path:
        raise ValueError(f"not an absolute path: {path!r}")
    return posixpath.normpath("/" + path.lstrip("/"))


def placed(files: Mapping[str, TaskFile], root: str) -> dict[str, TaskFile]:
    """`files` keyed by absolute path; raises `ValueError` for a path that leaves `root`."""
    base = absolute(root)
    targets = {}
    for path, file in files.items():
        target = posixpath.normpath(posixpath.join(base, path.lstrip("/")))
        if posixpath.commonpath((base, target)) != base or target == base:
            raise ValueError(f"{path!r} is not a file below {root}")
        targets[target] = file
    return targets


def folders_above(targets: Mapping[str, TaskFile], root: str) -> list[str]:
    """`root` and every folder between "/" and each target, outermost first, without the /usr links."""
    wanted: set[str] = set()
    for path in [*targets, posixpath.join(absolute(root), "_")]:
        while (path := posixpath.dirname(path)) != "/":
            wanted.add(path)
    return sorted(wanted - {"/" + name for name in USR_LINKS})


def pack(targets: Mapping[str, TaskFile], folders: Sequence[str] = ()) -> IO[bytes]:
    """A tar of new `folders` (mode 755) and files, names relative to "/", all owned by root, at its start."""
    stream = tempfile.SpooledTemporaryFile(SPOOL)  # noqa: SIM115, the caller closes it
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder in folders:
            member = _member(folder)
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(member)
        for path, file in targets.items():
            _add(archive, path, file)
    stream.seek(0)
    return stream


def _member(path: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(path.lstrip("/"))
    member.mtime = MTIME
    return member


def _add(archive: tarfile.TarFile, path: str, file: TaskFile) -> None:
    member = _member(path)
    member.mode = file.mode & 0o777
    if file.link is not None:
        member.type, member.linkname = tarfile.SYMTYPE, file.link
        archive.addfile(member)
    else:
        member.size = len(file.data)
        archive.addfile(member, io.BytesIO(file.data))


class Reading:
    """Collects the regular files of one or more archives under one size cap.

    Special files are left out, and links too unless `links` asks for them, as they are. A second name of
    a file (a hard link) counts with its size, so that nobody multiplies files for nothing. Raises
    `TooMuch` above `limit` bytes.
    """

    def __init__(self, limit: int, exclude: Sequence[str] = (), *, links: bool = False) -> None:
        self.files: dict[str, TaskFile] = {}
        self.links = links
        self._folders: set[str] = set()
        self._seconds: list[str] = []
        self._limit = limit
        self._exclude = exclude
        self._left = limit
        self._members = 0

    def take(self, stream: io.BufferedReader, *, base: str, root: str) -> None:
        """Read a tar whose names are relative to `base`; exclusions match relative to `root`.

        No bytes at all are no files. Raises `SandboxError` for an archive that breaks off.
        """
        if not stream.peek(1):
            return
        try:
            with tarfile.open(fileobj=stream, mode="r|", errorlevel=2) as archive:
                for member in archive:
                    self._member(archive, member, base, root)
        except (tarfile.TarError, EOFError) as error:
            raise SandboxError(f"{root} could not be read to its end: {error}") from error

    def _member(self, archive: tarfile.TarFile, member: tarfile.TarInfo, base: str, root: str) -> None:
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise TooMuch(f"more than {MAX_MEMBERS:,} files and folders below {root}")
        path = absolute(posixpath.join(base, member.name))
        if path != root and excluded(posixpath.relpath(path, root), self._exclude):
            return
        if member.islnk():
            self._second_name(path, absolute(posixpath.join(base, member.linkname)))
        elif member.isreg():
            self._count(path, member.size)
            source = archive.extractfile(member)
            data = b"" if source is None else source.read(member.size)
            self.files[path] = TaskFile(data, member.mode & 0o777)
        elif member.isdir():
            self._folders.add(path)
        elif member.issym() and self.links:
            self.files[path] = TaskFile(link=member.linkname)

    def _second_name(self, path: str, first: str) -> None:
        known = self.files.get(first)
        if known is None:  # the first name was excluded, or is above the root
            self._seconds.append(path)
        else:
            self._count(path, len(known.data))
            self.files[path] = known

    def _count(self, path: str, size: int) -> None:
        # Before a byte is read: a sparse file claims a terabyte and stores nothing.
        if size > self._left:
            raise TooMuch(f"{path}: the files to read are larger than {self._limit:,} bytes")
        self._left -= size

    def second_names(self) -> list[str]:
        """Paths, each once, that an archive named only as second to a file it did not hold for us."""
        found, self._seconds = self._seconds, []
        return found

    def found(self, path: str) -> Found | None:
        """What is at `path`, of which an archive was taken."""
        if path in self._folders:
            return Found(folder=True, files=self.files)
        return Found(folder=False, files=self.files) if path in self.files else None


def excluded(relative: str, patterns: Sequence[str]) -> bool:
    """Whether GNU `tar --exclude=PATTERN -C ROOT .` leaves out the path `relative` to ROOT.

    A pattern matches the member's whole name, which begins with "./", or what follows any slash of it, or
    a folder on the way; its wildcards match slashes too.
    """
    member = f"./{relative}"
    ends = [member, *(member[at + 1 :] for at, letter in enumerate(member) if letter == "/")]
    return any(matches(end) for pattern in patterns for matches in _matchers(pattern) for end in ends)


@lru_cache(maxsize=256)
def _matchers(pattern: str) -> tuple[Callable[[str], object], ...]:
    """Of the pattern itself and of all that is below what it matches."""
    # The C library's shell patterns in Python's words: `\\x` quotes, `[^` is `[!`.
    python = re.sub(r"\\(.)", lambda quoted: f"[{quoted[1]}]", pattern, flags=re.DOTALL).replace("[^", "[!")
    return tuple(re.compile(translate(each)).match for each in (python, f"{python}/*"))


class Chunks(io.RawIOBase):
    """A readable file over an iterator of byte strings, for `tarfile`'s stream mode."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = chunk
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def buffered(chunks: Iterator[bytes]) -> io.BufferedReader:
    return io.BufferedReader(Chunks(chunks), CHUNK)
