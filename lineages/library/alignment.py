"""Two sequences side by side, for reading. Pure; what an edit may change is judged elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from agents.plan import Pair, Sequence


@dataclass(frozen=True, slots=True)
class Row:
    """One step of either sequence, or of both. `kind`: same, replaced, inserted or removed."""

    kind: str
    before: Pair | None
    after: Pair | None
    place: int = 0

    @property
    def pair(self) -> Pair | None:
        return self.after or self.before

    @property
    def new_scenario(self) -> bool:
        return self.kind == "replaced" and _differs(self.before, self.after, "scenario")

    @property
    def new_skill(self) -> bool:
        return self.kind == "replaced" and _differs(self.before, self.after, "skill")


def align(before: Sequence, after: Sequence) -> tuple[Row, ...]:
    """The rows in the order of the child, with what was taken away where it stood."""
    return tuple(_numbered(_rows(before, after)))


def _rows(before: Sequence, after: Sequence) -> Iterator[Row]:
    matcher = SequenceMatcher(a=before.keys(), b=after.keys(), autojunk=False)
    for tag, from_a, to_a, from_b, to_b in matcher.get_opcodes():
        if tag == "equal":
            yield from map(_both, before.pairs[from_a:to_a], after.pairs[from_b:to_b])
            continue
        yield from (Row("removed", pair, None) for pair in before.pairs[from_a:to_a])
        yield from (Row("inserted", None, pair) for pair in after.pairs[from_b:to_b])


def _both(before: Pair, after: Pair) -> Row:
    """Two pairs of one key: replaced if what a solver meets differs, wherever the files moved."""
    replaced = any(_differs(before, after, name) for name in ("scenario", "skill", "tool"))
    return Row("replaced" if replaced else "same", before, after)


def _differs(before: Pair | None, after: Pair | None, name: str) -> bool:
    return getattr(before, name, None) != getattr(after, name, None)


def _numbered(rows: Iterator[Row]) -> Iterator[Row]:
    place = 0
    for row in rows:
        place += row.after is not None
        yield Row(row.kind, row.before, row.after, place if row.after is not None else 0)
