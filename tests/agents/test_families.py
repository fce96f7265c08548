"""Where operators are found."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from agents.offline import families as found
from agents.offline.operators.transcoded import OPERATOR
from agents.roles import AgentsError


def with_entry_points(monkeypatch: pytest.MonkeyPatch, *values: str) -> None:
    points = [EntryPoint(name=f"p{n}", value=value, group=found.GROUP) for n, value in enumerate(values)]
    monkeypatch.setattr(found, "entry_points", lambda group: points)
    found.families.cache_clear()


@pytest.fixture(autouse=True)
def _fresh() -> object:
    yield
    found.families.cache_clear()


def test_each_file_of_the_folder_is_an_operator_by_its_own_name() -> None:
    assert found.families()["transcoded"] is OPERATOR
    assert list(found.families()) == sorted(found.families())


def test_a_second_operator_of_one_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with_entry_points(monkeypatch, "agents.offline.operators.transcoded:OPERATOR")
    with pytest.raises(AgentsError, match="called transcoded"):
        found.families()


def test_an_entry_point_that_is_no_operator_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with_entry_points(monkeypatch, "agents.offline.operators.transcoded:LETTERS")
    with pytest.raises(AgentsError, match="is not an"):
        found.families()
