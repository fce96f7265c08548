"""The tests of one sandbox: put in order before they run, and asked one by one when they have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sandboxes.base import ExecResult, Kind, Sandbox
from sandboxes.handover import LOGS
from sandboxes.pytest_report import REPORT, put_plugin, with_plugin
from sandboxes.shuffling import rename, renames, unit_names
from sandboxes.task import Task
from sandboxes.unit_results import (
    MAX_REPORT_BYTES,
    UnitResult,
    of_ctrf,
    of_pytest,
    of_runner,
    of_tap,
    pytest_rows,
)

CTRF = f"{LOGS}/ctrf.json"


@dataclass(frozen=True, slots=True)
class Arranged:
    """`names` leads from the name of a unit's file in this sandbox to its name in the task."""

    names: Mapping[str, str]
    renamed: bool = False
    plugin: str = ""
    ctrf: bool = False

    def env(self, image: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
        """The variables `own` of the tests, with what our pytest plugin needs beside the image's."""
        if not self.plugin:
            return dict(own)
        return {**own, "PYTHONPATH": with_plugin({**image, **own}, self.plugin)}


@dataclass(frozen=True, slots=True)
class Told:
    """What the single tests said, and whether they ran in another order than the task's."""

    units: tuple[UnitResult, ...] = ()
    shuffled: bool = False


def arrange(sandbox: Sandbox, task: Task, order: int | None) -> Arranged:
    """Make the tests of `task`, which are in the sandbox, ready; `order` seeds a shuffle.

    Raises what the sandbox raises.
    """
    planned = {} if order is None else renames(task, order)
    renamed = rename(sandbox, planned)
    names = {new: old for old, new in planned.items()} if renamed else {n: n for n in unit_names(task)}
    plugin = put_plugin(sandbox, order) if names_in_tests(task, b"pytest") else ""
    return Arranged(names, renamed, plugin, names_in_tests(task, b"ctrf"))


def names_in_tests(task: Task, word: bytes) -> bool:
    """Whether any file of the tests so much as names it."""
    return any(path.startswith("tests/") and word in file.data for path, file in task.files.items())


def told(sandbox: Sandbox, arranged: Arranged, done: ExecResult) -> Told:
    """What the tests said, once the sandbox is stopped. Raises what the sandbox raises, nothing for content.

    An evolved task's units come before the single tests within them; then pytest, a CTRF report, TAP.
    Output of which something was cut tells nothing.
    """
    report = _file(sandbox, f"{arranged.plugin}/{REPORT}") if arranged.plugin else b""
    shuffled = arranged.renamed or any(row.get("shuffled") is True for row in pytest_rows(report))
    by_runner = () if done.cut else of_runner(done.stdout, arranged.names)
    if len(arranged.names) > 1 and (done.cut or by_runner):
        return Told(by_runner, shuffled)
    ctrf = _file(sandbox, CTRF) if arranged.ctrf else b""
    tap = () if done.cut else of_tap(done.stdout)
    return Told(of_pytest(report) or of_ctrf(ctrf) or tap or by_runner, shuffled)


def _file(sandbox: Sandbox, path: str) -> bytes:
    """A regular file in real folders; b"" where there is none, or a larger one than a report is."""
    parents = [path[:at] for at in range(1, len(path)) if path[at] == "/"]
    seen = sandbox.look([*parents, path])
    real = all(parent in seen and seen[parent].kind is Kind.FOLDER for parent in parents)
    if not real or path not in seen or seen[path].kind is not Kind.FILE or seen[path].size > MAX_REPORT_BYTES:
        return b""
    file = sandbox.read_files([path]).get(path)
    return file.data if file else b""
