"""Uploaded archives: streamed to the disk, never held in memory, and gone once they were read.

They lie inside the blob folder, which all machines share, under random names.
"""

from __future__ import annotations

import re
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.core.files.uploadhandler import SkipFile, StopUpload, TemporaryFileUploadHandler
from django.http import HttpRequest
from django.urls import reverse

from lineages.library.models import Job
from lineages.roles import Role, may
from sandboxes.archives import MAGIC_BYTES, is_archive
from sandboxes.text import clean

FIELD = "archive"
KEPT_SECONDS = 24 * 3600
_HEAD = MAGIC_BYTES
_HARD_TO_READ = re.compile(r"[^\w.() +-]+")


class UploadRefused(Exception):
    """An upload that no import is made of; the message says why and what to do."""


class ToDisk(TemporaryFileUploadHandler):
    """Takes one file, on the import page, from an operator; every other is passed over unread.

    `files_sent` and `too_large` on the request say what came; Django counts 100 files and then answers in
    words of its own, so that limit is off and this one stands in its place.
    """

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        request: Any = self.request
        request.files_sent = getattr(request, "files_sent", 0) + 1
        wanted = request.path == reverse("import_start") and may(request.user, Role.OPERATOR)
        if not wanted or request.files_sent > 1:
            raise SkipFile
        folder().mkdir(parents=True, exist_ok=True)
        super().new_file(*args, **kwargs)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        if start + len(raw_data) > settings.UPLOAD_MAX_BYTES:
            request: Any = self.request
            request.too_large = True
            self.upload_interrupted()
            raise StopUpload(connection_reset=False)
        super().receive_data_chunk(raw_data, start)


def folder() -> Path:
    return Path(settings.UPLOADS)


def taken(request: HttpRequest) -> tuple[str, str]:
    """Keep the file that came with the request: the name it is stored under, and the one it was sent with.

    Raises `UploadRefused`.
    """
    upload = request.FILES.get(FIELD)  # reading it is what runs the handler
    if getattr(request, "too_large", False):
        raise UploadRefused(
            f"This archive is larger than {most()}, the most that is taken in"
            " here. Pack its tasks in several, or import it with `manage.py import_tasks`."
        )
    if getattr(request, "files_sent", 0) > 1:
        raise UploadRefused(
            f"{request.files_sent:,} files came. Pack the folder in one archive (zip, tar or tar.gz)"  # type: ignore[attr-defined]
            " and send that."
        )
    if not isinstance(upload, TemporaryUploadedFile):
        raise UploadRefused("No file came. Choose an archive first.")
    if not upload.size:
        raise UploadRefused("This file is empty.")
    head = upload.read(_HEAD)
    upload.seek(0)
    if not is_archive(head):
        raise UploadRefused("This is not a zip, tar or tar.gz file. Pack the task's folder in one of these.")
    _forget_old()
    stored = uuid.uuid4().hex
    Path(upload.temporary_file_path()).rename(folder() / stored)
    return stored, shown(upload.name or "")


def shown(name: str) -> str:
    return _HARD_TO_READ.sub("_", clean(name))[-200:].strip(". ") or "archive"


def remove(stored: str) -> None:
    (folder() / stored).unlink(missing_ok=True)


def _forget_old() -> None:
    """Remove what a process that died left behind, and archives of imports that failed a day ago."""
    waiting = set(
        Job.objects.filter(status=Job.Status.QUEUED).exclude(upload="").values_list("upload", flat=True)
    )
    for path in folder().iterdir():
        with suppress(FileNotFoundError):  # another process was faster
            if path.name not in waiting and time.time() - path.stat().st_mtime > KEPT_SECONDS:
                path.unlink()


def most() -> str:
    """The largest archive that is taken, in words."""
    return f"{settings.UPLOAD_MAX_BYTES >> 20:,} MiB"
