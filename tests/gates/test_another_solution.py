"""another_solution: without somebody who writes one, nothing is claimed and nothing is blocked."""

from __future__ import annotations

from lineages.gates import another_solution
from lineages.gates.base import Result
from tests.gates.subjects import subject


def test_without_a_model_it_is_not_run_and_says_why() -> None:
    outcome = another_solution.check(subject())
    assert outcome.result is Result.NOT_RUN
    assert "it takes a model" in outcome.summary
    assert outcome.runs == 0


def test_where_it_did_not_run_it_is_in_nobodys_way_and_a_failure_would_be() -> None:
    gate = another_solution.GATE
    assert gate.accepts(Result.NOT_RUN)
    assert not gate.accepts(Result.FAILED)
