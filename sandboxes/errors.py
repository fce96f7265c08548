"""What this floor raises.

SandboxesError
  ├─ TaskRefused          a task folder or archive that is not taken in (where, why)
  ├─ PolicyViolation      a Dockerfile asks for what we do not build (in `dockerfile`; line, why)
  └─ SandboxError         something went wrong around a command, never the command's own failure
       ├─ BuildFailed     the Dockerfile does not build (log attached)
       ├─ Unsupported     this backend cannot do what the task needs (named)
       ├─ TimedOut        the time limit ended the command and everything it started
       ├─ OutOfMemory     the memory limit ended it
       ├─ TooMuch         there is more to read than the limit allows, or in more files
       ├─ SandboxDied     the sandbox is gone: removed or swept, never by a command in it
       └─ MachineFault    no engine, no permission: the machine has to be mended, not the task
            └─ NoSlot     all slots of the machine stayed taken (in `slots`)
"""

from __future__ import annotations

from dataclasses import dataclass


class SandboxesError(Exception):
    """Anything this floor raises on purpose."""


class TaskRefused(SandboxesError):
    """A task that is not taken in. `line` and `column` count from 1 where they are known."""

    def __init__(self, path: str, reason: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(path, reason, line, column)
        self.path = path
        self.reason = reason
        self.line = line
        self.column = column

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.path, self.line, self.column) if part is not None)
        return f"{where}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Kept:
    """What a command had printed before it was cut short, as in `ExecResult`."""

    stdout: bytes = b""
    stderr: bytes = b""
    cut: int = 0


class SandboxError(SandboxesError):
    """Something went wrong around a command; a command that merely fails is a result, not an error.

    `kept` is what the command had printed by then, nothing where there was none.
    """

    kept = Kept()


class BuildFailed(SandboxError):
    """The image does not build. `log` is the builder's output, at most 64 KiB of head and tail."""

    def __init__(self, reason: str, log: str = "") -> None:
        super().__init__(reason)
        self.log = log


class Unsupported(SandboxError):
    """The backend cannot do what this task needs; the message names it and says what can."""


class TimedOut(SandboxError):
    """The time limit ended the command with all its children. Whatever it wrote does not count."""

    def __init__(self, reason: str, seconds: float) -> None:
        super().__init__(reason)
        self.seconds = seconds


class OutOfMemory(SandboxError):
    """The memory limit ended the command."""


class TooMuch(SandboxError):
    """More, or in more files, than may be read out of a sandbox."""


class SandboxDied(SandboxError):
    """The sandbox is gone while it was in use: removed from outside, which says nothing of the task."""


class MachineFault(SandboxError):
    """The machine is at fault (no engine, no right to make namespaces); the message says what to enable."""
