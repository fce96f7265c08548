"""How far the sequence that a proposer read agrees with the recorded one."""

from __future__ import annotations

from collections.abc import Sequence as Listed
from dataclasses import dataclass

from agents.modelled.forms import ObservedPair
from agents.plan import Sequence


@dataclass(frozen=True, slots=True)
class Agreement:
    """Numbers of steps: those that were read, those that are recorded, and the most of both that have the
    same tool in the same order.
    """

    read: int
    recorded: int
    same_tools: int


def agreement(observed: Listed[ObservedPair], recorded: Sequence) -> Agreement:
    """`same_tools` is the length of the longest common subsequence of tools, compared letter by letter."""
    read, known = [pair.tool for pair in observed], [pair.tool for pair in recorded.pairs]
    return Agreement(len(read), len(known), _longest_common(read, known))


def _longest_common(first: Listed[str], second: Listed[str]) -> int:
    above = [0] * (len(second) + 1)
    for mine in first:
        row = [0]
        for at, other in enumerate(second):
            row.append(above[at] + 1 if mine == other else max(above[at + 1], row[at]))
        above = row
    return above[-1]
