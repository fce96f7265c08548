"""A task as one archive or folder: written byte for byte the same every time, read as a stranger's."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO, BinaryIO, Self

from sandboxes.errors import TaskRefused
from sandboxes.files import EXECUTABLE, PLAIN, TaskFile, check_path, parents, printable
from sandboxes.intake import (
    MAX_FILE_BYTES,
    MAX_TOTAL_BYTES,
    OLD_CONFIG,
    OLD_FORMAT,
    Budget,
    Intake,
    admit,
    belongs,
)
from sandboxes.task import CONFIG, Task

MACOS = "__MACOSX"
"""Where macOS keeps its own attributes in every zip; not worth a warning."""
MAX_ARCHIVE_BYTES = 512 * 1024 * 1024
MAX_ENTRIES = 20_000
"""Files and folders together; a task's files have their own, lower cap."""
MAX_RATIO = 200
"""How much larger than the archive its content may be, once it is larger than `RATIO_FLOOR`."""
RATIO_FLOOR = 64 * 1024 * 1024
MAX_HEADER_BYTES = 1024 * 1024
"""Of what a tar says about one member: a long name, or other extended attributes."""

# 1980 is the first year a zip can say; everything else about time would make two exports differ.
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)


class BundleFormat(StrEnum):
    DIR = "dir"
    ZIP = "zip"
    TAR_GZ = "tar.gz"


def write_bundle(task: Task, name: str, out: Path | BinaryIO, format: str = BundleFormat.TAR_GZ) -> None:
    """Write the task: as the folder `out` itself, or as an archive with one top folder `name`.

    The same task and name give the same bytes. A path appears at once and whole, or not at all. Raises
    `FileExistsError` where `out` exists and is not empty, `ValueError` for a format that is not known, or
    a `dir` that is not given a path.
    """
    kind = BundleFormat(format)
    if not isinstance(out, Path):
        _write_archive(task, name, out, kind)
        return
    _refuse_occupied(out)
    with _beside(out) as draft:
        if kind is BundleFormat.DIR:
            _write_folder(task, draft)
        else:
            with draft.open("xb") as stream:
                _write_archive(task, name, stream, kind)
        os.replace(draft, out)


def _refuse_occupied(out: Path) -> None:
    if out.is_symlink() or (any(out.iterdir()) if out.is_dir() else out.exists() and out.stat().st_size):
        raise FileExistsError(f"{out} already exists and is not empty; name another place")


@contextmanager
def _beside(out: Path) -> Iterator[Path]:
    """A free path on the file system of `out`, to rename from; gone in the end, whatever happens."""
    out.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        yield folder / out.name
    finally:
        shutil.rmtree(folder)


def _write_folder(task: Task, folder: Path) -> None:
    folder.mkdir(mode=EXECUTABLE)
    for path, file in task.files.items():
        place = folder / path
        place.parent.mkdir(mode=EXECUTABLE, parents=True, exist_ok=True)
        if file.link is not None:
            place.symlink_to(file.link)
        else:
            place.write_bytes(file.data)
            place.chmod(file.mode)


def _write_archive(task: Task, name: str, stream: BinaryIO | IO[bytes], kind: BundleFormat) -> None:
    check_path(name)
    if "/" in name:
        raise ValueError(f"{name} is no name of one folder")
    if kind is BundleFormat.ZIP:
        _write_zip(task, name, stream)
    elif kind is BundleFormat.TAR_GZ:
        _write_tar_gz(task, name, stream)
    else:
        raise ValueError("a folder cannot be written to a stream")


def _write_zip(task: Task, name: str, stream: BinaryIO | IO[bytes]) -> None:
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path, file in task.files.items():
            info = zipfile.ZipInfo(f"{name}/{path}", _ZIP_TIME)
            info.create_system = 3  # Unix, or readers do not look at the mode
            info.compress_type = zipfile.ZIP_DEFLATED
            kind = stat.S_IFREG | file.mode if file.link is None else stat.S_IFLNK | 0o777
            info.external_attr = kind << 16
            archive.writestr(info, file.data if file.link is None else file.link.encode())


def _write_tar_gz(task: Task, name: str, stream: BinaryIO | IO[bytes]) -> None:
    with (
        gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=stream, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path, file in task.files.items():
            info = tarfile.TarInfo(f"{name}/{path}")
            if file.link is not None:
                info.type, info.linkname, info.mode = tarfile.SYMTYPE, file.link, 0o777
                archive.addfile(info)
            else:
                info.size, info.mode = len(file.data), file.mode
                archive.addfile(info, io.BytesIO(file.data))


def read_bundle(path: Path) -> Intake:
    """Read a zip, tar or tar.gz that holds one task, at its root or in its only top folder.

    Everything is read into memory under the caps of `intake`, nothing is unpacked to disk. Raises
    `TaskRefused`, naming the member and the reason.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # before opening: a pipe would hold us
            raise TaskRefused(path.name, "this is no regular file, so it cannot be an archive")
        size = found.st_size
        if size > MAX_ARCHIVE_BYTES:
            raise TaskRefused(path.name, f"this archive is larger than {MAX_ARCHIVE_BYTES >> 20} MiB")
        with path.open("rb") as stream:
            members = _Members(size)
            _reader_for(stream, path.name)(stream, members, path.name)
    except _BROKEN as error:
        raise TaskRefused(path.name, f"this archive is damaged: {error}") from None
    except RecursionError:
        raise TaskRefused(path.name, "this archive is damaged: too many headers before one member") from None
    root = _root(members.files, path.name)
    inside = {name[len(root) :]: file for name, file in members.files.items() if name.startswith(root)}
    if OLD_CONFIG in inside and CONFIG not in inside:
        raise TaskRefused(OLD_CONFIG, OLD_FORMAT)
    beside = {name for name in members.files if not name.startswith(root)}
    others = {name.partition("/")[0] for name in inside if not belongs(name)}
    empty = {f"{name.removeprefix(root)}/ (an empty folder)" for name in members.empty_folders()}
    left_out = beside | others | empty
    ours = {name: file for name, file in inside.items() if belongs(name)}
    return admit(ours, left_out=(name for name in left_out if not name.startswith(MACOS)))


# What the standard library raises on bytes that are not what their header says.
_BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    NotImplementedError,
)


class _Members:
    """The members of one archive so far. Raises `TaskRefused` for the first that may not be."""

    def __init__(self, archive_bytes: int) -> None:
        self.files: dict[str, TaskFile] = {}
        self._folders: set[str] = set()
        self._archive_bytes = archive_bytes
        self._entries = 0
        self._bytes = 0
        self._budget = Budget()

    def entry(self, raw: str) -> str:
        """Count one member and return its path, "" for the root itself."""
        self._entries += 1
        if self._entries > MAX_ENTRIES:
            raise TaskRefused(printable(raw), f"the archive has more than {MAX_ENTRIES:,} entries")
        path = raw.rstrip("/") if not raw.startswith("/") else raw
        while path.startswith("./"):
            path = path[2:]
        if path in (".", ""):
            return ""
        check_path(path)
        return path

    def file(self, path: str, read: Callable[[int], bytes], declared: int, mode: int | None) -> None:
        """Take a regular file. `mode` is None where the archive does not know it."""
        data = self._content(path, read, declared)
        known = mode if mode is not None else 0o111 * data.startswith(b"#!")
        self._add(path, TaskFile(data, EXECUTABLE if known & 0o111 else PLAIN))

    def folder(self, path: str) -> None:
        self._folders.add(path)

    def empty_folders(self) -> set[str]:
        """Folders with nothing in them, which a task cannot hold."""
        full = {parent for path in (*self.files, *self._folders) for parent in parents(path)}
        return self._folders - full - {""}

    def link(self, path: str, target: str) -> None:
        self._add(path, TaskFile(link=target))

    def link_in_data(self, path: str, read: Callable[[int], bytes], declared: int) -> None:
        """Take a link whose target is the member's content, as zip has it."""
        self.link(path, self._content(path, read, declared).decode("utf-8", errors="surrogateescape"))

    def _content(self, path: str, read: Callable[[int], bytes], declared: int) -> bytes:
        data = self._budget.read(path, read)
        if len(data) != declared:
            raise TaskRefused(path, f"this member declares {declared:,} bytes and holds {len(data):,}")
        self._bytes += len(data)
        if self._bytes > max(RATIO_FLOOR, MAX_RATIO * self._archive_bytes):
            raise TaskRefused(path, f"the compression ratio is over {MAX_RATIO}; this looks like a bomb")
        return data

    def _add(self, path: str, file: TaskFile) -> None:
        self._budget.count(path)
        if not path:
            raise TaskRefused(".", "the archive has a file without a name")
        if path in self.files:
            raise TaskRefused(path, "this name is in the archive twice")
        self.files[path] = file


_Read = Callable[[BinaryIO, _Members, str], None]


def _reader_for(stream: BinaryIO, name: str) -> _Read:
    head = stream.read(512)
    stream.seek(0)
    if head.startswith(b"PK\x03\x04"):
        return _read_zip
    if head.startswith(b"\x1f\x8b"):
        return _read_tar_gz
    if head[257:262] == b"ustar":
        return _read_tar
    raise TaskRefused(name, "this is not a zip, tar or tar.gz file")


def _read_zip(stream: BinaryIO, members: _Members, name: str) -> None:
    _check_zip_directory(stream, name)
    with zipfile.ZipFile(stream) as archive:
        for info in archive.infolist():
            # orig_filename: the library cuts the other one at a NUL.
            path = members.entry(info.orig_filename)
            _take_zip_member(archive, info, path, members)


_END_OF_DIRECTORY = struct.Struct("<4s4H2LH")


def _check_zip_directory(stream: BinaryIO, name: str) -> None:
    """Look at the directory's size before the library makes an object of each entry it claims."""
    end = stream.seek(0, io.SEEK_END)
    stream.seek(max(0, end - _END_OF_DIRECTORY.size - 0xFFFF - 20))
    tail = stream.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END_OF_DIRECTORY.size:
        raise TaskRefused(name, "this zip has no directory; it is cut off")
    entries, size = _END_OF_DIRECTORY.unpack_from(tail, at)[4:6]
    if entries > MAX_ENTRIES or size > MAX_ENTRIES * 1024 or tail[max(0, at - 20) : at][:4] == b"PK\x06\x07":
        raise TaskRefused(name, f"the archive has more than {MAX_ENTRIES:,} entries")
    stream.seek(0)


def _take_zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: str, members: _Members) -> None:
    # Other systems' attributes say nothing about modes; a mode of 000 would make a file nobody can read.
    mode = info.external_attr >> 16 if info.create_system == 3 else 0
    kind = stat.S_IFMT(mode)
    if info.flag_bits & 1:
        raise TaskRefused(path, "this member is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise TaskRefused(path, "this member is packed in a way other than deflate; pack it anew")
    if info.orig_filename.endswith("/") and kind in (0, stat.S_IFDIR):
        members.folder(path)
        return
    if kind not in (0, stat.S_IFREG, stat.S_IFLNK):
        raise TaskRefused(path, "this is a special file (device, pipe or socket); take it out")
    # The library stops at the size it is told, so that a lie would hide the rest from us alone.
    declared, info.file_size = info.file_size, MAX_FILE_BYTES + 1
    with archive.open(info) as stream:
        if kind == stat.S_IFLNK:
            members.link_in_data(path, stream.read, declared)
        else:
            members.file(path, stream.read, declared, mode & 0o777 or None)


def _read_tar_gz(stream: BinaryIO, members: _Members, name: str) -> None:
    with gzip.GzipFile(fileobj=stream) as unpacked:
        counted = _Counted(unpacked, name)
        _read_tar(counted, members, name)
        while counted.read(1 << 20):  # to the end, where the check sum is
            pass


class _Counted:
    """A stream that refuses to give more than a task can be, whatever headers inside it claim."""

    def __init__(self, stream: gzip.GzipFile, name: str) -> None:
        self._stream = stream
        self._name = name
        # Each entry has a header and padding, and may have a header of its own for a long name.
        self._left = MAX_TOTAL_BYTES + MAX_ENTRIES * 4096

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(min(size, self._left + 1) if size >= 0 else self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise TaskRefused(self._name, f"the archive unpacks to more than {MAX_TOTAL_BYTES >> 20} MiB")
        return data


class _Header(tarfile.TarInfo):
    """A header that the library neither passes over where it is damaged, nor reads at any length."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        try:
            header = super().frombuf(buf, encoding, errors)
        except _END_OF_TAR:
            raise
        except _NO_HEADER as error:
            # The library takes both for the end, and what comes after would be missing in silence.
            what = f"a header is damaged ({error})" if buf else "it has no end, so it is cut off"
            raise tarfile.ReadError(what) from None
        if header.type in _EXTENDED and header.size > MAX_HEADER_BYTES:
            raise tarfile.ReadError(f"a header is larger than {MAX_HEADER_BYTES >> 20} MiB")
        return header


_END_OF_TAR, _NO_HEADER = tarfile.EOFHeaderError, tarfile.HeaderError  # type: ignore[attr-defined]
_EXTENDED = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


def _read_tar(stream: BinaryIO | _Counted, members: _Members, name: str) -> None:
    # As a stream: no seeking back, so every byte is counted once. "r|" takes anything with a read().
    with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header) as archive:  # type: ignore[call-overload]
        for info in archive:
            _take_tar_member(archive, info, members.entry(info.name), members)


def _take_tar_member(archive: tarfile.TarFile, info: tarfile.TarInfo, path: str, members: _Members) -> None:
    if info.isdir():
        members.folder(path)
        return
    if info.issym():
        members.link(path, info.linkname)
    elif info.islnk():
        raise TaskRefused(path, f"this is a hard link to {printable(info.linkname)}; put the file there")
    elif info.issparse():
        raise TaskRefused(path, "this is a sparse file; pack it as a plain one")
    elif not info.isreg():
        raise TaskRefused(path, "this is a special file (device, pipe or socket); take it out")
    else:
        content = archive.extractfile(info)
        assert content is not None, "a regular member always has content"
        members.file(path, content.read, info.size, info.mode)


def _root(files: Mapping[str, TaskFile], name: str) -> str:
    """The task's folder in the archive: "" for its root, else its only top folder with a slash."""
    if CONFIG in files or OLD_CONFIG in files:
        return ""
    tops = sorted({path.partition("/")[0] for path in files if "/" in path} - {MACOS})
    if not tops:
        raise TaskRefused(name, "there is no task in this archive")
    if len(tops) > 1:
        raise TaskRefused(name, f"this archive holds {len(tops)} top folders; an archive holds one task")
    return f"{tops[0]}/"
