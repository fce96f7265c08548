"""Downloads: an environment as a folder or an archive that runs unchanged in Harbor."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO

from lineages.library.models import Environment
from lineages.library.snapshots import load
from sandboxes.bundle import write_bundle

SUFFIXES = {"zip": ".zip", "tar.gz": ".tar.gz", "dir": ""}


def name_of(environment: Environment) -> str:
    """The bundle's folder: `<lineage>-g<generation>`, with `-k` from the second one on."""
    tail = f"-{environment.k}" if environment.k > 1 else ""
    return f"{environment.lineage.slug}-g{environment.generation}{tail}"


def export(environment: Environment, out: Path, kind: str) -> None:
    """Write it to `out`. Raises `FileExistsError` rather than write over something."""
    write_bundle(load(environment.snapshot), name_of(environment), out, kind)


def bundle(environment: Environment, kind: str) -> tuple[str, IO[bytes]]:
    """The archive's file name and an open temporary file at its start, which goes away when closed."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the response closes it
    write_bundle(load(environment.snapshot), name_of(environment), file, kind)
    file.seek(0)
    return name_of(environment) + SUFFIXES[kind], file
