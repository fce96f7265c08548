"""What the commands share: exit codes, JSON on standard output, progress on standard error."""

from __future__ import annotations

import errno
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from enum import IntEnum
from textwrap import indent
from typing import Any

from django.db import DatabaseError

from agents.models import ModelsError
from agents.roles import AgentsError
from lineages.growth.evolving import CannotStart
from lineages.library.blobs import BlobLost
from lineages.library.references import NoSuchEnvironment
from lineages.lifecycle import Busy
from sandboxes.errors import MachineFault, TaskRefused

WRONG_PATH = {errno.ENAMETOOLONG, errno.ENOTDIR, errno.ENOENT, errno.EISDIR, errno.ELOOP}
INTERRUPTED = 130
STARTED = time.monotonic()


class Exit(IntEnum):
    """Exit codes that scripts may rely on (docs/cli.md)."""

    WELL = 0
    FAILED = 1
    USAGE = 2
    MACHINE = 3


def progress(text: str) -> None:
    """One line on standard error, with the seconds since the command began."""
    print(f"[{time.monotonic() - STARTED:6.1f} s] {text}", file=sys.stderr, flush=True)


def emit(value: dict[str, Any]) -> None:
    """The machine-readable answer, on standard output."""
    print(json.dumps(value, indent=2))


def emit_with(value: dict[str, Any], name: str, items: Iterable[dict[str, Any]]) -> None:
    """The same for one object with a long list under `name`, an item at a time: it need not fit in memory."""
    print(json.dumps(value, indent=2)[: -len("\n}")] + f',\n  "{name}": [', end="")
    for number, item in enumerate(items):
        print("," if number else "")
        print(indent(json.dumps(item, indent=2), "    "), end="")
    print("\n  ]\n}")


class Bar:
    """How far a long command is, on standard error, so that standard output stays the answer.

    On a terminal one line that renews itself, else a line for each thing that is done. `total` is asked
    each time, since it may become known only once the work has begun.
    """

    WIDTH = 24

    def __init__(self, total: Callable[[], int]) -> None:
        self._total = total
        self._done = 0
        self._live = sys.stderr.isatty()
        self._began = time.monotonic()

    def step(self, line: str, counts: str) -> None:
        """One more is done: `line` says what became of it, `counts` how many became what."""
        self._done += 1
        if self._live:
            print(f"\r\x1b[K{self.drawn()} {counts}{self._left()}", end="", file=sys.stderr, flush=True)
        else:
            progress(f"{self._done}/{self._total()} {line}")

    def drawn(self) -> str:
        full = self.WIDTH * self._done // max(1, self._total())
        return f"[{'#' * full}{'.' * (self.WIDTH - full)}] {self._done}/{self._total()}"

    def end(self) -> None:
        if self._live and self._done:
            print(file=sys.stderr)

    def _left(self) -> str:
        """At the pace so far."""
        seconds = (time.monotonic() - self._began) / self._done * (self._total() - self._done)
        return f", about {timedelta(seconds=round(seconds))} left" if seconds >= 1 else ""


def leave(code: Exit) -> None:
    """End the command with a code other than 0."""
    if code:
        sys.exit(code)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what a person must act on into one sentence and its exit code; the rest is raised."""
    try:
        yield
    except KeyboardInterrupt:
        print("interrupted: what was begun is kept, a worker (`make run`) goes on with it", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except (TaskRefused, FileExistsError, BlobLost) as problem:
        _fail(problem, Exit.FAILED)
    except (NoSuchEnvironment, CannotStart, AgentsError, ModelsError, ValueError) as problem:
        _fail(problem, Exit.USAGE)
    except (MachineFault, Busy) as problem:
        _fail(problem, Exit.MACHINE)
    except DatabaseError as problem:
        _fail(f"the database: {problem}; try `python manage.py migrate`, then `doctor`", Exit.MACHINE)
    except OSError as problem:
        _fail(problem, Exit.USAGE if problem.errno in WRONG_PATH else Exit.MACHINE)


def _fail(problem: Exception | str, code: Exit) -> None:
    print(f"error: {problem}", file=sys.stderr)
    sys.exit(code)


def table(rows: Sequence[tuple[str, ...]], write: Callable[[str], Any]) -> None:
    """Rows as aligned columns; the first is the heading."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        write("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if number == 0:
            write("  ".join("─" * width for width in widths))
