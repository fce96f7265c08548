"""Where everything of a lineage's drawing stands. Pure geometry; the template only writes it out.

Generations are columns. A first child stays in its parent's lane, every further child opens a new lane
below all that are taken, so no two edges cross.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

STEP = 100
LANE = 104
RADIUS = 17
LEFT = 54
TOP = 48
DOT = 9
DOTS_A_ROW = 8
BOX = 96


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to draw; `column` counts generations from the leftmost drawn one.

    `tentative` ones (evolutions at work) are dashed, `provisional` and `withdrawn` ones carry a mark.
    `outcomes` become dots.
    """

    key: str
    parent: str
    column: int
    label: str
    kind: str
    value: str
    href: str
    title: str
    outcomes: tuple[str, ...] = ()
    tentative: bool = False
    provisional: bool = False
    withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class Dot:
    x: int
    y: int
    outcome: str


@dataclass(frozen=True, slots=True)
class Node:
    item: Item
    x: int
    y: int
    lane: int

    @property
    def radius(self) -> int:
        return RADIUS

    @property
    def left(self) -> int:
        return self.x - BOX // 2

    @property
    def top(self) -> int:
        return self.y - RADIUS - 25

    @property
    def box_width(self) -> int:
        return BOX

    @property
    def box_height(self) -> int:
        return 2 * RADIUS + 59

    @property
    def label_y(self) -> int:
        return self.y - RADIUS - 9

    @property
    def glyph_y(self) -> int:
        return self.y + 5

    @property
    def value_y(self) -> int:
        return self.y + RADIUS + 16

    @property
    def mark_x(self) -> int:
        return self.x + RADIUS + 3

    @property
    def mark_y(self) -> int:
        return self.y - RADIUS + 6

    @property
    def strike_from_x(self) -> int:
        return self.x - RADIUS - 4

    @property
    def strike_from_y(self) -> int:
        return self.y + RADIUS + 2

    @property
    def strike_to_x(self) -> int:
        return self.x + RADIUS + 4

    @property
    def strike_to_y(self) -> int:
        return self.y - RADIUS - 2

    @property
    def dots(self) -> tuple[Dot, ...]:
        """In centred rows, narrower than the way to the next node."""
        outcomes, placed = self.item.outcomes, []
        for row, first in enumerate(range(0, len(outcomes), DOTS_A_ROW)):
            shown = outcomes[first : first + DOTS_A_ROW]
            start = self.x - (len(shown) - 1) * DOT // 2
            y = self.value_y + 11 + row * (DOT - 1)
            placed += [Dot(start + at * DOT, y, name) for at, name in enumerate(shown)]
        return tuple(placed)


@dataclass(frozen=True, slots=True)
class Edge:
    path: str
    tentative: bool


@dataclass(frozen=True, slots=True)
class Tree:
    width: int
    height: int
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def layout(items: Sequence[Item]) -> Tree:
    """Places for all items. An item whose parent is not among them is drawn as a root."""
    nodes = {node.item.key: node for node in _placed(items)}
    grown = [node for node in nodes.values() if node.item.parent in nodes]
    edges = tuple(_edge(nodes[node.item.parent], node) for node in grown)
    columns = max((item.column for item in items), default=0)
    lanes = max((node.lane for node in nodes.values()), default=0)
    return Tree(2 * LEFT + columns * STEP, TOP + lanes * LANE + LANE - 30, tuple(nodes.values()), edges)


def _placed(items: Sequence[Item]) -> Iterator[Node]:
    """Depth first, so that a lane opened below a node is always below its elder siblings' lanes."""
    known = {item.key for item in items}
    children: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        children[item.parent if item.parent in known else ""].append(item)
    fresh = count()
    stack: list[tuple[Item, int | None]] = [(item, None) for item in reversed(children[""])]
    while stack:
        item, given = stack.pop()
        lane = next(fresh) if given is None else given
        yield Node(item, LEFT + item.column * STEP, TOP + lane * LANE, lane)
        stack.extend(_with_lanes(children[item.key], lane))


def _with_lanes(siblings: Iterable[Item], lane: int) -> list[tuple[Item, int | None]]:
    """Last one first (for a stack): the eldest inherits the lane, the others get their own when reached."""
    return [(item, None if at else lane) for at, item in enumerate(siblings)][::-1]


def _edge(parent: Node, child: Node) -> Edge:
    start, end = parent.x + RADIUS, child.x - RADIUS
    if parent.lane == child.lane:
        return Edge(f"M{start} {parent.y}H{end}", child.item.tentative)
    middle, bend = parent.x + STEP // 2, 10
    path = (
        f"M{start} {parent.y}H{middle - bend}Q{middle} {parent.y} {middle} {parent.y + bend}"
        f"V{child.y - bend}Q{middle} {child.y} {middle + bend} {child.y}H{end}"
    )
    return Edge(path, child.item.tentative)
