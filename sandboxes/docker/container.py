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
from typing import Any, NoReturn

import requests
from docker import APIClient
from docker.errors import APIError, create_api_error_from_http_exception
from docker.types import LogConfig, Ulimit

from sandboxes.base import Entry, ExecResult, Found, Image, Kind, Limits
from sandboxes.capture import Capture
from sandboxes.docker.client import Engine
from sandboxes.docker.seam import seam
from sandboxes.docker.stream import WRAPPER, Attached, follow
from sandboxes.errors import (
    Kept,
    MachineFault,
    OutOfMemory,
    SandboxDied,
    SandboxError,
    TimedOut,
    Unsupported,
)
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
# os.ModeType: these two, and devices, pipes, sockets, character devices and what is none of them.
MODE_KINDS = MODE_FOLDER | MODE_LINK | 1 << 26 | 1 << 25 | 1 << 24 | 1 << 21 | 1 << 19

# Below these the engine makes no container, and a task that asks for less gets them.
LEAST_MEMORY = 6 << 20
LEAST_CPU_QUOTA = 1000
CPU_PERIOD = 100_000

FREEZE_TRIES = 5
FREEZE_SECONDS = 0.5

IDLE = ("/bin/sh", "-c", "while :; do sleep 86400; done")
TRANSFER_SECONDS = 300

# The engine's words, with code 500, about a path on which a command has put a file or a circle of links.
CIRCLE = "too many links"
NOWHERE = ("not a directory", CIRCLE, "file name too long")

# A command's stream may break off a moment before the engine knows that the whole container has ended.
SETTLE_SECONDS = 2


def create(
    api: APIClient, name: str, image: str, limits: Limits, labels: Mapping[str, str], entrypoint: Image | None
) -> None:
    """A container that is not started. Nothing of it depends on the image's own command.

    An `entrypoint` is given our idle command to run, as Harbor gives it its own.
    """
    memory = max(limits.memory_mb << 20, LEAST_MEMORY)
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
        cpu_quota=max(int(limits.cpus * CPU_PERIOD), LEAST_CPU_QUOTA),
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
        entrypoint=[*entrypoint.entrypoint, *IDLE] if entrypoint else list(IDLE),
        command=[],
        user=entrypoint.user or "0:0" if entrypoint else "0:0",
        working_dir=entrypoint.workdir if entrypoint else "/",
        environment=dict(entrypoint.env) if entrypoint else {},
        labels=dict(labels),
        host_config=host,
        stdin_open=False,
        healthcheck={"Test": ["NONE"]},
    )


def freeze(api: APIClient, name: str) -> None:
    """Pause a container; on a busy machine runc now and then gives up freezing one and is asked again.

    What it gave up may freeze a moment later all the same; then the container is thawed first, so that in the
    end a pause has succeeded. Raises `MachineFault` when none of `FREEZE_TRIES` does: no task is to blame.
    """
    said = ""
    for _ in range(FREEZE_TRIES):
        try:
            api.pause(name)
        except APIError as error:
            late, said = bool(said) and "already paused" in str(error.explanation), str(error.explanation)
            if not late and "unable to freeze" not in said:
                raise
            if late:
                api.unpause(name)
            time.sleep(FREEZE_SECONDS)
        else:
            return
    raise MachineFault(f"The engine could not pause a container in {FREEZE_TRIES} tries: {said}")


@dataclass
class DockerSandbox:
    """A container, started by its first command and again by the first one after a `stop`."""

    image: Image
    name: str
    limits: Limits
    engine: Engine
    _stops: int = 0

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
        stdout, stderr = Capture(self.limits.output_bytes), Capture(self.limits.output_bytes)
        user = self.image.user if user is None else user
        command = [cwd or self.image.workdir, *argv]
        try:
            with seam("running a command"):
                code = self._run(command, {**self.image.env, **(env or {})}, user, timeout, stdout, stderr)
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
                self._read(reading, path, time.monotonic() + TRANSFER_SECONDS)
        return reading.files

    def find(self, path: str, *, exclude: Sequence[str] = ()) -> Found | None:
        reading = Reading(self.limits.read_bytes, exclude, links=True)
        with seam("reading files"):
            self._read(reading, absolute(path), time.monotonic() + TRANSFER_SECONDS)
        return reading.found(absolute(path))

    def look(self, paths: Sequence[str]) -> Mapping[str, Entry]:
        with seam("looking at files"):
            api = self.engine.api
            seen = {path: self._entry(api, absolute(path)) for path in paths}
            if not all(seen.values()):
                self._running(api)  # raises if it is the container that is not found
        return {path: entry for path, entry in seen.items() if entry}

    def stop(self) -> None:
        with seam("stopping"):
            api = self.engine.api
            if self._running(api):
                self._stops += 1
                with _unless_ended():
                    api.kill(self.name)
                api.wait(self.name, condition="not-running")

    def _run(
        self,
        command: Sequence[str],
        env: dict[str, str],
        user: str,
        timeout: float,
        stdout: Capture,
        stderr: Capture,
    ) -> int:
        deadline, stops = time.monotonic() + timeout, self._stops
        api = self.engine.api
        exec_id = self._prepared(api, ["/bin/sh", "-c", WRAPPER, "sh", *command], env, user)
        try:
            with _attached(api, exec_id) as connection:
                ended = follow(Attached(connection, deadline), secrets.token_hex(16), stdout, stderr)
        except TimeoutError as error:
            self.stop()
            raise TimedOut(f"The command did not end within {timeout:g} seconds.", timeout) from error
        except APIError as error:
            self._check_begun(api, error)
            raise
        except BaseException:  # a limit or an interrupt of the caller's: its command must not go on
            with suppress(SandboxError):
                self.stop()
            raise
        if ended.oom_kills:
            raise OutOfMemory(f"The command went over the memory limit of {self.limits.memory_mb} MiB.")
        if ended.exit_code is not None:
            return ended.exit_code
        self._check_alive(api, stopped=self._stops > stops)
        said = (stdout.kept + stderr.kept).decode("utf-8", "replace")
        return _code_without_wrapper(api, exec_id, user, said)

    def _prepared(self, api: APIClient, command: Sequence[str], env: dict[str, str], user: str) -> str:
        """The id of an exec in a running container that is not started itself."""
        if not self._running(api):
            api.start(self.name)
        try:
            exec_id: str = api.exec_create(self.name, command, stdin=True, environment=env, user=user)["Id"]
        except APIError as error:
            self._check_begun(api, error)
            raise
        return exec_id

    def _check_begun(self, api: APIClient, error: APIError) -> None:
        """Raises a sentence where an exec could not begin because nothing runs any more."""
        state = api.inspect_container(self.name)["State"]
        if not state["Running"]:
            raise SandboxError(
                f"The container ended before the command began (exit code {state['ExitCode']}): its image "
                "has no /bin/sh, or an ENTRYPOINT that ends, or a process in it killed all others."
            ) from error

    def _check_alive(self, api: APIClient, *, stopped: bool) -> None:
        """The stream broke off before the command's end. Raises where that was the container's end too."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while (state := api.inspect_container(self.name)["State"])["Running"] and time.monotonic() < deadline:
            time.sleep(0.1)
        if state["OOMKilled"]:
            raise OutOfMemory(f"The sandbox went over the memory limit of {self.limits.memory_mb} MiB.")
        if not state["Running"] and (stopped or state["Status"] in ("removing", "dead")):
            raise SandboxDied("The sandbox was stopped while a command ran in it.")
        if not state["Running"]:
            # It is still there, so nobody outside removed it: what ran inside ended it.
            raise SandboxError("All processes of the sandbox were ended while a command ran in it.")

    def _running(self, api: APIClient) -> bool:
        return bool(api.inspect_container(self.name)["State"]["Running"])

    @contextmanager
    def _frozen(self) -> Iterator[APIClient]:
        """No process runs meanwhile, so none can put a link where a folder was just looked at."""
        api = self.engine.api
        running = self._running(api)
        if running:
            freeze(api, self.name)
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

    def _entry(self, api: APIClient, path: str) -> Entry | None:
        with self._asked(api, "HEAD", path) as response:
            if response.ok:
                return _entry_in(response)
            if response.status_code == 404:
                return None
            if not _leads_nowhere(response):
                _refuse(response)
        # A circle of links is there all the same, and the answer to HEAD has no words for that.
        with self._asked(api, "GET", path) as response:
            return Entry(Kind.LINK, 0) if _says(response, (CIRCLE,)) else None

    def _read(self, reading: Reading, root: str, deadline: float) -> None:
        paths = [root]
        while paths:
            path = paths.pop()
            with self._archive(self.engine.api, "GET", path) as response:
                if response is not None and (reading.links or not _mode_in(response) & MODE_LINK):
                    with buffered(_until(deadline, response.iter_content(CHUNK), root)) as stream:
                        reading.take(stream, base=posixpath.dirname(path), root=root)
            paths += reading.second_names()

    @contextmanager
    def _archive(self, api: APIClient, method: str, path: str) -> Iterator[requests.Response | None]:
        """The archive endpoint's answer about `path`, None when it is missing.

        Closed at the end even if it was not read: while one is open, the engine removes no container
        (docker-py's `get_archive` leaves it open, and the removal then waited for 180 s).
        """
        with self._asked(api, method, path) as response:
            if response.ok:
                yield response
            elif response.status_code == 404 or _leads_nowhere(response):
                self._running(api)  # raises if it is the container that is not found
                yield None
            else:
                _refuse(response)

    def _asked(self, api: APIClient, method: str, path: str) -> requests.Response:
        url = f"{api.base_url}/v{api.api_version}/containers/{self.name}/archive"
        return api.request(method, url, params={"path": path}, stream=True, timeout=api.timeout)


def _code_without_wrapper(api: APIClient, exec_id: str, user: str, said: str) -> int:
    """The wrapping shell did not reach its end: killed by its own command, or never started.

    Raises `Unsupported` where there is no shell or no such user, which the engine tells by these codes.
    """
    code = api.exec_inspect(exec_id)["ExitCode"]
    if code in (126, 127):
        who = f"as the user {user!r}" if user and "OCI runtime" not in said else "in this image"
        raise Unsupported(f"No command can run {who}. {said.strip()}".strip())
    return 137 if code is None else int(code)


def _until(deadline: float, chunks: Iterator[bytes], root: str) -> Iterator[bytes]:
    for chunk in chunks:
        if time.monotonic() > deadline:
            raise SandboxError(f"{root} was not read within {TRANSFER_SECONDS} seconds.")
        yield chunk


def _leads_nowhere(response: requests.Response) -> bool:
    # The answer to HEAD has no words; a write after it says what is wrong in its own.
    head = response.request.method == "HEAD"
    return response.status_code == 500 if head else _says(response, NOWHERE)


def _says(response: requests.Response, words: Sequence[str]) -> bool:
    return response.status_code == 500 and any(each in response.text for each in words)


def _refuse(response: requests.Response) -> NoReturn:
    try:
        response.raise_for_status()
    except requests.HTTPError as error:
        create_api_error_from_http_exception(error)
    raise AssertionError("only called for an error")


@contextmanager
def _unless_ended() -> Iterator[None]:
    """A container that has just ended by itself needs no stopping."""
    try:
        yield
    except APIError as error:
        if error.status_code != 409:
            raise


def _mode_in(response: requests.Response) -> int:
    return int(_stat_in(response)["mode"])


def _entry_in(response: requests.Response) -> Entry:
    kinds = {MODE_FOLDER: Kind.FOLDER, 0: Kind.FILE, MODE_LINK: Kind.LINK}
    stat = _stat_in(response)
    return Entry(kinds.get(stat["mode"] & MODE_KINDS, Kind.SPECIAL), int(stat["size"]))


def _stat_in(response: requests.Response) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(base64.b64decode(response.headers["X-Docker-Container-Path-Stat"]))
    return found


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
