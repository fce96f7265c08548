"""Text that is safe to store and to show, and output cut down to a size."""

from __future__ import annotations

import re

# PostgreSQL refuses NUL in text and lone surrogates in any encoding; SQLite and JSON fail later, on reading.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean(value: str | bytes) -> str:
    """The text with NUL and lone surrogates, and bytes that are not UTF-8, replaced by U+FFFD."""
    text = value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def head_and_tail(data: bytes, cap: int) -> tuple[bytes, int]:
    """At most `cap` bytes of `data`, half head and half tail, and how many were cut out between."""
    if len(data) <= cap:
        return data, 0
    tail = max(cap, 0) // 2
    head = max(cap, 0) - tail
    return data[:head] + data[len(data) - tail :], len(data) - head - tail
