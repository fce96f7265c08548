"""kept_tests: a child still asks for everything that its parent asked for.

A test file of the parent stays as it is. In the first evolution the seed's own `tests/test.sh` moves to
`tests/seed-test.sh`, byte for byte, and the runner takes its place. The verifier's image may copy more, but
run nothing more, and `task.toml` changes only in what an evolved task has to change. Nor may a new test
decide for the others (`deciding`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from agents.composition import SEED_TEST, SEED_UNIT
from agents.offline.runners import SEED_UNIT_TEXT, TEST_RUNNER, interpreter
from lineages.gates.base import Gate, Input, Outcome, Result, Subject
from lineages.gates.deciding import deciding
from sandboxes.dockerfile import instructions
from sandboxes.task import CONFIG, DOCKERFILE, TEST, VERIFIER_DOCKERFILE, Task

ALLOWED_INSTRUCTIONS = frozenset({"COPY", "WORKDIR", "FROM"})


def check(subject: Subject) -> Outcome:
    if subject.parent is None:
        return Outcome(
            Result.NOT_APPLICABLE,
            "There is no parent: a seed, or a task without its history.",
        )
    findings = [
        *_tests(subject.parent, subject.task),
        *_image(subject.parent, subject.task),
        *_config(subject.parent, subject.task),
        *deciding(subject.task, _new_tests(subject.parent, subject.task)),
    ]
    if findings:
        return Outcome(Result.FAILED, findings[0], detail="\n".join(findings))
    return Outcome(Result.PASSED, "Every test of the parent is still there, unchanged.")


def _new_tests(parent: Task, child: Task) -> list[str]:
    """Files of the child's tests whose bytes no file of the parent's has, without those of the frame."""
    known = {file.data for file in parent.files.values()}
    frame = (SEED_UNIT, VERIFIER_DOCKERFILE)
    found = (path for path in child.under("tests"))
    paths = (f"tests/{path}" for path in found)
    return sorted(path for path in paths if path not in frame and child.files[path].data not in known)


def _tests(parent: Task, child: Task) -> Iterator[str]:
    for path, file in parent.files.items():
        if not path.startswith("tests/") or path == VERIFIER_DOCKERFILE or child.files.get(path) == file:
            continue
        if path == TEST and _became_unit(parent, child):
            continue
        yield f"{path} is a test of the parent and was changed or taken away."


def _became_unit(parent: Task, child: Task) -> bool:
    """Whether this is the first evolution: the seed's test is a unit now, and the runner runs it."""
    if SEED_TEST in parent or SEED_TEST not in child or SEED_UNIT not in child:
        return False
    unit = SEED_UNIT_TEXT.format(interpreter=interpreter(parent.text(TEST)))
    return (
        child.files[SEED_TEST].data == parent.files[TEST].data
        and child.text(TEST) == TEST_RUNNER
        and child.text(SEED_UNIT) == unit
    )


def _image(parent: Task, child: Task) -> Iterator[str]:
    """Instructions of the tests' image that neither image of the parent had."""
    if VERIFIER_DOCKERFILE not in child:
        return
    known = {
        (step.name, step.value)
        for path in (DOCKERFILE, VERIFIER_DOCKERFILE)
        if path in parent
        for step in instructions(parent.text(path))
    }
    for step in instructions(child.text(VERIFIER_DOCKERFILE)):
        if step.name not in ALLOWED_INSTRUCTIONS and (step.name, step.value) not in known:
            yield f"{VERIFIER_DOCKERFILE}:{step.line} {step.name} is new: a child may only copy more."


def _config(parent: Task, child: Task) -> Iterator[str]:
    old, new = (_plain(task) for task in (parent, child))
    lost = [entry for entry in old.pop("artifacts", []) if entry not in new.get("artifacts", [])]
    new.pop("artifacts", None)
    if lost:
        yield f"task.toml no longer hands over {lost[0]!r}, which the parent's tests look at."
    for table in (old, new):
        table.get("task", {}).pop("name", None)
        table.setdefault("verifier", {}).pop("environment_mode", None)
    if old != new:
        yield "task.toml differs from the parent's in more than its name, artifacts and verifier mode."
    if parent.separate and not child.separate:
        yield "task.toml gives up the separate verifier."


def _plain(task: Task) -> dict[str, Any]:
    return tomllib.loads(task.text(CONFIG))


GATE = Gate(
    name="kept_tests",
    version=2,
    title="The parent's tests are kept",
    failing="The child asks for less than its parent did.",
    inputs=frozenset({Input.TESTS, Input.CONFIG, Input.PARENT}),
    check=check,
    after=("static",),
    profiles=frozenset({"fast", "standard", "strict"}),
)
