"""Numbers that a test compares something of the solver's with, and which of them are requirements."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from .names import WHOLE, Names, called
from .origin import Origins

NEAR = frozenset({"isclose", "approx", "assertAlmostEqual"})
COUNTS = frozenset({"len", "sum", "getsize", "count"})
CLOCKS = frozenset({"time", "perf_counter", "monotonic"})
Found = tuple[str, str, int]
"""Kind (`threshold`, or `count` where it may be an answer), value, line."""


class Bounds:
    """Collects bounds. What is bound from both sides is an answer with some room: 3.1 < x < 3.2."""

    def __init__(self, names: Names, origins: Origins) -> None:
        self._names, self._origins = names, origins
        self._sides: defaultdict[tuple[str, str], dict[bool, float]] = defaultdict(dict)
        self._found: list[tuple[tuple[str, str], Found]] = []

    def note(self, made: ast.expr, bound: ast.expr, node: ast.expr, *, lower: bool, asserted: bool) -> None:
        """`made` has to be above (`lower`) or below `bound`; nothing where that is no number."""
        number = self._number(bound)
        if number is None:
            return
        about = self._names.scope_of.get(made, ""), ast.unparse(made)
        self._sides[about][lower] = number
        shown = [made, *(each.value for each in self._names.bindings(made))]
        calls = [_calls(each) for each in shown]
        if number < 0 or any(each & NEAR for each in calls) or any(called(each) == "abs" for each in shown):
            return  # a tolerance is about rounding, not about what was asked
        timed = asserted and any(each & CLOCKS for each in calls)  # elsewhere the test waits for something
        if self._origins.of(made) or timed:
            counted = any(each & COUNTS for each in calls) or any("st_size" in ast.unparse(e) for e in shown)
            self._found.append((about, ("count" if counted else "threshold", f"{number:.12g}", node.lineno)))

    def found(self) -> Iterator[Found]:
        """Every bound, in order."""
        for about, (kind, value, line) in self._found:
            yield "count" if _is_window(self._sides[about]) else kind, value, line

    def _number(self, node: ast.expr) -> float | None:
        """A number that stands there or under a name, products of numbers worked out."""
        if isinstance(node, ast.Name):
            bound = self._names.bindings(node)
            return self._plain(bound[0].value) if len(bound) == 1 and bound[0].how == WHOLE else None
        return self._plain(node)

    def _plain(self, node: ast.expr) -> float | None:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            found = self._plain(node.operand)
            return None if found is None else -found
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            left, right = self._plain(node.left), self._plain(node.right)
            return None if left is None or right is None else left * right
        if not isinstance(node, ast.Constant) or isinstance(node.value, bool):
            return None
        return float(node.value) if isinstance(node.value, int | float) else None


def _is_window(sides: dict[bool, float]) -> bool:
    """Not where one side is 0: that a share is not negative says nothing of the other side."""
    return len(sides) == 2 and (sides[True] != 0 or sides[False] in (1, 100))


def _calls(node: ast.expr) -> set[str]:
    return {called(each) for each in ast.walk(node) if isinstance(each, ast.Call)}
