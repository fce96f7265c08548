"""Images by the `docker build` command: the SDK has only the legacy builder, which loses heredocs."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from threading import Timer
from typing import IO

from sandboxes.capture import Capture
from sandboxes.dockerfile import instructions
from sandboxes.errors import BuildFailed, MachineFault, TimedOut, Unsupported
from sandboxes.files import TaskFile
from sandboxes.transfer import CHUNK, pack

LOG_BYTES = 64 * 1024
PROBE_SECONDS = 30
PRUNE_SECONDS = 30  # less than a lease: whoever waits for room does not beat meanwhile
CACHE = "1gb"

HEREDOC_PROBE = "FROM scratch\nCOPY <<EOF /probe\nEOF\n"
HEREDOC_CURE = "This builder does not know them; install docker-buildx, and an engine of version 23 or later."

# Arguments: a pipe that only we can write to, command. The pipe ends when we do, however that comes about,
# and then so do the command and its children: a build must not outlive whoever waits for it.
WITH_US = '{ read -r _ <"$1"; kill -KILL 0; } </dev/null >/dev/null 2>&1 & shift; exec "$@"'

_NO_ENGINE = re.compile(r"cannot connect to the docker daemon|no space left on device", re.IGNORECASE)

# A registry that says no speaks of the Dockerfile; one that does not answer, or has had enough, does not.
_NO_REGISTRY = re.compile(
    r'\b(?:Head|Get|Post) \\?"https?://[^" ]+/(?:v2/|token\b)[^" ]*": .*'
    r"(?:no such host|server misbehaving|connection refused|connection reset|network is unreachable"
    r"|no route to host|i/o timeout|TLS handshake timeout|context deadline exceeded|EOF$)"
    r"|\btoomanyrequests\b|\b429 Too Many Requests\b",
    re.IGNORECASE,
)
# Both builders quote the command that failed, which may hold any words.
_FAILED_COMMAND = re.compile(
    r"executor failed running|did not complete successfully|returned a non-zero code"
)


@dataclass(frozen=True)
class Builder:
    """Builds contexts with the docker command against the engine at `address`."""

    address: str
    network: bool = False

    @cached_property
    def buildkit(self) -> bool:
        """Whether the docker command here can use BuildKit; asked once."""
        return _answers(["docker", "buildx", "version"])

    @cached_property
    def heredocs(self) -> bool:
        """Whether the builder knows heredocs; tried once. BuildKit in an engine of version 20.10 does not."""
        if not self.buildkit:
            return False
        command = [*self._docker, "build", "--progress=plain", "--output=type=cacheonly", "-"]
        with pack({"/Dockerfile": TaskFile.text(HEREDOC_PROBE)}) as archive:
            code, log = self._run(command, archive, PROBE_SECONDS)
        if code and _NO_ENGINE.search(log.decode("utf-8", "replace")):
            _raise_failure(log)
        return code == 0

    def build(
        self, context: Mapping[str, TaskFile], tag: str, labels: Mapping[str, str], *, timeout: float
    ) -> None:
        """Raises `BuildFailed`, `Unsupported`, `TimedOut` (the builder is ended), `MachineFault`."""
        self._refuse_heredocs(context["Dockerfile"])
        with pack({"/" + path: file for path, file in context.items()}) as archive:
            code, log = self._run(self._command(tag, labels), archive, timeout)
        if code:
            _raise_failure(log)

    def shrink_cache(self) -> None:
        """Have BuildKit's cache, which it keeps beside the images, take no more than `CACHE`.

        What is not done in `PRUNE_SECONDS` is left to the next time.
        """
        if self.buildkit:
            command = [*self._docker, "builder", "prune", "--force", "--keep-storage", CACHE]
            with suppress(subprocess.TimeoutExpired):
                subprocess.run(command, capture_output=True, timeout=PRUNE_SECONDS, check=False)

    def _refuse_heredocs(self, dockerfile: TaskFile) -> None:
        found = [step for step in instructions(dockerfile.data.decode("utf-8", "replace")) if step.heredocs]
        if found and not self.heredocs:
            raise Unsupported(f"line {found[0].line} of the Dockerfile has a heredoc. {HEREDOC_CURE}")

    def _command(self, tag: str, labels: Mapping[str, str]) -> list[str]:
        options = [f"--label={key}={value}" for key, value in labels.items()]
        options += [] if self.network else ["--network=none"]
        options += ["--progress=plain"] if self.buildkit else ["--force-rm"]
        return [*self._docker, "build", "--tag", tag, *options, "-"]

    @property
    def _docker(self) -> list[str]:
        return ["docker", "--host", self.address]

    def _run(self, command: Sequence[str], archive: IO[bytes], timeout: float) -> tuple[int, bytes]:
        archive.fileno()  # rolls a spooled archive over to a file, which the child can read
        started = time.monotonic()
        capture = Capture(LOG_BYTES)
        with _spawned(command, archive, buildkit=self.buildkit) as process:
            killer = Timer(timeout, _end, [process])
            killer.start()
            try:
                assert process.stdout is not None
                while chunk := process.stdout.read1(CHUNK):  # type: ignore[attr-defined]
                    capture.feed(chunk)
                code = process.wait()
            finally:
                killer.cancel()
        if code < 0 and time.monotonic() - started >= timeout:
            raise TimedOut(f"The image did not build within {timeout:g} seconds.", timeout)
        return code, capture.kept


@contextmanager
def _spawned(
    command: Sequence[str], archive: IO[bytes], *, buildkit: bool
) -> Iterator[subprocess.Popen[bytes]]:
    """The command in a process group of its own, which is gone in the end."""
    if not shutil.which(command[0]):
        raise MachineFault("There is no `docker` command here; install Docker's client (docker-cli).")
    theirs, ours = os.pipe()
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", WITH_US, "sh", f"/dev/fd/{theirs}", *command],
            stdin=archive,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "DOCKER_BUILDKIT": "1" if buildkit else "0"},
            start_new_session=True,
            pass_fds=(theirs,),
        )
        try:
            yield process
        finally:
            _end(process)
    finally:
        os.close(theirs)
        os.close(ours)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the client, upon which the engine gives the build up; buildx is a child of the docker command."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _answers(command: Sequence[str]) -> bool:
    try:
        return (
            subprocess.run(command, capture_output=True, timeout=PROBE_SECONDS, check=False).returncode == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def _raise_failure(log: bytes) -> None:
    text = log.decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(ERROR|error)\b", line)] or lines[-1:]
    last = errors[-1] if errors else "the builder said nothing"
    if _FAILED_COMMAND.search(last):
        raise BuildFailed(last, text)
    if _NO_ENGINE.search(last):
        raise MachineFault(f"The image could not be built: {last}")
    if _NO_REGISTRY.search(last):
        raise MachineFault(f"The image could not be built, as its registry does not answer: {last}")
    raise BuildFailed(last, text)
