"""What the parts of our addresses look like."""

from __future__ import annotations

from django.urls import register_converter
from django.urls.converters import get_converters


class _Words:
    """A part that is one of a few words."""

    regex = ""

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class _Action(_Words):
    regex = "cancel|pause|resume|move_back"


class _Decision(_Words):
    regex = "approve|reject|changes"


class _Format(_Words):
    regex = r"zip|tar\.gz"


class _Stream(_Words):
    regex = "stdout|stderr"


class _Body(_Words):
    regex = "sent|received"


class _Change(_Words):
    regex = "role|deactivate|activate|password"


class _Key:
    """A primary key that fits any database."""

    regex = "[0-9]{1,18}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


def register() -> None:
    """Make the names known to `path()`; harmless to repeat."""
    for name, converter in (
        ("action", _Action),
        ("body", _Body),
        ("change", _Change),
        ("decision", _Decision),
        ("format", _Format),
        ("stream", _Stream),
        ("key", _Key),
    ):
        if name not in get_converters():
            register_converter(converter, name)
