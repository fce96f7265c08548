"""Bytes in the blob folder, each content once.

A file is complete before it has its name, and is never changed afterwards, so readers need no lock.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

from django.conf import settings

from lineages.library.models import Blob

WRITERS = 8
UNFINISHED = ".unfinished-"

_DIGEST = re.compile("[0-9a-f]{64}")


class BlobLost(Exception):
    """Stored content that is gone or damaged; the message says which file."""


def keep(contents: Iterable[bytes]) -> list[str]:
    """Store each content; returns the hex SHA-256 digests in the same order. Safe to repeat and to race.

    The rows come first: from then on no collection takes the files.
    """
    digests, once = [], {}
    for data in contents:
        digest = hashlib.sha256(data).hexdigest()
        digests.append(digest)
        once[digest] = data
    _claim({digest: len(data) for digest, data in once.items()})
    places = [_place(digest) for digest in once]
    with ThreadPoolExecutor(WRITERS) as writers:  # a disk takes many waits for it as one
        list(writers.map(_write_once, places, once.values()))
        # Also of what was there: another writer may not have come to it yet.
        folders = {folder for place in places for folder in (place.parent, place.parent.parent)}
        list(writers.map(_settle, folders))
    return digests


def _claim(sizes: Mapping[str, int]) -> None:
    """Make sure of the rows, and that none is an orphan, which a collection might remove just now."""
    rows = Blob.objects.filter(digest__in=list(sizes))
    while True:
        missing = [Blob(digest=digest, size=sizes[digest]) for digest in sorted(sizes)]
        Blob.objects.bulk_create(missing, ignore_conflicts=True)
        wanted = rows.filter(orphan_since=None).count()
        if wanted == len(sizes):
            return
        rows.filter(orphan_since__isnull=False).update(orphan_since=None)


def remove(digest: str) -> None:
    """Delete the file of a blob whose row is being deleted by this transaction."""
    _place(digest).unlink(missing_ok=True)


def files(*, left_for: timedelta) -> Iterator[dict[str, int]]:
    """The folder's contents, part by part, as digests with sizes.

    Files that a writer left half-written so long ago are removed.
    """
    before = time.time() - left_for.total_seconds()
    for part in sorted(Path(settings.BLOBS).glob("[0-9a-f][0-9a-f]")):
        found = {}
        for entry in os.scandir(part):
            with contextlib.suppress(FileNotFoundError):  # finished, or removed, just now
                if _DIGEST.fullmatch(part.name + entry.name):
                    found[part.name + entry.name] = entry.stat().st_size
                elif entry.name.startswith(UNFINISHED) and entry.stat().st_mtime < before:
                    os.unlink(entry.path)
        yield found


def keep_one(data: bytes) -> str:
    return keep([data])[0]


def read(digest: str) -> bytes:
    """Raises `BlobLost` when the blob folder has lost it or holds something else."""
    try:
        data = _place(digest).read_bytes()
    except OSError as problem:
        raise BlobLost(f"{_place(digest)} cannot be read ({problem}): restore it from a backup") from problem
    if hashlib.sha256(data).hexdigest() != digest:
        raise BlobLost(f"{_place(digest)} does not hold what it is named after: restore it from a backup")
    return data


def _place(digest: str) -> Path:
    return Path(settings.BLOBS) / digest[:2] / digest[2:]


def _write_once(place: Path, data: bytes) -> None:
    if place.exists() and place.read_bytes() == data:
        return  # a damaged one is written anew
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=place.parent, prefix=UNFINISHED)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # a name must never outlive its content, not even a power cut
        os.replace(unfinished, place)
    except BaseException as problem:
        os.unlink(unfinished)
        if isinstance(problem, OSError):  # a write that finds the disk full does not say which
            raise OSError(problem.errno, problem.strerror, str(place.parent)) from problem
        raise


def _settle(folder: Path) -> None:
    """Have the names in a folder outlive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
