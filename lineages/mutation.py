"""Mutation: how much of a task is other than in another one. Pure; no Django.

The paper (section 5) counts the instruction by token, the environment by file and the verifier by test
unit, and gives no formula. Ours, for each of the three:

    rate = (added + removed + changed) / (same + added + removed + changed)

the share of all units of either side that the other side does not have unaltered: 0 where nothing differs,
1 where nothing is shared, 0 where neither side has any. It is symmetric: exchanging the sides exchanges
`added` and `removed` and leaves the rate. What is compared:

- *token*: a word, or one punctuation mark, as often as it occurs. The order is not looked at, so a sentence
  that only moved is no mutation; a token is never `changed`, it is one removed and one added.
- *file*: a path below `environment/`; `changed` where content, mode or link differ under the same path.
- *test unit*: an entry of `tests/units/`. Unit 00 is what the seed asks: its `tests/test.sh` (or, once
  evolved, `tests/seed-test.sh`) with the files beside it. A task that is not evolved has only unit 00.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from agents.composition import HELD, PRISTINE, SEED_TEST, SEED_UNIT, UNITS
from sandboxes.task import TEST, VERIFIER_DOCKERFILE

_TOKEN = re.compile(r"\w+|[^\w\s]")
_ENVIRONMENT = "environment/"
_NO_UNIT = (VERIFIER_DOCKERFILE, f"{UNITS}/", f"{PRISTINE}/", f"{HELD}/")

Files = Mapping[str, str]
"""Path to whatever identifies a file's content, mode and link."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """How many units are the same on both sides, only on one, or on both but not equal."""

    same: int
    added: int = 0
    removed: int = 0
    changed: int = 0

    @property
    def rate(self) -> float:
        """Between 0 and 1."""
        moved = self.added + self.removed + self.changed
        return moved / (self.same + moved) if moved else 0.0


def by_token(before: str, after: str) -> Mutation:
    """Of two instructions."""
    old, new = (Counter(_TOKEN.findall(text)) for text in (before, after))
    return Mutation((old & new).total(), (new - old).total(), (old - new).total())


def by_file(before: Files, after: Files) -> Mutation:
    """Of two tasks' environments; files elsewhere do not count."""
    return _of(*(_below(files, _ENVIRONMENT) for files in (before, after)))


def by_unit(before: Files, after: Files) -> Mutation:
    """Of two tasks' verifiers."""
    return _of(_units(before), _units(after))


def _of(before: Mapping[str, object], after: Mapping[str, object]) -> Mutation:
    both = before.keys() & after.keys()
    same = sum(before[key] == after[key] for key in both)
    return Mutation(same, len(after.keys() - both), len(before.keys() - both), len(both) - same)


def _below(files: Files, folder: str) -> Files:
    return {path: content for path, content in files.items() if path.startswith(folder)}


def _units(files: Files) -> dict[str, Files]:
    """Each unit's files by its name."""
    units: dict[str, dict[str, str]] = {}
    for path, content in _below(files, f"{UNITS}/").items():
        if path != SEED_UNIT:
            units.setdefault(path.split("/")[2], {})[path] = content
    if SEED_TEST in files or not units:
        units["00-seed"] = _first_unit(files)
    return {name: content for name, content in units.items() if content}


def _first_unit(files: Files) -> dict[str, str]:
    """What the seed asks; of an evolved task, its `tests/test.sh` is the runner and no part of it."""
    own = {
        path: content for path, content in _below(files, "tests/").items() if not path.startswith(_NO_UNIT)
    }
    if SEED_TEST in own:
        own[TEST] = own.pop(SEED_TEST)
    return own
