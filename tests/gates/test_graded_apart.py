"""graded_apart: where the tests run."""

from __future__ import annotations

from lineages.gates import graded_apart
from lineages.gates.base import Result
from tests.gates.subjects import SHARED, subject


def test_tests_on_the_solvers_own_file_system_can_be_forged() -> None:
    said = graded_apart.check(subject(SHARED))
    (finding,) = said.findings

    assert said.result is Result.FAILED
    assert "The tests run on the solver's own file system; a result can be forged." in said.summary
    assert (finding.path, finding.repair) == (
        "task.toml", '[verifier]\nenvironment_mode = "separate"',
    )  # fmt: skip


def test_tests_in_an_image_of_their_own_are_graded_apart() -> None:
    said = graded_apart.check(subject())

    assert (said.result, said.findings) == (Result.PASSED, ())
