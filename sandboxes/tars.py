"""The members of a tar, each opened where it lies."""

from __future__ import annotations

import io
import tarfile
from typing import IO, Any, BinaryIO, Self

from sandboxes.errors import TaskRefused
from sandboxes.files import printable
from sandboxes.members import HALF_A_FOLDER, Index, Member

MAX_HEADER_BYTES = 1024 * 1024
"""Of what a tar says about one member: a long name, or other extended attributes."""
_PIECE = 1 << 20


def read_tar(stream: BinaryIO | IO[bytes], index: Index) -> None:
    """Look through a tar. Its members stay readable as long as `stream` is open."""
    # As a stream, so that every byte is met: a member that is cut off is known before it is read.
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header) as archive:
        while (info := archive.next()) is not None:
            if archive.offset > size:  # the library would look for its end, a block at a time
                raise tarfile.ReadError("a member is larger than the rest of it, so it is cut off")
            archive.members.clear()  # type: ignore[attr-defined]  # else every header would be kept
            _take(info, index, stream)
        end = archive.offset
    stream.seek(end)
    while piece := stream.read(_PIECE):
        if piece.strip(b"\0"):
            raise TaskRefused("", "something follows the end of this tar; pack all of it in one")


def _take(info: tarfile.TarInfo, index: Index, stream: BinaryIO | IO[bytes]) -> None:
    path = index.entry(info.name)
    if info.isdir():
        index.folder(path)
    else:
        index.add(path, _member(info, stream))


def _member(info: tarfile.TarInfo, stream: BinaryIO | IO[bytes]) -> Member:
    if info.issym():
        return Member(link=info.linkname)
    if info.islnk():
        return Member(fault=f"this is a hard link to {printable(info.linkname)}; put the file there")
    if info.issparse():
        return Member(fault="this is a sparse file; pack it as a plain one")
    if info.name.endswith("/"):
        return Member(fault=HALF_A_FOLDER)
    if not info.isreg():
        return Member(fault="this is a special file (device, pipe or socket); take it out")
    start, size = info.offset_data, info.size
    return Member(size=size, mode=info.mode, opens=lambda: io.BufferedReader(_Slice(stream, start, size)))


class _Slice(io.RawIOBase):
    """A member's bytes in the tar."""

    def __init__(self, stream: BinaryIO | IO[bytes], start: int, size: int) -> None:
        self._stream, self._at, self._left = stream, start, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        room = memoryview(buffer)
        self._stream.seek(self._at)
        data = self._stream.read(min(len(room), self._left))
        room[: len(data)] = data
        self._at += len(data)
        self._left -= len(data)
        return len(data)


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
