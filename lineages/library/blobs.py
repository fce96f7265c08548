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
    """Raises `FileNotFoundError` when the blob folder has lost it."""
    return _place(digest).read_bytes()


def _place(digest: str) -> Path:
    return Path(settings.BLOBS) / digest[:2] / digest[2:]


def _write_once(place: Path, data: bytes) -> None:
    if place.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=place.parent, prefix=".unfinished-")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    os.replace(unfinished, place)
