"""The members of a zip, each opened where it lies."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

from sandboxes import members
from sandboxes.errors import TaskRefused
from sandboxes.intake import MAX_FILE_BYTES
from sandboxes.members import HALF_A_FOLDER, Index, Member, too_many_entries

_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = 20
_LOCAL = struct.Struct("<4s5H3L2H")
_LONG = 0xFFFFFFFF
"""In place of a size that stands in the extra field."""
_ENCRYPTED, _SIZES_BEHIND, _UTF8 = 1, 8, 0x800
"""Bits of the flags."""
_UNICODE_NAME, _SIZES_64 = 0x7075, 1
"""Kinds of extra fields."""
_BEHIND = (0, 12, 16, 20, 24)
"""How long the record with the sizes behind a member may be; not every writer has one behind a folder."""
_UNIX = (3, 19)
"""Systems whose attributes are modes; the second one is what macOS says at times."""
_BYTES_OF_AN_ENTRY = 1024


def read_zip(stream: BinaryIO, index: Index) -> zipfile.ZipFile:
    """Look through a zip. Its members stay readable until the answer is closed."""
    end = _check_end(stream)
    archive = zipfile.ZipFile(stream)
    try:
        entries = archive.infolist()
        faults = _check_places(stream, entries, archive.start_dir, end, index.tick)
        for info in entries:
            index.unpacks_to(info.file_size)
            path = index.entry(_name(info))
            if _is_folder(info) and not faults[info.header_offset]:
                index.folder(path)
            else:
                index.add(path, _member(archive, info, faults[info.header_offset]))
    except BaseException:
        archive.close()
        raise
    return archive


def _name(info: zipfile.ZipInfo) -> str:
    """The member's name, as a reader on Linux takes it.

    Info-ZIP and others do not say that theirs are UTF-8, and the library then reads them as those of DOS.
    """
    try:
        return _raw_name(info).decode()
    except UnicodeDecodeError:
        return info.orig_filename  # `_fault` refuses it


def _raw_name(info: zipfile.ZipInfo) -> bytes:
    # orig_filename: the library cuts the other one at a NUL.
    return info.orig_filename.encode("utf-8" if info.flag_bits & _UTF8 else "cp437")


def _unicode_names(info: zipfile.ZipInfo) -> set[bytes]:
    """The names in the member's extra field, which some readers prefer."""
    # Before each a version and a check sum.
    return {data[5:] for kind, data in _fields(info.extra) if kind == _UNICODE_NAME}


def _fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of an extra field by their kind."""
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<2H", extra)
        yield kind, extra[4 : 4 + size]
        extra = extra[4 + size :]


def _mode(info: zipfile.ZipInfo) -> int:
    # Other systems' attributes say nothing about modes; a mode of 000 would make a file nobody can read.
    return info.external_attr >> 16 if info.create_system in _UNIX else 0


def _is_folder(info: zipfile.ZipInfo) -> bool:
    kind = stat.S_IFMT(_mode(info))
    return info.orig_filename.endswith("/") and kind in (0, stat.S_IFDIR) and not info.file_size


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, fault: str) -> Member:
    mode = _mode(info)
    kind = stat.S_IFMT(mode)
    if fault:
        return Member(fault=fault)
    if info.orig_filename.endswith("/") or kind == stat.S_IFDIR:
        return Member(fault=HALF_A_FOLDER)
    if info.flag_bits & _ENCRYPTED:
        return Member(fault="this member is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return Member(fault="this member is packed in a way other than deflate; pack it anew")
    if kind not in (0, stat.S_IFREG, stat.S_IFLNK):
        return Member(fault="this is a special file (device, pipe or socket); take it out")
    # The library stops at the size it is told, so that a lie would hide the rest from us alone.
    declared, info.file_size = info.file_size, MAX_FILE_BYTES + 1
    opens = partial(archive.open, info)
    return Member(size=declared, mode=mode & 0o777, is_link=kind == stat.S_IFLNK, opens=opens)


def _check_end(stream: BinaryIO) -> int:
    """Where the directory ends, after a look at its size: the library makes an object of each entry.

    The end of the directory has to be the end of the file, and the directory to lie right before it:
    where something precedes or follows, no two readers see the same archive.
    """
    size = stream.seek(0, io.SEEK_END)
    stream.seek(max(0, size - _END.size - 0xFFFF - _LOCATOR_64 - _END_64.size))
    tail = stream.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END.size:
        raise TaskRefused("", "this zip has no directory; it is cut off")
    entries, length, start, comment = _END.unpack_from(tail, at)[4:]
    if at + _END.size + comment != len(tail):
        raise TaskRefused("", "something follows the end of this zip; pack it anew")
    if tail[max(0, at - _LOCATOR_64) : at][:4] == b"PK\x06\x07":
        at -= _LOCATOR_64 + _END_64.size
        if at < 0 or tail[at : at + 4] != b"PK\x06\x06":
            raise TaskRefused("", "the directory of this zip is damaged; pack it anew")
        entries, length, start = _END_64.unpack_from(tail, at)[7:]
    if entries > members.MAX_ENTRIES or length > members.MAX_ENTRIES * _BYTES_OF_AN_ENTRY:
        raise TaskRefused("", too_many_entries())
    end = size - len(tail) + at
    if start + length != end:
        raise TaskRefused("", "this zip has other data before or inside it; pack it anew")
    stream.seek(0)
    return end


def _check_places(
    stream: BinaryIO,
    entries: Iterable[zipfile.ZipInfo],
    start: int,
    end: int,
    tick: Callable[[], None],
) -> dict[int, str]:
    """Why each member is refused, "" for none, by the place of its header.

    Raises `TaskRefused` where two members share bytes, since a small zip could unpack to terabytes, and
    where something lies between them, which a reader that goes from header to header takes for a member.
    """
    faults: dict[int, str] = {}
    gaps: tuple[int, ...] = (0,)
    before, name = 0, ""
    for info in sorted(entries, key=lambda info: info.header_offset):
        tick()
        if info.header_offset < before:
            raise TaskRefused(
                "", f"two members of this zip share their bytes ({name!a}); this looks like a bomb"
            )
        _check_gap(info.header_offset - before, gaps)
        header = _Local.at(stream, info.header_offset)
        faults[info.header_offset] = _fault(info, header)
        before = info.header_offset + header.length + info.compress_size
        name = info.orig_filename
        gaps = _BEHIND if header.flags & _SIZES_BEHIND else (0,)
    if not before <= start <= end:
        raise TaskRefused("", "the directory of this zip is damaged; pack it anew")
    _check_gap(start - before, gaps)
    return faults


def _check_gap(size: int, allowed: Iterable[int]) -> None:
    if size not in allowed:
        raise TaskRefused("", "this zip has other data before or inside it; pack it anew")


@dataclass(frozen=True, slots=True)
class _Local:
    """What the header right before a member says, which some readers go by and others never look at."""

    name: bytes
    flags: int
    method: int
    sums: tuple[int, int, int]
    """Check sum, size as packed, size."""
    length: int

    @classmethod
    def at(cls, stream: BinaryIO, place: int) -> _Local:
        """Raises `TaskRefused` where no header is."""
        stream.seek(place)
        data = stream.read(_LOCAL.size)
        if len(data) < _LOCAL.size or not data.startswith(b"PK\x03\x04"):
            raise TaskRefused("", "the directory of this zip is damaged; pack it anew")
        _, _, flags, method, _, _, crc, packed, size, names, extras = _LOCAL.unpack(data)
        name, extra = stream.read(names), stream.read(extras)
        for kind, field in _fields(extra):
            if kind == _SIZES_64 and len(field) >= 16 and _LONG in (packed, size):
                size, packed = struct.unpack_from("<2Q", field)
        return cls(name, flags, method, (crc, packed, size), _LOCAL.size + names + extras)


def _fault(info: zipfile.ZipInfo, header: _Local) -> str:
    """Why the member is refused where two readers would see different ones, else ""."""
    name = _raw_name(info)
    told = (info.CRC, info.compress_size, info.file_size)
    unsaid = {0, _LONG} if header.flags & _SIZES_BEHIND else set()
    same = (
        (header.name, header.method) == (name, info.compress_type)
        and all(here in {there, *unsaid} for here, there in zip(header.sums, told, strict=True))
        and not (header.flags ^ info.flag_bits) & _ENCRYPTED
    )
    if not same:
        return "its own header and the directory of this zip say different things; pack it anew"
    if _unicode_names(info) - {name}:
        return "the directory of this zip has a second name for it; pack it anew"
    try:
        name.decode()
    except UnicodeDecodeError:
        return "its name is not UTF-8, so readers differ; rename it, or pack it with another program"
    return ""
