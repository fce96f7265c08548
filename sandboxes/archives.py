"""A stranger's archive, looked through without unpacking it: which tasks are in it, and each one's files.

Nothing in an archive becomes a file with a name here. A zip is read where it lies; the tar inside a
tar.gz goes into one temporary file that has no name either, so that nothing is left behind even by a
power cut. What is wrong with one member refuses the task it belongs to; what is wrong with the archive
itself (damage, a bomb, a name that leads out of it) refuses all of it.
"""

from __future__ import annotations

import gzip
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, BinaryIO

from sandboxes.errors import TaskRefused
from sandboxes.files import EXECUTABLE, PLAIN, TaskFile, parents
from sandboxes.intake import CONFIGS, TASK_FOLDERS, Budget, Intake, admit_any, belongs, is_old
from sandboxes.members import Index, Member
from sandboxes.tars import read_tar
from sandboxes.task import DOCKERFILE, INSTRUCTION, TEST
from sandboxes.zips import read_zip

MACOS = "__MACOSX"
"""Where macOS keeps its own attributes in every zip; not worth a warning."""
MAX_ARCHIVE_BYTES = 2 * 1024**3
_PIECE = 1 << 20


class Archive:
    """The tasks of an opened archive, to be read one at a time while it is open."""

    def __init__(self, name: str, index: Index) -> None:
        self._name = name
        self._members = index.members
        self._paths = sorted(index.members)
        self._folders = sorted(index.folders)
        self.tasks = _tasks_among(index.members)
        """The folders of the tasks, sorted; "" where the archive's root is one."""

    def read(self, task: str, beside: Iterable[str] = ()) -> Intake:
        """One task; `beside` names what else was found. Raises `TaskRefused`, naming the member."""
        prefix = f"{task}/" if task else ""
        for above in (task, *parents(task)) if task else ():
            if above in self._members:
                raise TaskRefused(above, "this is a file or a link, so nothing can be below it")
        inside = {path[len(prefix) :]: self._members[path] for path in _below(self._paths, prefix)}
        folders = {path[len(prefix) :] for path in _below(self._folders, prefix)}
        _check_places(inside, folders)
        old = is_old(inside)
        ours = {path: member for path, member in inside.items() if old or belongs(path)}
        others = {path.partition("/")[0] for path in inside if path not in ours}
        empty = {f"{path}/ (an empty folder)" for path in _empty(folders, inside)}
        return admit_any(_read_all(ours), left_out={*others, *empty, *beside})

    def beside(self) -> set[str]:
        """What lies at the top of the archive and belongs to none of its tasks."""
        tops = {task.partition("/")[0] for task in self.tasks}
        if "" in tops:
            return set()
        return {path.partition("/")[0] for path in self._paths} - tops - {MACOS}


def _below(paths: Sequence[str], prefix: str) -> Iterator[str]:
    """Those of the sorted paths that start with `prefix`, in time that the others do not count in."""
    at = bisect_left(paths, prefix)
    while at < len(paths) and paths[at].startswith(prefix):
        if not _of_macos(paths[at]):
            yield paths[at]
        at += 1


def _empty(folders: set[str], inside: Mapping[str, Member]) -> set[str]:
    """Folders with nothing in them, which a task cannot hold."""
    return folders - {parent for path in (*inside, *folders) for parent in parents(path)}


def _check_places(inside: Mapping[str, Member], folders: set[str]) -> None:
    """Also of what does not belong to the task: another reader would take a file there for a folder."""
    for path in inside:
        if path in folders:
            raise TaskRefused(path, "this name is in the archive twice, as a file and as a folder")
    for path in (*inside, *folders):
        for parent in parents(path):
            if parent in inside:
                raise TaskRefused(path, f"{parent} is a file or a link, so nothing can be below it")


def _read_all(members: Mapping[str, Member]) -> dict[str, TaskFile]:
    budget = Budget()
    files = {}
    for path, member in members.items():
        budget.count(path)
        budget.check(path, member.size)
        if member.fault:
            raise TaskRefused(path, member.fault)
    for path, member in members.items():
        try:
            files[path] = _file(path, member, budget)
        except BROKEN as error:
            raise TaskRefused(path, f"this member is damaged: {error}") from None
    return files


def _file(path: str, member: Member, budget: Budget) -> TaskFile:
    if member.link is not None:
        return TaskFile(link=member.link)
    assert member.opens is not None, "a member without a fault is a link or has content"
    with member.opens() as stream:
        data = budget.read(path, stream.read)
    if len(data) != member.size:
        raise TaskRefused(path, f"this member declares {member.size:,} bytes and holds {len(data):,}")
    if member.is_link:
        return TaskFile(link=data.decode("utf-8", errors="surrogateescape"))
    mode = member.mode or 0o111 * data.startswith(b"#!")
    return TaskFile(data, EXECUTABLE if mode & 0o111 else PLAIN)


def _tasks_among(members: Mapping[str, Member]) -> list[str]:
    """As `find_tasks` finds them on a disk: a folder that is a task is not looked into."""
    folders = {parent for path in members for parent in parents(path)}
    found = {folder for path in members if (folder := _task_of(path, members, folders)) is not None}
    outermost = [one for one in found if not any(above in found for above in (*parents(one), "") if one)]
    return sorted(one for one in outermost if not _hidden(one))


def _task_of(path: str, members: Mapping[str, Member], folders: set[str]) -> str | None:
    """The folder that this file makes a task, if it does."""
    folder, _, name = path.rpartition("/")
    prefix = f"{folder}/" if folder else ""
    if name in CONFIGS:
        return folder
    if name == INSTRUCTION and any(prefix + part in folders for part in TASK_FOLDERS):
        return folder
    if path.endswith(TEST):
        above = path.removesuffix(TEST)
        if above == "" or above.endswith("/"):
            return above.rstrip("/") if above + DOCKERFILE in members else None
    return None


def _of_macos(path: str) -> bool:
    return path.partition("/")[0] == MACOS


def _hidden(folder: str) -> bool:
    return any(part.startswith(".") or part == MACOS for part in folder.split("/"))


BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    struct.error,
    gzip.BadGzipFile,
    EOFError,
    ValueError,
    OverflowError,
    NotImplementedError,
)
"""What the standard library raises on bytes that are not what their header says."""


@contextmanager
def opened(
    path: Path, scratch: Path | None = None, tick: Callable[[], None] = lambda: None
) -> Iterator[Archive]:
    """A zip, tar or tar.gz with its members looked through.

    `scratch` is the folder of the nameless file that a tar.gz is unpacked to; `tick` is called at each
    member that is looked at, and again and again while a tar.gz is unpacked.

    Raises `TaskRefused` where the archive as a whole cannot be taken in, `OSError` where the machine is
    to blame.
    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):  # before opening: a pipe would hold us
        raise TaskRefused(path.name, "this is no regular file, so it cannot be an archive")
    if found.st_size > MAX_ARCHIVE_BYTES:
        raise TaskRefused(path.name, f"this archive is larger than {MAX_ARCHIVE_BYTES >> 30} GiB")
    with ExitStack() as stack:
        stream = stack.enter_context(path.open("rb"))
        index = Index(found.st_size, tick)
        try:
            _look_through(stream, index, stack, scratch)
        except TaskRefused as refusal:
            raise TaskRefused(refusal.path or path.name, refusal.reason) from None
        except BROKEN as error:
            raise TaskRefused(path.name, f"this archive is damaged: {error}") from None
        except RecursionError:
            reason = "this archive is damaged: too many headers before one member"
            raise TaskRefused(path.name, reason) from None
        yield Archive(path.name, index)


MAGIC_BYTES = 512


def is_archive(head: bytes) -> bool:
    """Whether a file that starts with these bytes is of a kind that `opened` reads."""
    return head.startswith((*_ZIP, _GZIP)) or head[257:262] == _TAR


_ZIP, _GZIP, _TAR = (b"PK\x03\x04", b"PK\x05\x06"), b"\x1f\x8b", b"ustar"
"""The second one of a zip is that of an empty one."""


def _look_through(stream: BinaryIO, index: Index, stack: ExitStack, scratch: Path | None) -> None:
    head = stream.read(MAGIC_BYTES)
    stream.seek(0)
    if not is_archive(head):
        raise TaskRefused("", "this is not a zip, tar or tar.gz file")
    if head.startswith(_ZIP):
        stack.enter_context(read_zip(stream, index))
    elif head.startswith(_GZIP):
        unpacked = stack.enter_context(tempfile.TemporaryFile(dir=scratch))  # noqa: SIM115
        _unzip(stream, unpacked, index)
        if unpacked.read(4).startswith((*_ZIP, _GZIP)):
            raise TaskRefused("", "gzip holds another archive here, and no tar; unpack it once")
        read_tar(unpacked, index)
    else:
        read_tar(stream, index)


def _unzip(stream: BinaryIO, out: IO[bytes], index: Index) -> None:
    with gzip.GzipFile(fileobj=stream) as packed:
        while piece := packed.read(_PIECE):
            index.tick()
            index.unpacks_to(len(piece))
            out.write(piece)
    out.seek(0)
