"""Wrong solutions that are made of the reference: no gate of its own.

A mutant changes what the reference left (`outputs`) or the reference itself (`solutions`); `trying` runs and
grades it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from sandboxes.files import TaskFile

Files = Mapping[str, TaskFile]


class Kind(StrEnum):
    """What was done to an output or to the solution, as a table's heading; the likeliest mistakes first."""

    OFF_BY_ONE = "number off by one"
    DROPPED = "line dropped"
    MISSING = "output missing"
    STALE = "output stale"
    EMPTIED = "output emptied"
    OTHERS = "another output's content"
    DOUBLED = "line doubled"
    EXCHANGED = "lines exchanged"
    STEP = "step emptied"
    COMMAND = "command dropped"
    LITERAL = "literal changed"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One wrong solution.

    `place` is the output's absolute path, or the solution's file in the task; `line` counts from 1, 0 is no
    line. `what` says the change in words that follow "with". `outputs` are changes to what the reference
    left, None for a file that is not there; `solution` changes to the task's solution files.
    """

    kind: Kind
    place: str
    what: str
    line: int = 0
    outputs: Mapping[str, TaskFile | None] = field(default_factory=dict)
    solution: Files = field(default_factory=dict)


_OFTEN = {Kind.OFF_BY_ONE: 3, Kind.DROPPED: 2}
"""What to make more of: which value or line is concerned matters, where a missing file is just missing."""


def sample(mutants: Sequence[Mutant], most: int) -> list[Mutant]:
    """At most so many of them, the same ones each time, spread evenly over kinds and places."""
    likeliest = list(Kind)
    left = sorted(mutants, key=lambda each: (likeliest.index(each.kind), _rank(each)))
    kinds: Counter[Kind] = Counter()
    places: Counter[str] = Counter()
    chosen: list[Mutant] = []
    while left and len(chosen) < most:
        best = min(left, key=lambda each: kinds[each.kind] / _OFTEN.get(each.kind, 1) + places[each.place])
        left.remove(best)
        chosen.append(best)
        kinds[best.kind] += 1
        places[best.place] += 1
    return chosen


def _rank(mutant: Mutant) -> str:
    """An order that no name or position leans on."""
    return hashlib.sha256(f"{mutant.kind}\0{mutant.place}\0{mutant.what}".encode()).hexdigest()
