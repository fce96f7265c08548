"""How far a model's reading of a sequence agrees with the recorded one."""

from __future__ import annotations

import pytest

from agents.modelled.agreement import Agreement, agreement
from agents.modelled.forms import ObservedPair
from agents.plan import Pair, Sequence


def observed(tools: str) -> list[ObservedPair]:
    return [ObservedPair(scenario="s", skill="k", tool=tool) for tool in tools.split()]


def recorded(tools: str) -> Sequence:
    pairs = (
        Pair(key=f"p{at}", scenario="s", skill="k", tool=tool, origin="extracted")
        for at, tool in enumerate(tools.split())
    )
    return Sequence(pairs=tuple(pairs))


@pytest.mark.parametrize(
    ("read", "known", "same"),
    [
        ("cat sort awk", "cat sort awk", 3),
        ("cat awk", "cat sort awk", 2),
        ("awk sort cat", "cat sort awk", 1),
        ("sort cat sort awk", "cat sort cat awk", 3),
        ("cat cat cat", "cat", 1),
        ("Cat", "cat", 0),
        ("", "cat", 0),
        ("cat", "", 0),
    ],
)
def test_steps_agree_that_have_the_same_tool_in_the_same_order(read: str, known: str, same: int) -> None:
    found = agreement(observed(read), recorded(known))
    assert found == Agreement(len(read.split()), len(known.split()), same)
