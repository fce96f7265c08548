"""One container as a sandbox."""

from __future__ import annotations

import base64
import json
import posixpath
import secrets
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import requests
from docker import APIClient
from docker.types import LogConfig, Ulimit

from sandboxes.base import ExecResult, Image, Limits
from sandboxes.docker.client import Engine
from sandboxes.docker.seam import seam
from sandboxes.docker.stream import WRAPPER, Attached, Ended, follow
from sandboxes.errors import OutOfMemory, SandboxDied, TimedOut, Unsupported
from sandboxes.files import TaskFile
from sandboxes.transfer import CHUNK, Reading, absolute, buffered, folders_above, pack, placed

# What a shell, a package manager or a server needs for root to behave as root inside. Left out of the
# engine's default fourteen: raw sockets, device nodes, chroot, file capabilities, audit, FSETID, SETPCAP,
# and NET_BIND_SERVICE (the engine already lets everyone bind low ports).
CAPABILITIES = (
    "CHOWN",  # chown; tar and apt unpack with owners
    "DAC_OVERRIDE",  # root reads and writes files of other users
    "FOWNER",  # chmod and utime on files of other users
    "SETUID",  # su, apt's own user, daemons that drop to theirs
    "SETGID",
    "KILL",  # root ends other users' processes
)

MODE_LINK = 1 << 27  # Go's os.ModeSymlink in the stat of the archive endpoint
MODE_FOLDER = 1 << 31
CPU_PERIOD = 100_000

# A command's stream may break off a moment before the engine knows that the whole container has ended.
SETTLE_SECONDS = 2


def create(api: APIClient, name: str, image: str, limits: Limits, labels: Mapping[str, str]) -> None:
    """A container that is not started. Nothing of it depends on the image's own command."""
    memory = limits.memory_mb << 20
    file_size = limits.disk_mb << 20
    host = api.create_host_config(
        network_mode="none",
        cap_drop=["ALL"],
        cap_add=list(CAPABILITIES),
        security_opt=["no-new-privileges"],
        init=True,
        mem_limit=memory,
        memswap_limit=memory,
        # A quota and not `nano_cpus`, which the engine refuses above the number of its processors.
        cpu_period=CPU_PERIOD,
        cpu_quota=int(limits.cpus * CPU_PERIOD),
        pids_limit=limits.pids,
        # overlay2 on ext4 has no quota for a container, so the limit is on each file.
        ulimits=[
            Ulimit(name="fsize", soft=file_size, hard=file_size),
            Ulimit(name="core", soft=0, hard=0),
        ],
        log_config=LogConfig(type="none"),
        restart_policy={"Name": "no"},
    )
    api.create_container(
        image,
        name=name,
        entrypoint=["/bin/sh", "-c", "while :; do sleep 86400; done"],
        command=[],
        user="0:0",
        working_dir="/",
        labels=dict(labels),
        host_config=host,
        stdin_open=False,
        healthcheck={"Test": ["NONE"]},
    )


@dataclass
class DockerSandbox:
    """A container, started by its first command and again by the first one after a `stop`."""

    image: Image
    name: str
    limits: Limits
    engine: Engine

    def exec(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
    ) -> ExecResult:
        """As `Sandbox.exec`. The time limit ends everything in the container, the files stay."""
        started_at, started = datetime.now(UTC), time.monotonic()
        with seam("running a command"):
            ended, code = self._run(argv, started + timeout, timeout, cwd or self.image.workdir, env, user)
        return ExecResult(
            argv=tuple(argv),
            exit_code=code,
            stdout=ended.stdout.kept,
            stderr=ended.stderr.kept,
            cut=ended.stdout.cut + ended.stderr.cut,
            seconds=time.monotonic() - started,
            started_at=started_at,
        )

    def write_files(self, files: Mapping[str, TaskFile], root: str) -> None:
        targets = placed(files, root)
        with seam(f"writing files to {root}"), self._frozen() as api:
            new = self._not_folders(api, folders_above(targets, root))
            with pack(targets, new) as archive:
                # Plain tar only: the engine would run a decompressor on anything else.
                api.put_archive(self.name, "/", archive)

    def read_files(self, paths: Sequence[str], *, exclude: Sequence[str] = ()) -> Mapping[str, TaskFile]:
        reading = Reading(self.limits.read_bytes, exclude)
        with seam("reading files"):
            for path in map(absolute, paths):
                self._read(reading, path, path)
        return reading.files

    def stop(self) -> None:
        with seam("stopping"):
            api = self.engine.api
            if self._running(api):
                api.kill(self.name)
                api.wait(self.name, condition="not-running")

    def _run(
        self,
        argv: Sequence[str],
        deadline: float,
        timeout: float,
        cwd: str,
        env: Mapping[str, str] | None,
        user: str | None,
    ) -> tuple[Ended, int]:
        api = self.engine.api
        if not self._running(api):
            api.start(self.name)
        marker = secrets.token_hex(16)
        command = ["/bin/sh", "-c", WRAPPER, "sh", marker, cwd, *argv]
        user = self.image.user if user is None else user
        created = api.exec_create(
            self.name, command, stdin=True, environment={**self.image.env, **(env or {})}, user=user
        )
        try:
            with _attached(api, created["Id"]) as connection:
                ended = follow(Attached(connection, deadline), marker, self.limits.output_bytes)
        except TimeoutError as error:
            self.stop()
            raise TimedOut(f"The command did not end within {timeout:g} seconds.", timeout) from error
        return ended, self._exit_code(api, created["Id"], ended)

    def _exit_code(self, api: APIClient, exec_id: str, ended: Ended) -> int:
        if ended.oom_kills:
            raise OutOfMemory(f"The command went over the memory limit of {self.limits.memory_mb} MiB.")
        if ended.exit_code is not None:
            return ended.exit_code
        deadline = time.monotonic() + SETTLE_SECONDS
        while (state := api.inspect_container(self.name)["State"])["Running"] and time.monotonic() < deadline:
            time.sleep(0.1)
        if state["OOMKilled"]:
            raise OutOfMemory(f"The sandbox went over the memory limit of {self.limits.memory_mb} MiB.")
        if not state["Running"]:
            raise SandboxDied("The container ended while a command ran in it.")
        return self._code_without_wrapper(api, exec_id, ended)

    def _code_without_wrapper(self, api: APIClient, exec_id: str, ended: Ended) -> int:
        """The wrapping shell did not reach its end: killed by its own command, or there is no shell."""
        code = api.exec_inspect(exec_id)["ExitCode"]
        said = (ended.stdout.kept + ended.stderr.kept).decode("utf-8", "replace")
        if code in (126, 127) and "OCI runtime exec failed" in said:
            raise Unsupported(f"No command can run in this image: {said.strip()}")
        return 137 if code is None else int(code)

    def _running(self, api: APIClient) -> bool:
        return bool(api.inspect_container(self.name)["State"]["Running"])

    @contextmanager
    def _frozen(self) -> Iterator[APIClient]:
        """No process runs meanwhile, so none can put a link where a folder was just looked at."""
        api = self.engine.api
        running = self._running(api)
        if running:
            api.pause(self.name)
        try:
            yield api
        finally:
            if running:
                api.unpause(self.name)

    def _not_folders(self, api: APIClient, folders: Sequence[str]) -> list[str]:
        """Those folders that are missing, or a link or a file, or below such a one. Outermost first."""
        new: list[str] = []
        for folder in folders:
            if posixpath.dirname(folder) in new or not self._mode(api, folder) & MODE_FOLDER:
                new.append(folder)
        return new

    def _mode(self, api: APIClient, path: str) -> int:
        """Go's file mode of `path` itself, 0 when it is missing. Links among its parents are followed."""
        with self._archive(api, "HEAD", path) as response:
            return 0 if response is None else _mode_in(response)

    def _read(self, reading: Reading, path: str, root: str) -> None:
        with self._archive(self.engine.api, "GET", path) as response:
            if response is None or _mode_in(response) & MODE_LINK:
                return
            with buffered(response.iter_content(CHUNK)) as stream:
                reading.take(stream, base=posixpath.dirname(path), root=root)
        while reading.hard_links:
            self._read(reading, reading.hard_links.pop(), root)

    @contextmanager
    def _archive(self, api: APIClient, method: str, path: str) -> Iterator[requests.Response | None]:
        """The archive endpoint's answer about `path`, None when it is missing.

        Closed at the end even if it was not read: while one is open, the engine removes no container
        (docker-py's `get_archive` leaves it open, and the removal then waited for 180 s).
        """
        url = f"{api.base_url}/v{api.api_version}/containers/{self.name}/archive"
        with api.request(method, url, params={"path": path}, stream=True, timeout=api.timeout) as response:
            if response.status_code == 404:
                self._running(api)  # raises if it is the container that is not found
                yield None
            else:
                response.raise_for_status()
                yield response


def _mode_in(response: requests.Response) -> int:
    stat = json.loads(base64.b64decode(response.headers["X-Docker-Container-Path-Stat"]))
    return int(stat["mode"])


@contextmanager
def _attached(api: APIClient, exec_id: str) -> Iterator[socket.socket]:
    stream: Any = api.exec_start(exec_id, socket=True)
    connection: socket.socket = getattr(stream, "_sock", stream)
    try:
        yield connection
    finally:
        # Hanging up is also the wrapping shell's end.
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        stream._response.close()
