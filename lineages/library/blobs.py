"""Bytes in the blob folder, each content once.

A file is complete before it has its name, and is never changed afterwards, so readers need no lock.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings

from lineages.library.models import Blob


class BlobLost(Exception):
    """Stored content that is gone or damaged; the message says which file."""


def keep(contents: Iterable[bytes]) -> list[str]:
    """Store each content; returns the hex SHA-256 digests in the same order. Safe to repeat and to race."""
    sizes: dict[str, int] = {}
    digests = []
    for data in contents:
        digest = hashlib.sha256(data).hexdigest()
        digests.append(digest)
        if digest not in sizes:
            sizes[digest] = len(data)
            _write_once(_place(digest), data)
    Blob.objects.bulk_create([Blob(digest=d, size=s) for d, s in sizes.items()], ignore_conflicts=True)
    return digests


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
    handle, unfinished = tempfile.mkstemp(dir=place.parent, prefix=".unfinished-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # a name must never outlive its content, not even a power cut
        os.replace(unfinished, place)
    except BaseException:
        os.unlink(unfinished)
        raise
