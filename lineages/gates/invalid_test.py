"""invalid_test: the tests give nothing where nothing was done, nor where the outputs are there and empty.

The second run is what a solver leaves that knows only the names: every declared artifact, and every path
below the working folder or `/app` that the instruction names, made without content where there was nothing.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator, Sequence

from lineages.gates.base import A_TRIAL, Gate, Input, Outcome, Result, Subject
from lineages.gates.trials import NOP, kept, outcome, rejected, rewarded, trial, untouched
from sandboxes.base import Sandbox
from sandboxes.handover import PLUMBING_SECONDS
from sandboxes.task import INSTRUCTION, Task
from sandboxes.trial import Solver, Trial, TrialOutcome

USUAL_FOLDER = "/app"
NOT_ITS_OWN = ("/tests", "/solution", "/logs", "/dev", "/proc", "/sys")

# What is there stays as it is; a place where nothing can be made is passed over, as a solver would.
TOUCH = (
    'for p do [ -e "$p" ] || case $p in */) mkdir -p "$p";; *) mkdir -p "${p%/*}/" && : >"$p";; esac; done'
)
_PATH = re.compile(r"(?<![\w/.:~$}])/[\w.@%+=,~-]+(?:/[\w.@%+=,~-]+)*/?")


def check(subject: Subject) -> Outcome:
    nothing = untouched(subject)
    left = kept(subject, NOP, nothing, reads_solution=False)
    if not rejected(nothing):
        return outcome(Result.FAILED, _told(nothing, "before anything is done"), nothing, kept=left)
    paths = tuple(outputs(subject.task))
    if not paths:
        return outcome(
            Result.PASSED, "An empty solution gets no reward; no output is named.", nothing, kept=left
        )
    name = f"touched {hashlib.sha256(repr(paths).encode()).hexdigest()[:16]}"
    empty = trial(subject, name, touching(paths), reads_solution=False)
    left = {**left, **kept(subject, name, empty, reads_solution=False)}
    if not rejected(empty):
        where = f"when the outputs are there and empty ({_listed(paths)})"
        return outcome(Result.FAILED, _told(empty, where), nothing, empty, kept=left)
    return outcome(
        Result.PASSED, "An empty solution gets no reward, and neither do empty outputs.", nothing, empty,
        kept=left,
    )  # fmt: skip


def _told(done: Trial, where: str) -> str:
    if rewarded(done):
        return f"The tests pass {where}: they prove nothing."
    if done.outcome is TrialOutcome.FAILED and done.reward is not None:
        return f"The tests give a reward of {done.reward.value:g} {where}; it has to be exactly 0."
    return f"The tests come to no verdict {where}: {done.summary}"


def _listed(paths: Sequence[str], most: int = 3) -> str:
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(paths[:most]) + more


def outputs(task: Task) -> list[str]:
    """Absolute paths that the task names and a solver may write, sorted; a folder's ends in `/`."""
    named = {*_declared(task), *_instructed(task)}
    folders = {path.rstrip("/") for path in named if path.endswith("/")}
    folders |= {parent for path in named for parent in _parents(path.rstrip("/"))}
    return sorted({f"{path}/" if path in folders else path for path in (each.rstrip("/") for each in named)})


def _declared(task: Task) -> Iterator[str]:
    for artifact in task.config.artifacts:
        if artifact.source.startswith("/") and artifact.service in (None, "main"):
            yield _clean(artifact.source)


def _instructed(task: Task) -> Iterator[str]:
    for found in _PATH.findall(task.text(INSTRUCTION) if INSTRUCTION in task else ""):
        path = _clean(found.rstrip(".,"))
        if not _below(path, NOT_ITS_OWN):
            yield path


def _clean(path: str) -> str:
    """Without `..` and doubled slashes; a slash at its end stays."""
    plain = posixpath.normpath(f"/{path.lstrip('/')}")
    return f"{plain}/" if path.endswith("/") and plain != "/" else plain


def _parents(path: str) -> Iterator[str]:
    while path := posixpath.dirname(path).rstrip("/"):
        yield path


def _below(path: str, folders: Sequence[str]) -> bool:
    return any(f"{path.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/") for folder in folders)


def touching(paths: Sequence[str]) -> Solver:
    """The solver that makes these without content: what is declared, and what is below its own folders."""

    def solve(task: Task, sandbox: Sandbox) -> None:
        own = [*_declared(task), USUAL_FOLDER, sandbox.image.workdir]
        made = [path for path in paths if _below(path, own)]
        if made:
            sandbox.exec(["/bin/sh", "-c", TOUCH, "sh", *made], timeout=PLUMBING_SECONDS, cwd="/")

    return solve


GATE = Gate(
    name="invalid_test",
    version=2,
    title="An empty solution fails",
    failing="The tests reward nothing done.",
    cost="two trials",
    waivable=False,
    inputs=A_TRIAL - {Input.SOLUTION} | {Input.INSTRUCTION},
    check=check,
    after=("static", "build"),
    sandbox=True,
    profiles=frozenset({"fast", "paper", "standard", "strict"}),
)
