"""When a request that brought no answer is made again."""

from __future__ import annotations

FIRST = 1.0
LONGEST = 60.0
SPREAD = 0.25


def wait(failed: int, retry_after: float | None, left: float) -> float | None:
    """Seconds until the next try after so many failed ones (from 1), or None where patience does not last.

    Twice as long each time up to a minute, and never less than the server asked for.
    """
    seconds = max(min(LONGEST, FIRST * 2 ** min(failed - 1, 16)), retry_after or 0.0)
    return seconds if seconds <= left else None


def jittered(seconds: float, chance: float) -> float:
    """A little longer, so that those who wait for the same do not come together; `chance` is from 0 to 1."""
    return seconds + chance * max(SPREAD, SPREAD * seconds)
