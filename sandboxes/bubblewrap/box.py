"""One private tree as a sandbox: each command is a bubblewrap of its own over it."""

from __future__ import annotations

import stat
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import IO

from sandboxes.base import Entry, ExecResult, Found, Image, Kind, Limits
from sandboxes.bubblewrap.cgroups import Cgroup
from sandboxes.bubblewrap.process import Process, launched
from sandboxes.bubblewrap.view import MOUNT_POINTS, PATH, Tree, host_tools, isolated
from sandboxes.capture import Capture
from sandboxes.errors import Kept, SandboxError, Unsupported
from sandboxes.files import TaskFile
from sandboxes.transfer import CHUNK, Reading, absolute, buffered, folders_above, pack, placed

TRANSFER_SECONDS = 300
MESSAGE_BYTES = 4096
ROOT_USERS = ("", "0", "root", "0:0", "root:root")

IN_FOLDER = 'cd -- "$1" || exit 126; shift; unset OLDPWD; exec "$@"'
# Arguments: the folders that must be real ones, outermost first; then the archive's members come in.
UNPACK = """cd /box || exit 1
for d do [ -d "$d" ] && [ ! -L "$d" ] || { rm -f -- "$d" && mkdir -m 755 -- "$d"; } || exit 1; done
exec tar -x -p --no-same-owner -f -"""
# Argument: a path, which may be missing. Links stay links in the archive.
PACK = """cd /box || exit 2
[ -e "$1" ] || [ -L "$1" ] || exit 0
exec tar -c --hard-dereference --no-xattrs -f - -- "$1" """
# Arguments: paths. A line for each: its mode in hexadecimal and its size, zeros where it is missing.
LOOK = """cd /box || exit 2
for p do stat -c '%f %s' -- "$p" || echo 0 0; done"""
CHANGED_MEANWHILE = 1  # tar's exit code for a file that was written to while it was read


@dataclass
class BubblewrapSandbox:
    """A folder of the host in which commands run one at a time.

    Processes in the background end with the command that started them, since each command has a process
    namespace of its own. There is one user, root, who is the worker's own user outside.
    """

    image: Image
    tree: Tree
    limits: Limits
    cgroup: Cgroup
    overlay: bool
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _running: list[Process] = field(default_factory=list)

    def exec(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
    ) -> ExecResult:
        """As `Sandbox.exec`. Raises `Unsupported` for any user but root."""
        user = self.image.user if user is None else user
        if user not in ROOT_USERS:
            raise Unsupported(f"The bubblewrap backend has no user but root, so not {user!r}; docker has.")
        command = self._command(argv, cwd or self.image.workdir, env or {})
        stdout, stderr = Capture(self.limits.output_bytes), Capture(self.limits.output_bytes)
        started_at, started = datetime.now(UTC), time.monotonic()
        with self._process(command) as process:
            try:
                code = process.finish(stdout, stderr, timeout)
            except SandboxError as error:
                error.kept = Kept(stdout.kept, stderr.kept, stdout.cut + stderr.cut)
                raise
        return ExecResult(
            argv=tuple(argv),
            exit_code=code,
            stdout=stdout.kept,
            stderr=stderr.kept,
            cut=stdout.cut + stderr.cut,
            seconds=time.monotonic() - started,
            started_at=started_at,
        )

    def write_files(self, files: Mapping[str, TaskFile], root: str) -> None:
        """As `Sandbox.write_files`. Raises `Unsupported` for a file in the place of a system folder."""
        targets = placed(files, root)
        if covered := sorted({path[1:] for path in targets} & MOUNT_POINTS):
            raise Unsupported(f"/{covered[0]} is the machine's own in the bubblewrap backend; it stays.")
        command = self._our_tool(UNPACK, ["." + path for path in folders_above(targets, root)])
        said = Capture(MESSAGE_BYTES)
        with pack(targets) as archive:
            archive.fileno()  # rolls a spooled archive over to a file, which the child can read
            with self._process(command, stdin=archive) as process:
                code = process.finish(said, said, TRANSFER_SECONDS)
        if code:
            reason = said.kept.decode("utf-8", "replace").strip()
            raise SandboxError(f"The files could not be written to {root}: {reason}")

    def read_files(self, paths: Sequence[str], *, exclude: Sequence[str] = ()) -> Mapping[str, TaskFile]:
        reading = Reading(self.limits.read_bytes, exclude)
        for path in map(absolute, paths):
            self._read(reading, path)
        return reading.files

    def find(self, path: str, *, exclude: Sequence[str] = ()) -> Found | None:
        reading = Reading(self.limits.read_bytes, exclude, links=True)
        self._read(reading, absolute(path))
        return reading.found(absolute(path))

    def look(self, paths: Sequence[str]) -> Mapping[str, Entry]:
        said = Capture(MESSAGE_BYTES + 64 * len(paths))
        command = self._our_tool(LOOK, ["." + absolute(path) for path in paths])
        with self._process(command, stderr=subprocess.DEVNULL) as process:
            code = process.finish(said, said, TRANSFER_SECONDS)
        lines = [line.split() for line in said.kept.splitlines()]
        if code or len(lines) != len(paths):
            raise SandboxError(f"{', '.join(paths)} could not be looked at.")
        seen = {path: (int(mode, 16), int(size)) for path, (mode, size) in zip(paths, lines, strict=True)}
        return {path: _entry(mode, size) for path, (mode, size) in seen.items() if mode}

    def _read(self, reading: Reading, path: str) -> None:
        command = self._our_tool(PACK, ["." + path])
        with self._process(command, stderr=subprocess.DEVNULL) as process:
            _read(process, reading, path)

    def stop(self) -> None:
        """Nothing lives between commands, so only one of another thread can be running."""
        for process in tuple(self._running):
            process.inner.kill()
        self.cgroup.kill()

    def _command(self, argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> list[str]:
        variables = {"PATH": PATH, "HOME": "/root", "HOSTNAME": "sandbox", **self.image.env, **env}
        command = isolated(list(self.tree.mounts("/", overlay=self.overlay)))
        for name, value in variables.items():
            command += ["--setenv", name, value]
        return [*command, "--", "/bin/sh", "-c", IN_FOLDER, "sh", cwd, *argv]

    def _our_tool(self, script: str, arguments: Sequence[str]) -> list[str]:
        """A script with the machine's own tools and the tree below /box.

        A link that leads out of /box finds nothing there but those tools.
        """
        mounts = [*host_tools(), *self.tree.mounts("/box", overlay=self.overlay)]
        variables = ["--setenv", "PATH", PATH, "--setenv", "LC_ALL", "C.UTF-8"]
        return [*isolated(mounts, proc=False), *variables, "--", "/bin/sh", "-c", script, "sh", *arguments]

    @contextmanager
    def _process(
        self,
        command: Sequence[str],
        *,
        stdin: IO[bytes] | int = subprocess.DEVNULL,
        stderr: int = subprocess.PIPE,
    ) -> Iterator[Process]:
        """One at a time: two overlays over the same changes at once are undefined."""
        home = self.tree.folder
        with (
            self._turn,
            launched(command, self.limits, self.cgroup, home, stdin=stdin, stderr=stderr) as process,
        ):
            self._running.append(process)
            try:
                yield process
            finally:
                self._running.remove(process)


def _entry(mode: int, size: int) -> Entry:
    kinds = {stat.S_IFDIR: Kind.FOLDER, stat.S_IFREG: Kind.FILE, stat.S_IFLNK: Kind.LINK}
    return Entry(kinds.get(stat.S_IFMT(mode), Kind.SPECIAL), size)


def _read(process: Process, reading: Reading, path: str) -> None:
    assert process.inner.stdout is not None
    watch = threading.Timer(TRANSFER_SECONDS, process.inner.kill)
    watch.start()
    try:
        with buffered(iter(partial(process.inner.stdout.read, CHUNK), b"")) as stream:
            reading.take(stream, base="/", root=path)
            while stream.read(CHUNK):
                pass
    finally:
        watch.cancel()
    if process.exit_code() > CHANGED_MEANWHILE:
        raise SandboxError(f"{path} could not be read.")
