"""Words by which a test reaches beyond its own verdict, for who builds a test and for who judges it."""

from __future__ import annotations

import re

BEYOND = re.compile(
    r"/proc/|/logs/verifier|reward\.(?:txt|json)|\bPPID\b|/tests/(?:test\.sh|seed-test|units)"
    r"|\bkillp?g?\s*\(|\bfork\s*\(|\bsetsid\b|\bdaemon\b|\bPopen\b"
)


def reaches(text: str) -> str:
    """The first word of a script that names the reward, another test or another process; else empty."""
    found = BEYOND.search(text)
    return found[0].rstrip("( \t") if found else ""
