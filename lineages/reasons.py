"""The sentence that a person owes to those who read the history."""

from __future__ import annotations

from sandboxes.text import clean


class ReasonNeeded(ValueError):
    """What was asked for needs a sentence that says why."""


def needed(reason: str) -> str:
    """The reason as any database can store it. Raises `ReasonNeeded` for an empty one."""
    reason = clean(reason).strip()
    if not reason:
        raise ReasonNeeded("Say in a sentence why: it stays in the history.")
    return reason
