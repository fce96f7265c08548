"""The interface that every sandbox backend implements, and the values that cross it.

The contract is checked by name, for every backend, in `tests/sandboxes/contract/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from sandboxes.files import TaskFile

RECENT_SECONDS = 600.0
"""Between its build and its first sandbox an image looks unused."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one sandbox may use. Sizes in mebibytes; `output_bytes` caps each kept stream of a command.

    `seconds` is the most that a trial gives one build or one command, whatever its task asks for. A task
    that asks for less memory or processor than the backend can give out gets that least.
    """

    memory_mb: int = 2048
    cpus: float = 1.0
    pids: int = 512
    disk_mb: int = 4096
    output_bytes: int = 256 * 1024
    read_bytes: int = 256 * 1024 * 1024
    seconds: float = 3 * 3600.0


@dataclass(frozen=True, slots=True)
class ExecResult:
    """One command that ran to its own end.

    `stdout` and `stderr` keep at most `Limits.output_bytes` each, half head and half tail; `cut` is the
    number of bytes left out of both together. `started_at` is in UTC.
    """

    argv: tuple[str, ...]
    exit_code: int
    stdout: bytes
    stderr: bytes
    cut: int
    seconds: float
    started_at: datetime
    cut_short: str = ""

    @property
    def ok(self) -> bool:
        return self.exit_code == 0


@dataclass(frozen=True, slots=True)
class Image:
    """Something a sandbox can start from. `id` identifies its content, for evidence keys.

    `entrypoint` is what the image starts beside every command, as its own user and in its own folder.
    """

    id: str
    backend: str
    workdir: str = "/"
    env: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    notes: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """What is at one path of a sandbox: a folder with all files and links below, or a single file or link.

    `files` is keyed by absolute path. A link is told with its target as it is, wherever that leads.
    """

    folder: bool
    files: Mapping[str, TaskFile]


class Kind(StrEnum):
    """What a path names, in the words of a sentence."""

    FOLDER = "a folder"
    FILE = "a regular file"
    LINK = "a link"
    SPECIAL = "a special file"


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands at a path itself, of which nothing was read. `size` is in bytes."""

    kind: Kind
    size: int


class Sandbox(Protocol):
    """A private file system in which commands run. Everything in it is lost when its context ends."""

    @property
    def image(self) -> Image:
        """What it started from; its `workdir`, `env` and `user` hold for every command."""

    def exec(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
    ) -> ExecResult:
        """Run one command to its own exit, with standard input empty.

        Returns when the *command* ends, whatever its background children hold open; a command that
        exits non-zero is a result (126: it or `cwd` cannot be entered, 127: not found, 128 + n: killed by
        signal n). `timeout` is in seconds; `cwd` and `user` default to the image's; `env` is added to the
        image's variables. Raises `TimedOut` (after every process of the sandbox was killed: the files stay,
        and another command may run), `OutOfMemory` (also when only a child of the command was ended),
        `Unsupported` for a user that the backend or the image does not have, `SandboxDied` when the sandbox
        was removed meanwhile, and plain `SandboxError` when the command ended the sandbox. Each carries what
        was printed by then (`SandboxError.kept`). An exception of the caller's own ends the command too.
        """

    def write_files(self, files: Mapping[str, TaskFile], root: str) -> None:
        """Write files below the absolute folder `root`, owned by root, keyed by paths relative to it.

        A link on the way is replaced by a real folder, never followed (but for `/bin` and its like, which
        lead into `/usr`). Raises `ValueError` for a path that leaves `root`.
        """

    def read_files(self, paths: Sequence[str], *, exclude: Sequence[str] = ()) -> Mapping[str, TaskFile]:
        """Regular files at, or below, the absolute `paths`, keyed by absolute path.

        A missing path gives nothing. Links and special files at or below a path are left out, never
        followed. `exclude` holds patterns of GNU `tar --exclude`, about what is below a path. Raises
        `TooMuch` above `Limits.read_bytes` in all.
        """

    def find(self, path: str, *, exclude: Sequence[str] = ()) -> Found | None:
        """What is at the absolute `path`, read as by `read_files` but with links.

        None where it is missing or a special file.
        """

    def look(self, paths: Sequence[str]) -> Mapping[str, Entry]:
        """What stands at each of the absolute `paths` itself, keyed by them; reads none of it.

        A missing path gives nothing. Links among a path's parents may be followed: who must not go through
        one looks at the parents too.
        """

    def stop(self) -> None:
        """End every process of the sandbox but keep its files readable, writable and forkable."""


class Backend(Protocol):
    """A way to run task content. One object a process; made after a fork, never shared across one."""

    name: str
    provisional: bool
    """True where the backend does not build the task's Dockerfile, so that its evidence is provisional."""

    def identity(self) -> str:
        """A short string of what the evidence depends on: backend, engine version, its settings."""

    def check(self) -> None:
        """Raises `MachineFault` with a sentence that says what to enable, when nothing can run here."""

    def build(self, context: Mapping[str, TaskFile], *, timeout: float) -> Image:
        """Build the context (a `Dockerfile` at its root); cached by content, and by that of its bases.

        Raises `BuildFailed`, `Unsupported`, `TimedOut`, `MachineFault`.
        """

    def bases(self, context: Mapping[str, TaskFile]) -> Mapping[str, str]:
        """The images that the context's Dockerfile starts from or copies from, and their ids here now.

        An id is empty where the backend has no such image. Names of the file's own stages are left out.
        Nothing for a backend that starts from the machine instead, which `identity` names. Raises
        `MachineFault`.
        """

    def open(
        self, image: Image, limits: Limits, *, labels: Mapping[str, str]
    ) -> AbstractContextManager[Sandbox]:
        """A fresh sandbox from `image`: no network, few capabilities, swept by its labels if we die."""

    def fork(
        self, sandbox: Sandbox, limits: Limits, *, labels: Mapping[str, str]
    ) -> AbstractContextManager[Sandbox]:
        """Stop `sandbox` and give a fresh one with its files; no process of it lives on."""

    def sweep(self, is_live: Callable[[Mapping[str, str]], bool]) -> int:
        """Remove this installation's sandboxes whose labels are no longer live; returns how many."""

    def room(self) -> int | None:
        """Free bytes where images and sandboxes are kept; None where that cannot be told from here."""

    def trim(self, *, keep: int, floor: int, unused_for: float = RECENT_SECONDS) -> int:
        """Remove this installation's least recently used images; returns the bytes they took.

        It goes on while they take more than `keep` bytes or `room` is below `floor`. An image in use, or used
        in the last `unused_for` seconds, stays. What was removed is built again when it is needed.
        """
