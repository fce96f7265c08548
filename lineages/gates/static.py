"""static: what can be said from the files alone."""

from __future__ import annotations

from collections.abc import Iterator

from agents.hidden_paths import hidden_words
from lineages.gates.base import WHOLE_TASK, Gate, Outcome, Result, Subject
from sandboxes.dockerfile import PolicyViolation, check_policy
from sandboxes.task import DOCKERFILE, INSTRUCTION, SOLVE, TEST, VERIFIER_DOCKERFILE, Task

LFS_POINTER = b"version https://git-lfs.github.com/spec/"
LARGEST_INSTRUCTION = 64 * 1024


def check(subject: Subject) -> Outcome:
    findings = list(_findings(subject.task))
    if findings:
        return Outcome(Result.FAILED, findings[0], detail="\n".join(findings))
    return Outcome(
        Result.PASSED, "Every required file is there and nothing in the files speaks against the task."
    )


def _findings(task: Task) -> Iterator[str]:
    yield from _missing(task)
    yield from _instruction(task)
    yield from _dockerfiles(task)
    for path, file in task.files.items():
        if file.data.startswith(LFS_POINTER):
            yield f"{path} is a Git LFS pointer, not the file: fetch it with `git lfs pull` and import again."


def _missing(task: Task) -> Iterator[str]:
    for path in (INSTRUCTION, DOCKERFILE, SOLVE, TEST):
        if path not in task:
            yield f"{path} is missing: add it."
    if task.separate and not task.config.artifacts:
        yield "task.toml wants a separate verifier but declares no artifacts: no work can reach the tests."


def _instruction(task: Task) -> Iterator[str]:
    if INSTRUCTION not in task:
        return
    text = task.text(INSTRUCTION)
    if not text.strip():
        yield "instruction.md is empty: say what is to be done."
    if len(text) > LARGEST_INSTRUCTION:
        yield f"instruction.md has {len(text)} characters, more than {LARGEST_INSTRUCTION}: shorten it."
    for number, name in hidden_words(text, task):
        yield f"instruction.md:{number} names {name!r}, which a solver must not know: take it out."


def _dockerfiles(task: Task) -> Iterator[str]:
    for path in (DOCKERFILE, VERIFIER_DOCKERFILE):
        if path not in task:
            continue
        try:
            check_policy(task.text(path), build_network=True)  # the build says no where it has none
        except PolicyViolation as problem:
            yield f"{path}: {problem}"


GATE = Gate(
    name="static",
    version=1,
    title="The files are complete and safe to build",
    failing="Something in the files makes the task unusable or unsafe to build.",
    inputs=WHOLE_TASK,
    check=check,
    profiles=frozenset({"fast", "standard", "strict"}),
)
