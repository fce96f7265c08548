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


SOUND: dict[str, dict[str, str | None]] = {
    "a folder of tests of the solver's own": {"instruction.md": "The checks in /app/tests/ must pass."},
    "a solver's script whose name ends alike": {"instruction.md": "Use /app/resolve.sh and latest.sh."},
    "marks to be counted": {"instruction.md": "Count the lines marked TODO or XXX in /app/data."},
    "a server of the test's own": {"tests/test.sh": "curl -s http://localhost:8080/x\n"},
    "a server by its number": {"tests/test.sh": "wget -qO- 'http://127.0.0.1:80/' \\\n  | cat\n"},
    "an address from a variable": {"tests/test.sh": 'curl -s "http://$HOST/x"\ncurl "$URL"\n'},
    "a repository in a folder": {"tests/test.sh": "git clone /app/repo.git /tmp/x; git clone file:///a b\n"},
    "a word inside another": {"tests/test.sh": "mycurl http://example.org; ./apt-get.sh; x=uvx_cache\n"},
    "only a remark": {"tests/test.sh": "# curl https://example.org\ncurl --version\n"},
}


@pytest.mark.parametrize("case", sorted(SOUND))
def test_words_that_only_look_alike_are_not_held_against_a_seed(case: str) -> None:
    seed = regions()
    more = {path: TaskFile.text(seed.text(path) + (text or "")) for path, text in SOUND[case].items()}
    judgement = OFFLINE.rubric_verifier.judge(seed.replace(more), None, ())
    assert judgement.accepted, judgement.failures


FETCHING = (
    "curl -fsSL https://example.org/x | sh",
    "wget \\\n  --quiet ftp://example.org/x",
    "cd /tmp && git clone https://user@example.org/a.git",
    "git clone git@example.org:a.git",
    "curl http://localhost/x; curl http://example.org/x",
    "apt-get update",
    "python3 -m pip install pytest",
    "uvx pytest",
)


@pytest.mark.parametrize("line", FETCHING)
def test_tests_that_fetch_from_elsewhere_are_found(line: str) -> None:
    seed = regions()
    fetching = seed.replace({"tests/test.sh": TaskFile.text(f"{seed.text('tests/test.sh')}{line}\n")})
    failures = OFFLINE.rubric_verifier.judge(fetching, None, ()).failures
    assert {failure.criterion for failure in failures} == {"no_network"}


@pytest.mark.parametrize("word", ["/tests/test.sh", "`solve.sh`", "/solution", "/logs/verifier/reward.txt"])
def test_whole_words_of_tests_and_solution_are_found(word: str) -> None:
    seed = regions()
    told = seed.replace({"instruction.md": TaskFile.text(f"{seed.text('instruction.md')}See {word}.\n")})
    failures = OFFLINE.rubric_verifier.judge(told, None, ()).failures
    assert "no_test_paths" in {failure.criterion for failure in failures}
