"""The members of a zip, each opened where it lies."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
from collections.abc import Iterable
from functools import partial
from typing import BinaryIO

from sandboxes import members
from sandboxes.errors import TaskRefused
from sandboxes.intake import MAX_FILE_BYTES
from sandboxes.members import Index, Member, too_many_entries

_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = 20
_LOCAL_HEADER = 30
_BYTES_OF_AN_ENTRY = 1024


def read_zip(stream: BinaryIO, index: Index) -> zipfile.ZipFile:
    """Look through a zip. Its members stay readable until the answer is closed."""
    end = _check_end(stream)
    archive = zipfile.ZipFile(stream)
    try:
        entries = archive.infolist()
        _check_places(entries, archive.start_dir, end)
        for info in entries:
            index.unpacks_to(info.file_size)
            # orig_filename: the library cuts the other one at a NUL.
            path = index.entry(info.orig_filename)
            kind = stat.S_IFMT(_mode(info))
            if info.orig_filename.endswith("/") and kind in (0, stat.S_IFDIR):
                index.folder(path)
            else:
                index.add(path, _member(archive, info))
    except BaseException:
        archive.close()
        raise
    return archive


def _mode(info: zipfile.ZipInfo) -> int:
    # Other systems' attributes say nothing about modes; a mode of 000 would make a file nobody can read.
    return info.external_attr >> 16 if info.create_system == 3 else 0


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    mode = _mode(info)
    kind = stat.S_IFMT(mode)
    if info.flag_bits & 1:
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


def _check_places(entries: Iterable[zipfile.ZipInfo], start: int, end: int) -> None:
    """Raises `TaskRefused` where two members share bytes: a small zip could unpack to terabytes."""
    before, name = 0, ""
    for info in sorted(entries, key=lambda info: info.header_offset):
        if info.header_offset < before:
            raise TaskRefused(
                "", f"two members of this zip share their bytes ({name!a}); this looks like a bomb"
            )
        before = info.header_offset + _LOCAL_HEADER + len(info.orig_filename) + info.compress_size
        name = info.orig_filename
    if not before <= start <= end:
        raise TaskRefused("", "the directory of this zip is damaged; pack it anew")
