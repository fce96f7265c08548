"""The sentence that a person owes to those who read the history."""

from __future__ import annotations

from typing import Any

from django import forms

from sandboxes.text import clean

BLANK = "Say in a sentence why: it stays in the history."


class ReasonNeeded(ValueError):
    """What was asked for needs a sentence that says why."""


def needed(reason: str) -> str:
    """The reason as any database can store it. Raises `ReasonNeeded` for one with nothing to read in it."""
    reason = clean(reason).strip()
    if not readable(reason):
        raise ReasonNeeded(BLANK)
    return reason


def readable(text: str) -> bool:
    """Whether there is anything to read: spaces, and characters of no width, are not."""
    return any(character.isprintable() and not character.isspace() for character in text)


class ReasonField(forms.CharField):
    """A reason that `needed` takes."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(error_messages={"required": BLANK}, **kwargs)

    def validate(self, value: str) -> None:
        super().validate(value)
        if not readable(value):
            raise forms.ValidationError(BLANK)
