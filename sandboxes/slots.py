"""How many sandboxes a machine runs at once: a fixed number of lock files, shared by all its processes.

The kernel drops a lock when its holder dies, also by kill -9, so a slot is never lost.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sandboxes.errors import MachineFault

POLL_SECONDS = 0.05


class NoSlot(MachineFault):
    """All slots stayed taken for as long as the caller wanted to wait."""


@dataclass(frozen=True, slots=True)
class Slots:
    """`count` slots in `folder`."""

    folder: Path
    count: int

    @contextmanager
    def take(self, timeout: float | None = None) -> Iterator[int]:
        """Hold a slot; yields its number. Raises `NoSlot` after `timeout` seconds (None: waits for ever)."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (held := self._try_each()) is None:
            if deadline is not None and time.monotonic() >= deadline:
                raise NoSlot(f"All {self.count} slots of this machine are taken.")
            time.sleep(POLL_SECONDS)
        number, handle = held
        try:
            yield number
        finally:
            os.close(handle)

    def _try_each(self) -> tuple[int, int] | None:
        for number in range(self.count):
            handle = os.open(self.folder / f"slot-{number}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
            else:
                return number, handle
        return None


def slots(folder: Path, count: int) -> Slots:
    """The machine's slots; makes the folder. Raises `ValueError` for fewer than one."""
    if count < 1:
        raise ValueError(f"a machine needs at least one slot, not {count}")
    folder.mkdir(parents=True, exist_ok=True)
    return Slots(folder, count)
