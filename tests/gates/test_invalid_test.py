"""invalid_test: what a solver gets that does nothing, or no more than make its outputs."""

from __future__ import annotations

import pytest

from lineages.gates import invalid_test
from lineages.gates.base import Result
from tests.gates.subjects import SHARED, Changes, subject

REWARD = "mkdir -p /logs/verifier; {check} && echo 1 >/logs/verifier/reward.txt"


def verifier(check: str, otherwise: str = "echo 0 >/logs/verifier/reward.txt") -> Changes:
    return {"tests/test.sh": f"#!/bin/bash\n{REWARD.format(check=check)} || {otherwise}\n"}


def test_neither_nothing_nor_empty_outputs_get_a_reward() -> None:
    said = invalid_test.check(subject())

    assert (said.result, said.reward) == (Result.PASSED, 0.0)
    assert said.summary == "An empty solution gets no reward, and neither do empty outputs."
    assert [command.argv[-1] for command in said.commands] == [
        "/tests/test.sh", "/app/out/first", "/tests/test.sh",
    ]  # fmt: skip
    assert len(said.kept) == 2


def test_tests_that_only_look_for_a_file_reward_an_empty_one() -> None:
    said = invalid_test.check(subject(verifier("[ -e /app/out/first ]")))

    assert (said.result, said.reward) == (Result.FAILED, 1.0)
    assert said.summary == (
        "The tests pass when the outputs are there and empty (/app/out/, /app/out/first): they prove nothing."
    )


@pytest.mark.parametrize(
    ("changes", "summary", "reward"),
    [
        (verifier("true"), "The tests pass before anything is done: they prove nothing.", 1.0),
        (
            verifier("false", "echo 0.2 >/logs/verifier/reward.txt"),
            "The tests give a reward of 0.2 before anything is done; it has to be exactly 0.",
            0.2,
        ),
    ],
)
def test_where_nothing_done_is_rewarded_no_second_run_is_made(
    changes: Changes, summary: str, reward: float
) -> None:
    said = invalid_test.check(subject(changes))

    assert (said.result, said.reward, said.summary) == (Result.FAILED, reward, summary)
    assert [command.argv[-1] for command in said.commands] == ["/tests/test.sh"]


@pytest.mark.parametrize(
    ("otherwise", "summary"),
    [
        ("echo 0.2 >/logs/verifier/reward.txt", "The tests give a reward of 0.2 when the outputs are there"),
        ("exit 3", "The tests come to no verdict when the outputs are there"),
    ],
)
def test_empty_outputs_are_worth_exactly_nothing_too(otherwise: str, summary: str) -> None:
    after_all = f"if [ -e /app/out/first ]; then {otherwise}; else echo 0 >/logs/verifier/reward.txt; fi"
    said = invalid_test.check(subject(verifier("false", after_all)))

    assert said.result is Result.FAILED
    assert said.summary.startswith(summary)


def test_what_stands_there_already_is_left_alone_and_so_is_what_lies_elsewhere() -> None:
    emptied = "{ [ -e /app/notes ] && [ ! -s /app/notes ] || [ -e /srv/answer ]; }"
    said = invalid_test.check(
        subject(
            {
                **SHARED,
                **verifier(emptied),
                "instruction.md": "Read /app/notes and write /srv/answer.\n",
                "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\nCOPY notes /app/notes\n",
                "environment/notes": "to be read\n",
            }
        )
    )

    assert (said.result, said.weaker) == (Result.PASSED, True)


def test_a_task_that_names_no_output_is_run_once() -> None:
    said = invalid_test.check(subject({**SHARED, **verifier("false"), "instruction.md": "Be good.\n"}))

    assert (said.result, said.summary) == (
        Result.PASSED,
        "An empty solution gets no reward; no output is named.",
    )
    assert [command.argv[-1] for command in said.commands] == ["/tests/test.sh"]


@pytest.mark.parametrize(
    ("instruction", "outputs"),
    [
        ("Write `/app/a.txt`, please.", ["/app/a.txt"]),
        ("Write /app/a.txt.", ["/app/a.txt"]),
        ("Fill /app/out/ with files.", ["/app/out/"]),
        ("Write /app/out/<name>.csv each.", ["/app/out/"]),
        ("Into /app/out write\n/app/out/a.", ["/app/out/", "/app/out/a"]),
        ("See https://example.org/app/a.txt and its/app/b.", []),
        ("Set $HOME/app/x and ~/app/y.", []),
        ("Leave /tests/x, /logs/verifier/reward.txt and /dev/null alone.", []),
        ("Up and down: /app/../tests/x and /app//y.", ["/app/"]),
    ],
)
def test_outputs_are_the_paths_that_the_instruction_names(instruction: str, outputs: list[str]) -> None:
    assert invalid_test.outputs(subject({**SHARED, "instruction.md": instruction}).task) == outputs


def test_outputs_are_the_declared_artifacts_too() -> None:
    assert invalid_test.outputs(subject({"instruction.md": "Be good.\n"}).task) == ["/app/out"]
