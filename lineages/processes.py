"""Child processes that do not outlive us."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO

PR_SET_PDEATHSIG = 1
STOP_SECONDS = 15


@contextmanager
def running(
    command: Sequence[str], *, output: IO[bytes] | int | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own, told to end with this context, or with us however we end.

    Of its own session, since Ctrl-C reaches the terminal's whole group and processes have to end in order.
    """
    process = subprocess.Popen(
        command,
        start_new_session=True,
        stdout=output,
        stderr=output,
        preexec_fn=_end_with_parent,
    )
    try:
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # whatever it left behind
        process.wait()


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
