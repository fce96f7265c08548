"""Files into and out of a sandbox as plain, uncompressed tar streams; nothing is unpacked on the host."""

from __future__ import annotations

import io
import posixpath
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import IO

from sandboxes.errors import SandboxError
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

    Links and special files are left out. `hard_links` lists paths that an archive only names as a
    second link to a file (the reader asks for them one by one). Raises `SandboxError` above `limit` bytes.
    """

    def __init__(self, limit: int, exclude: Sequence[str] = ()) -> None:
        self.files: dict[str, TaskFile] = {}
        self.hard_links: list[str] = []
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
            raise SandboxError(f"more than {MAX_MEMBERS:,} files and folders below {root}")
        path = absolute(posixpath.join(base, member.name))
        if excluded(posixpath.relpath(path, root), self._exclude):
            return
        if member.islnk():
            self.hard_links.append(path)
        elif member.isreg():
            self.files[path] = TaskFile(self._data(archive, member, path), member.mode & 0o777)

    def _data(self, archive: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> bytes:
        # The size is checked before a byte is read: a sparse file claims a terabyte and stores nothing.
        if member.size > self._left:
            raise SandboxError(f"{path}: the files to read are larger than {self._limit:,} bytes")
        self._left -= member.size
        source = archive.extractfile(member)
        return b"" if source is None else source.read(member.size)


def excluded(relative: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern matches the path, one of its folders, or the name of one, as `tar --exclude` does."""
    parts = relative.split("/")
    prefixes = ["/".join(parts[: end + 1]) for end in range(len(parts))]
    names = [*prefixes, *parts]
    return any(
        fnmatchcase(name, pattern.strip("/").removeprefix("./")) for pattern in patterns for name in names
    )


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
