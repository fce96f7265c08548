"""One bubblewrap process under the limits of its sandbox."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sandboxes.base import Limits
from sandboxes.bubblewrap.cgroups import Cgroup, homes
from sandboxes.bubblewrap.view import PATH, lowered
from sandboxes.capture import Capture
from sandboxes.errors import MachineFault, OutOfMemory, SandboxDied, SandboxError, TimedOut
from sandboxes.transfer import CHUNK

KILL_SECONDS = 20
STATUS_BYTES = 64 * 1024

# Arguments: files that take our process id (control groups), "--", command.
ENTER = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; exec "$@"'


@dataclass(frozen=True)
class Process:
    """A running bwrap. `status` is the pipe on which it tells how the command inside ended.

    `home` is the folder of its sandbox.
    """

    inner: subprocess.Popen[bytes]
    status: int
    limits: Limits
    cgroup: Cgroup
    home: Path
    kills_before: int

    def finish(self, stdout: Capture, stderr: Capture, timeout: float) -> int:
        """Read to the end and give the exit code. Raises `TimedOut`, `OutOfMemory`, `SandboxDied`."""
        if not self._drain(stdout, stderr, timeout):
            self.inner.kill()
            self._wait_until_all_are_gone()
            raise TimedOut(f"The command did not end within {timeout:g} seconds.", timeout)
        return self.exit_code()

    def exit_code(self) -> int:
        """The exit code of a command that has closed its pipes."""
        code = self.inner.wait()
        if self.cgroup.oom_kills() > self.kills_before:
            raise OutOfMemory(f"The command went over the memory limit of {self.limits.memory_mb} MiB.")
        if code < 0:
            raise SandboxDied(f"The sandbox was ended from outside by {signal.Signals(-code).name}.")
        if b'"exit-code"' not in os.read(self.status, STATUS_BYTES):
            self._raise_not_entered()
        return code

    def _raise_not_entered(self) -> None:
        if not all(folder.exists() for folder in (self.home, *self.cgroup.folders)):
            raise SandboxDied("The sandbox could not be entered; its folder or its control group is gone.")
        # All that is ours is in place, so a command before this one has taken away what a shell needs.
        raise SandboxError("No command can run in this sandbox any more; its /bin/sh cannot be started.")

    def _wait_until_all_are_gone(self) -> None:
        """The namespace's first process dies with bwrap, all others with it, and then the pipes close."""
        if not self._drain(Capture(0), Capture(0), KILL_SECONDS):
            raise MachineFault(
                f"The processes of a sandbox did not end within {KILL_SECONDS} s of being killed."
            )

    def _drain(self, stdout: Capture, stderr: Capture, seconds: float) -> bool:
        """Read both pipes to their ends, which every process inside holds; False at the deadline."""
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            for pipe, capture in ((self.inner.stdout, stdout), (self.inner.stderr, stderr)):
                if pipe is not None:
                    selector.register(pipe, selectors.EVENT_READ, capture)
            while selector.get_map():
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                for key, _ in selector.select(left):
                    data = os.read(key.fd, CHUNK)
                    key.data.feed(data)
                    if not data:
                        selector.unregister(key.fileobj)
        return True


@contextmanager
def launched(
    command: Sequence[str],
    limits: Limits,
    cgroup: Cgroup,
    home: Path,
    *,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    stderr: int = subprocess.PIPE,
) -> Iterator[Process]:
    """Run a bwrap command line; it is gone when this context ends, and its namespace with it."""
    status, theirs = os.pipe()
    try:
        inner = _started(_limited(command, limits, cgroup, theirs), stdin, stderr, theirs)
        with inner:  # waits at its end, so the command has to be ended before
            try:
                yield Process(inner, status, limits, cgroup, home, cgroup.oom_kills())
            finally:
                inner.kill()
    finally:
        os.close(status)


def _limited(command: Sequence[str], limits: Limits, cgroup: Cgroup, status: int) -> list[str]:
    size = limits.disk_mb << 20
    resources = [f"--fsize={size}:{size}", "--core=0:0"]
    if "memory" not in homes():
        memory = limits.memory_mb << 20
        resources.append(f"--as={memory}:{memory}")
    if "pids" not in homes():
        most = limits.pids + _threads_of_ours()
        resources.append(f"--nproc={most}:{most}")
    bwrap, *arguments = command
    told = [bwrap, "--json-status-fd", str(status), *arguments]
    # The control groups are entered first, while we still may.
    return ["prlimit", *resources, "/bin/sh", "-c", ENTER, "sh", *cgroup.entries, "--", *lowered(), *told]


def _threads_of_ours() -> int:
    """All threads of this user on the machine: RLIMIT_NPROC counts them, not only the sandbox's."""
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if process.stat().st_uid == os.geteuid():
                count += len(os.listdir(process / "task"))
    return count


def _started(
    command: Sequence[str], stdin: IO[bytes] | int, stderr: int, status: int
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={"PATH": PATH},
            cwd="/",
            start_new_session=True,
            pass_fds=(status,),
        )
    except OSError as error:
        raise MachineFault(f"A command could not be started: {error}") from error
    finally:
        os.close(status)
