"""What ran in a trial: each command is kept, scripts are run as Harbor runs them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sandboxes.base import Entry, ExecResult, Found, Image, Sandbox
from sandboxes.errors import SandboxError, Unsupported
from sandboxes.files import TaskFile
from sandboxes.handover import PLUMBING_SECONDS

IN_SUBSHELL = ("-c", '("$0")')
HAS_BASH = ("/bin/sh", "-c", "command -v bash")
ENTERS = ("/bin/sh", "-c", ":")


@dataclass
class Recorded:
    """A sandbox that keeps the result of each command, and gives none more than `_most` seconds."""

    _inner: Sandbox
    _commands: list[ExecResult]
    _most: float

    @property
    def image(self) -> Image:
        return self._inner.image

    def exec(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
    ) -> ExecResult:
        started_at, clock = datetime.now(UTC), time.monotonic()
        # A script is told by its own path, without the shell around it.
        told = (argv[-1],) if tuple(argv[1:-1]) == IN_SUBSHELL else tuple(argv)
        try:
            result = self._inner.exec(argv, timeout=min(timeout, self._most), cwd=cwd, env=env, user=user)
        except SandboxError as error:
            seconds, kept = time.monotonic() - clock, error.kept
            self._commands.append(
                ExecResult(told, -1, kept.stdout, kept.stderr, kept.cut, seconds, started_at, str(error))
            )
            raise
        if tuple(argv) not in (HAS_BASH, ENTERS):
            self._commands.append(replace(result, argv=told))
        return result

    def write_files(self, files: Mapping[str, TaskFile], root: str) -> None:
        self._inner.write_files(files, root)

    def read_files(self, paths: Sequence[str], *, exclude: Sequence[str] = ()) -> Mapping[str, TaskFile]:
        return self._inner.read_files(paths, exclude=exclude)

    def find(self, path: str, *, exclude: Sequence[str] = ()) -> Found | None:
        return self._inner.find(path, exclude=exclude)

    def look(self, paths: Sequence[str]) -> Mapping[str, Entry]:
        return self._inner.look(paths)

    def stop(self) -> None:
        self._inner.stop()


def run_script(
    sandbox: Sandbox,
    path: str,
    timeout: float,
    env: Mapping[str, str],
    user: str | None = None,
    bash: str = "bash",
) -> None:
    """As Harbor does: by bash, which also takes a script without a first line that names its shell.

    Raises `Unsupported` where there is no bash or no working folder, and what `Sandbox.exec` raises.
    """
    done = sandbox.exec([bash, *IN_SUBSHELL, path], timeout=timeout, env=env, user=user)
    if done.exit_code == 127 and not sandbox.exec(HAS_BASH, timeout=PLUMBING_SECONDS, cwd="/").ok:
        raise Unsupported("There is no bash in this image, and solve.sh and test.sh are run by it.")
    if done.exit_code == 126 and sandbox.exec(ENTERS, timeout=PLUMBING_SECONDS).exit_code == 126:
        raise Unsupported(f"The working folder {sandbox.image.workdir} is not there, or cannot be entered.")
