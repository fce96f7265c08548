"""Each criterion of the environment rubric, broken by one change."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents.plan import Binding, Judgement
from agents.roles import Built
from sandboxes.files import TaskFile
from sandboxes.task import Task
from tests.agents.growing import OFFLINE, Grown, built, plan_of
from tests.agents.tasks import ORDERS, orders, regions

PARENT = Grown.seed(regions())
PLAN = plan_of(PARENT, "shuffled_parts", "by_position", ORDERS)
GROWN, BUILT = built(PARENT, PLAN)
UNIT, STEP = BUILT.bindings[0].test_units[0], BUILT.bindings[0].solution_block
NOTE = "environment/overlay/app/handover/01-shuffled-parts.md"


def judged(changes: dict[str, str | None], bindings: tuple[Binding, ...] = BUILT.bindings) -> Judgement:
    files = {path: None if text is None else TaskFile.text(text) for path, text in changes.items()}
    return OFFLINE.rubric_verifier.judge(GROWN.task.replace(files), PLAN, bindings)


def edited(path: str, edit: Callable[[str], str]) -> dict[str, str | None]:
    return {path: edit(GROWN.task.text(path))}


def pinned() -> str:
    words = GROWN.task.text(UNIT).split()
    return next(word for word in words if len(word) == 64)


BROKEN: dict[str, tuple[str, dict[str, str | None]]] = {
    "a note that the instruction does not name": (
        "described",
        {"environment/overlay/app/handover/99-more.md": "More.\n"},
    ),
    "a tested file that nobody told of": (
        "described",
        edited(NOTE, lambda text: text.replace(".report", "")),
    ),
    "a requirement without a unit": ("tested", {UNIT: None}),
    "a unit without a requirement": (
        "tested",
        edited("instruction.md", lambda text: text.partition("##")[0]),
    ),
    "a silent unit": ("informative_tests", {UNIT: "[ -f /app/x ]\n"}),
    "the path of the tests": (
        "no_test_paths",
        edited("instruction.md", lambda text: text + "See /tests/test.sh.\n"),
    ),
    "the original in the image": ("not_in_image", {"environment/copy.csv": orders()}),
    "the solution in the image": (
        "not_in_image",
        edited(STEP, lambda text: text) | {"environment/hint": GROWN.task.text(STEP)},
    ),
    "an expected hash in the solution": (
        "not_hardcoded",
        edited(STEP, lambda text: text + f"echo {pinned()}\n"),
    ),
    "a test that installs": (
        "no_network",
        edited("tests/seed-test.sh", lambda text: text + "pip install pytest\n"),
    ),
    "a placeholder": ("instruction", edited("instruction.md", lambda text: text + "TODO: more\n")),
    "no instruction": ("instruction", {"instruction.md": "\n"}),
    "too many words": ("instruction", edited("instruction.md", lambda text: text + "word " * 300)),
    "a huge file": ("bounded", {"environment/big": "x" * (9 << 20)}),
    "graded in the solver's container": (
        "graded_apart",
        edited("task.toml", lambda text: text.replace('environment_mode = "separate"', "")),
    ),
}


@pytest.mark.parametrize("case", sorted(BROKEN))
def test_a_broken_criterion_fails(case: str) -> None:
    criterion, changes = BROKEN[case]
    assert criterion in {failure.criterion for failure in judged(changes).failures}


def test_what_was_built_breaks_none() -> None:
    assert judged({}).accepted


def test_quotes_are_words_of_the_task() -> None:
    for _, changes in BROKEN.values():
        task = GROWN.task.replace(
            {path: None if text is None else TaskFile.text(text) for path, text in changes.items()}
        )
        whole = "\n".join(
            [*task.files, *(task.text(path) for path in task.files), BUILT.bindings[0].requirement]
        )
        assert all(verdict.quote in whole for verdict in judged(changes).verdicts)


def test_a_seed_is_judged_without_plan_and_bindings() -> None:
    assert OFFLINE.rubric_verifier.judge(regions(), None, ()).accepted
    silent: Task = regions({"instruction.md": "Do something.\n"})
    assert {failure.criterion for failure in OFFLINE.rubric_verifier.judge(silent, None, ()).failures} == {
        "described"
    }


def test_the_built_value_is_complete() -> None:
    assert isinstance(BUILT, Built)
    assert BUILT.notes == f"shuffled_parts/by_position on {ORDERS}"
