"""Which lines of two texts belong together. Pure, and bounded: it gives up rather than take minutes.

The longest common subsequence by the greedy algorithm of Myers (1986), which costs (lines) × (edits) steps,
on what is left once a common start, a common end and everything that occurs on one side only are put aside
(none of these three can make it shorter). `difflib` has no bound: 4,000 repetitive lines take it seconds, and
its cost grows faster than their square.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest

CONTEXT = 3
PAIR_STEPS = 2_000
PAIRED = 400
ALIKE = 0.5
_WORD = re.compile(r"\w+|\s+|[^\w\s]")

Match = tuple[int, int]
Ranges = tuple[tuple[int, int], ...]


class GivenUp(Exception):
    """The budget is spent: the two are too long and too different."""


@dataclass(slots=True)
class Budget:
    """How many steps may still be made; two to three million take a second."""

    left: int

    def spend(self, steps: int) -> None:
        """Raises `GivenUp` once more is spent than there was."""
        self.left -= steps
        if self.left < 0:
            raise GivenUp


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the left, of the right, or of both, by index. `alike`: one is worth reading as the other's
    new form; two that only stand side by side are not."""

    left: int | None
    right: int | None
    same: bool = False
    alike: bool = False


@dataclass(frozen=True, slots=True)
class Hunk:
    """Rows that are read together, after `skipped` unchanged ones."""

    skipped: int
    rows: tuple[Row, ...]


def matches(left: Sequence[str], right: Sequence[str], budget: Budget) -> list[Match]:
    """Index pairs of a longest common subsequence, ascending. Raises `GivenUp`."""
    start = _shared_start(left, right)
    end = _shared_start(left[start:][::-1], right[start:][::-1])
    known = set(left[start : len(left) - end]) & set(right[start : len(right) - end])
    a = [at for at in range(start, len(left) - end) if left[at] in known]
    b = [at for at in range(start, len(right) - end) if right[at] in known]
    inner = _common([left[at] for at in a], [right[at] for at in b], budget)
    tail = zip(range(len(left) - end, len(left)), range(len(right) - end, len(right)), strict=True)
    return [*((at, at) for at in range(start)), *((a[x], b[y]) for x, y in inner), *tail]


def rows(left: Sequence[str], right: Sequence[str], budget: Budget) -> list[Row]:
    """Every line of both sides, in the order in which they are read. Raises `GivenUp`."""
    found: list[Row] = []
    x = y = 0
    for a, b in [*matches(left, right, budget), (len(left), len(right))]:
        found += _block(left, right, (range(x, a), range(y, b)), budget)
        if a < len(left):
            found.append(Row(a, b, same=True))
        x, y = a + 1, b + 1
    return found


def hunks(found: Sequence[Row], context: int = CONTEXT) -> tuple[list[Hunk], int]:
    """The changed rows with `context` rows around them, and how many unchanged ones follow the last."""
    near = bytearray(len(found))
    for at, row in enumerate(found):
        if not row.same:
            around = range(max(0, at - context), min(len(found), at + context + 1))
            near[around.start : around.stop] = b"\1" * len(around)
    made: list[Hunk] = []
    skipped = 0
    for shown, group in groupby(range(len(found)), near.__getitem__):
        indices = list(group)
        if shown:
            made.append(Hunk(skipped, tuple(found[at] for at in indices)))
        skipped = 0 if shown else len(indices)
    return made, skipped


def unpaired(block: Sequence[Row]) -> bool:
    """Whether a stretch without a common line is so long that nothing alike was looked for in it."""
    return sum(row.left is not None for row in block) * sum(row.right is not None for row in block) > PAIRED


def marks(left: str, right: str, page: Budget) -> tuple[Ranges, Ranges]:
    """The character ranges of two lines that the other does not have.

    Raises `GivenUp` where the two take more than `PAIR_STEPS`, or more than is left for the page.
    """
    old, new = _WORD.findall(left), _WORD.findall(right)
    page.spend(len(old) + len(new))
    pair = Budget(min(PAIR_STEPS, page.left))
    given = pair.left
    try:
        kept = matches(old, new, pair)
    finally:
        page.left -= given - max(0, pair.left)
    return _ranges(old, {a for a, _ in kept}), _ranges(new, {b for _, b in kept})


def _shared_start(left: Sequence[str], right: Sequence[str]) -> int:
    at = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        at += 1
    return at


def _common(a: list[str], b: list[str], budget: Budget) -> list[Match]:
    """Myers' greedy search. Of round d, `reached[d][i]` is how far diagonal 2i − d has come in `a`."""
    reached: list[array[int]] = []
    for edits in range(len(a) + len(b) + 1):
        before = reached[-1] if reached else array("l")
        row = array("l")
        for i in range(edits + 1):
            x = _step(before, i, edits)
            far = _slide(a, b, x, x - (2 * i - edits))
            budget.spend(far - x + 1)
            row.append(far)
            if far >= len(a) and far - (2 * i - edits) >= len(b):
                return _walk_back([*reached, row], i)
        reached.append(row)
    raise AssertionError("taking all away and putting all in always ends")


def _step(before: array[int], i: int, edits: int) -> int:
    """Where diagonal `i` of this round starts: one line of `b` put in, or one of `a` taken away."""
    if not edits:
        return 0
    return before[i] if _puts_in(before, i, edits) else before[i - 1] + 1


def _puts_in(before: array[int], i: int, edits: int) -> bool:
    return i == 0 or (i != edits and before[i - 1] < before[i])


def _slide(a: list[str], b: list[str], x: int, y: int) -> int:
    while x < len(a) and y < len(b) and a[x] == b[y]:
        x, y = x + 1, y + 1
    return x


def _walk_back(reached: list[array[int]], i: int) -> list[Match]:
    """The matches on the way from the end to the start, in ascending order."""
    found: list[Match] = []
    for edits in range(len(reached) - 1, -1, -1):
        before = reached[edits - 1] if edits else array("l")
        x, start, diagonal = reached[edits][i], _step(before, i, edits), 2 * i - edits
        found += ((at, at - diagonal) for at in range(x - 1, start - 1, -1))
        if edits and not _puts_in(before, i, edits):
            i -= 1
    return found[::-1]


def _block(
    left: Sequence[str], right: Sequence[str], block: tuple[range, range], budget: Budget
) -> Iterator[Row]:
    """A stretch without a common line. Lines that are alike stand side by side, the rest fills up."""
    x, y = block[0].start, block[1].start
    for a, b in [*_alike(left, right, block, budget), (block[0].stop, block[1].stop)]:
        for one, other in zip_longest(range(x, a), range(y, b)):
            yield Row(one, other)
        if a < block[0].stop:
            yield Row(a, b, alike=True)
        x, y = a + 1, b + 1


def _alike(
    left: Sequence[str], right: Sequence[str], block: tuple[range, range], budget: Budget
) -> Iterator[Match]:
    """For each line the first one not yet passed that shares enough words with it."""
    if not 0 < len(block[0]) * len(block[1]) <= PAIRED:
        return
    budget.spend(10 * len(block[0]) * len(block[1]))
    words = {at: set(_WORD.findall(right[at])) for at in block[1]}
    following = block[1].start
    for a in block[0]:
        own = set(_WORD.findall(left[a]))
        for b in range(following, block[1].stop):
            if _closeness(own, words[b]) >= ALIKE:
                yield a, b
                following = b + 1
                break


def _closeness(one: set[str], other: set[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other) or 1)


def _ranges(words: Iterable[str], kept: set[int]) -> Ranges:
    """Neighbouring words that are not kept are one range."""
    found: list[tuple[int, int]] = []
    place = 0
    for at, word in enumerate(words):
        if at not in kept:
            if found and found[-1][1] == place:
                found[-1] = (found[-1][0], place + len(word))
            else:
                found.append((place, place + len(word)))
        place += len(word)
    return tuple(found)
