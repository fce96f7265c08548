"""Where a task's tests look: the files that a solution leaves, and the folders that travel to the tests.

An attacker is taken to know the tests: paths are read from the instruction and from the test scripts.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from sandboxes.handover import CONVENTION
from sandboxes.task import INSTRUCTION, Task

_PATH = re.compile(r"(?<![\w./$}-])/(?:[\w.-]+/)*[\w.-]*\w")
# Nothing that a solution leaves is here; a probe writes there on purpose or not at all.
_ELSEWHERE = ("bin", "dev", "etc", "lib", "lib64", "logs", "proc", "sbin", "solution", "sys", "tests", "usr")
_SCRIPTS = (".sh", ".py", ".bash", ".js", ".rb", ".pl")


def outputs(task: Task) -> tuple[str, ...]:
    """The files that a solution is asked to leave, as absolute paths, sorted."""
    mentioned, declared = _mentioned(task), _declared(task)
    if task.separate:
        paths = declared | {path for path in mentioned if any(_below(path, each) for each in declared)}
    else:
        brought = inputs(task)
        paths = {path for path in mentioned if PurePosixPath(path).name not in brought}
    return tuple(sorted(path for path in paths if not any(_below(other, path) for other in paths)))


def folders(task: Task) -> tuple[str, ...]:
    """The folders of which something reaches the tests, as absolute paths, sorted."""
    parents = {str(PurePosixPath(path).parent) for path in outputs(task)}
    declared = {path for path in _declared(task) if not PurePosixPath(path).suffix}
    return tuple(sorted({CONVENTION, *parents, *(declared - set(outputs(task)))} - {"/"}))


def inputs(task: Task) -> frozenset[str]:
    """The names, without folders, of the files that the environment brings."""
    return frozenset(
        PurePosixPath(path).name
        for path in task.under("environment")
        if path not in ("Dockerfile", "README.md")
    )


def has_outputs(task: Task) -> bool:
    return bool(outputs(task))


def _declared(task: Task) -> set[str]:
    sources = {artifact.source.rstrip("/") for artifact in task.config.artifacts}
    return {source for source in sources if source.startswith("/") and source != CONVENTION}


def _mentioned(task: Task) -> set[str]:
    """Files that the instruction or a test names."""
    scripts = [path for path in task.under("tests") if path.endswith(_SCRIPTS)]
    texts = [
        task.text(path) for path in (INSTRUCTION, *(f"tests/{path}" for path in scripts)) if path in task
    ]
    return {
        path
        for text in texts
        for path in _PATH.findall(text)
        if path.split("/")[1] not in _ELSEWHERE and path.count("/") > 1
    }


def _below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")
