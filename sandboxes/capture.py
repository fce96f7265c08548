"""Keeping the head and the tail of output of any size, in memory of a fixed size."""

from __future__ import annotations


class Capture:
    """Keeps at most `limit` bytes of a stream: its first half-limit and its last half-limit."""

    def __init__(self, limit: int) -> None:
        self._head_size = limit // 2
        self._tail_size = limit - self._head_size
        self._head = bytearray()
        self._tail = bytearray()
        self._seen = 0

    def feed(self, data: bytes) -> None:
        self._seen += len(data)
        room = self._head_size - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._tail_size:  # trimmed in large steps: each byte moves about once
            del self._tail[: len(self._tail) - self._tail_size]

    @property
    def kept(self) -> bytes:
        return bytes(self._head + self._tail[-self._tail_size :]) if self._tail_size else b""

    @property
    def cut(self) -> int:
        """How many bytes of the stream are not in `kept`."""
        return self._seen - len(self.kept)
