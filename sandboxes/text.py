"""Text that is safe to store and to show."""

from __future__ import annotations

import re

# PostgreSQL refuses NUL in text and lone surrogates in any encoding; SQLite and JSON fail later, on reading.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean(value: str | bytes) -> str:
    """The text with NUL and lone surrogates, and bytes that are not UTF-8, replaced by U+FFFD."""
    text = value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)
