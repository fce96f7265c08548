"""What a task's reference solution does to files: the walk over its scripts, and what follows from it."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from agents.composition import SEED_STEP, STEPS
from agents.offline.shell import Command, Script
from sandboxes.dockerfile import copies, workdir
from sandboxes.files import TaskFile
from sandboxes.task import DOCKERFILE, SOLVE, Task

SCRATCH = ("/tmp/", "/var/tmp/", "/dev/", "/proc/", "/solution/", "/logs/")


@dataclass(frozen=True, slots=True)
class Delivery:
    """A file that the environment's image brings: `path` is relative to the task folder."""

    path: str
    file: TaskFile


@dataclass(frozen=True)
class Reading:
    """What the solution of a task does, in order.

    `readers` gives for each delivered file that is read the first command that reads it. `outputs` are the
    files it writes and keeps, by order of last writing, with the block that writes each. `complete` is
    False where commands may write files that are not in `outputs`.
    """

    workdir: str
    deliveries: Mapping[str, Delivery]
    commands: tuple[Command, ...]
    readers: Mapping[str, str]
    outputs: Mapping[str, str]
    touched: frozenset[str]
    complete: bool


@lru_cache(maxsize=64)
def read_task(task: Task) -> Reading:
    folder, deliveries = workspace(task)
    commands = _walk(task, folder, deliveries)
    readers: dict[str, str] = {}
    outputs: dict[str, str] = {}
    touched: set[str] = set()
    for command in commands:
        for path in command.reads:
            if path in deliveries and path not in touched:
                readers.setdefault(path, command.name)
        for path in command.writes:
            outputs.pop(path, None)
            outputs[path] = command.block
        for path in command.removes:
            outputs.pop(path, None)
        touched.update(command.writes, command.removes)
    kept = {path: block for path, block in outputs.items() if not path.startswith(SCRATCH)}
    complete = bool(kept) and all(command.known for command in commands)
    return Reading(folder, deliveries, tuple(commands), readers, kept, frozenset(touched), complete)


def workspace(task: Task) -> tuple[str, dict[str, Delivery]]:
    """The container's working folder, and the files that the image gets from the environment's context."""
    if DOCKERFILE not in task:
        return task.config.environment.workdir or "/", {}
    dockerfile = task.text(DOCKERFILE)
    context = dict(task.under("environment"))
    found = {
        landed: Delivery(f"environment/{path}", context[path])
        for landed, path in copies(dockerfile, context).files.items()
        if context[path].link is None
    }
    return task.config.environment.workdir or workdir(dockerfile), found


def _walk(task: Task, folder: str, deliveries: Mapping[str, Delivery]) -> list[Command]:
    scripts = {
        "/solution/" + path: file.data.decode("utf-8", "replace")
        for path, file in task.under("solution").items()
    }
    script = Script(deliveries, folder, scripts)
    for block in blocks(task):
        script.cwd = script.variables["PWD"] = folder
        script.run("/" + block, block)
    return script.commands


def blocks(task: Task) -> list[str]:
    """The solution's blocks in the order they run: the steps of an evolved task, else its one script."""
    if SEED_STEP in task:
        return sorted(path for path in task.files if path.startswith(f"{STEPS}/"))
    return [SOLVE] if SOLVE in task else []


def desk(folder: str) -> str:
    """The folder for what operators hand over."""
    return posixpath.join(folder, "handover")
