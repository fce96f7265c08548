"""The limited process: a program on standard input, what it asks for as JSON on standard output."""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import asdict

from .asks import asks

SECONDS = 5
BYTES = 512 << 20
MOST = 20_000


def main() -> None:
    """Exits 0 with `{"asks": […], "all": whether that is all}`, or with `{"unreadable": reason}`.

    Is killed where a limit is reached.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    source = sys.stdin.buffer.read().decode("utf-8-sig", "replace")
    try:
        wanted = asks(source)
        found: dict[str, object] = {
            "asks": [asdict(ask) for ask in wanted[:MOST]],
            "all": len(wanted) <= MOST,
        }
    except (SyntaxError, ValueError, OverflowError) as error:
        found = {"unreadable": f"{type(error).__name__}: {error}"}
    except (RecursionError, MemoryError) as error:
        found = {"unreadable": f"it is nested too deeply or too large ({type(error).__name__})"}
    json.dump(found, sys.stdout)
