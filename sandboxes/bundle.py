"""A task as one archive or folder: written byte for byte the same every time, read as a stranger's."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO, BinaryIO

from sandboxes.archives import opened
from sandboxes.errors import TaskRefused
from sandboxes.files import EXECUTABLE, check_path
from sandboxes.intake import Intake
from sandboxes.task import Task

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
    """Read a zip, tar or tar.gz that holds one task, in whatever folder.

    Raises `TaskRefused`, naming the member and the reason.
    """
    with opened(path) as archive:
        if not archive.tasks:
            raise TaskRefused(path.name, "there is no task in this archive")
        if len(archive.tasks) > 1:
            reason = f"this archive holds {len(archive.tasks)} tasks; take them in with `import_tasks`"
            raise TaskRefused(path.name, reason)
        return archive.read(archive.tasks[0], beside=archive.beside())
