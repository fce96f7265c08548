"""The names and forms that a test asks of the solver's work: paths, keys, columns, labels, thresholds.

Values that are compared for equality are answers, which the solver works out; they are not looked at.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .names import Names, called
from .origin import RECORD, TEXT, Origins

PATH_CALLS = frozenset(
    "open exists isfile isdir getsize stat lstat read_text read_bytes is_file is_dir is_symlink"
    " islink listdir iterdir read_csv read_json read_excel read_parquet read_table connect access samefile"
    " cmp".split()
)
WRITES = frozenset(
    {"write_text", "write_bytes", "touch", "mkdir", "makedirs", "unlink", "copy", "copytree", "symlink_to"}
)
SAYS = frozenset("print fail skip log debug info warning error exit xfail append_message Exception".split())
REQUESTS = frozenset("get post put delete patch request head urlopen".split())
RUNS = frozenset("run check_output check_call Popen call system popen getoutput getstatusoutput".split())
NEAR = frozenset({"isclose", "approx", "assertAlmostEqual"})
UNITTEST = frozenset({"assertGreater", "assertGreaterEqual", "assertLess", "assertLessEqual"})
COUNTS = frozenset({"len", "sum", "getsize", "count"})
CLOCKS = frozenset({"time", "perf_counter", "monotonic"})
HEADER = re.compile(r"[A-Za-z][\w .-]*(?:[,;\t|][A-Za-z][\w .-]*)+")
LABEL = re.compile(r"(?:#+ )?[A-Za-z][\w -]{2,40}[:=]\s*|#{1,6} [A-Za-z].{1,60}")


@dataclass(frozen=True, slots=True)
class Ask:
    """`kind` is path, key, column, label, threshold, count, written, mention, runs or fetches."""

    kind: str
    value: str
    line: int


def asks(source: str) -> list[Ask]:
    """What a program asks for, once each. Raises `SyntaxError` and `ValueError` for what is no Python."""
    tree = ast.parse(source)
    reader = _Reader(Names(tree))
    reader.visit(tree)
    return list(dict.fromkeys(reader.found))


class _Reader(ast.NodeVisitor):
    def __init__(self, names: Names) -> None:
        self.names = names
        self.origins = Origins(names)
        self.found: list[Ask] = []
        self._judged = 0
        self._keyed = {
            ast.unparse(node.value)
            for node in names.scope_of
            if isinstance(node, ast.Subscript | ast.Attribute) and _asks_by_key(node)
        }

    def _note(self, kind: str, values: Iterable[str], node: ast.expr | ast.stmt) -> None:
        self.found += (Ask(kind, value, node.lineno) for value in values if value and len(value) <= 300)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring asks for nothing
            self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        self._judge(node.test)

    def visit_If(self, node: ast.If) -> None:
        self._judge(node.test)
        for child in (*node.body, *node.orelse):
            self.visit(child)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self._judge(node.value)

    def _judge(self, node: ast.expr) -> None:
        self._judged += 1
        self.visit(node)
        self._judged -= 1

    def visit_Raise(self, node: ast.Raise) -> None:
        """What is said when something is wrong asks for nothing."""

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp | ast.Call):
            self._mention(node)
        super().visit(node)

    def _mention(self, node: ast.Constant | ast.JoinedStr | ast.BinOp | ast.Call) -> None:
        self._note(
            "mention", (v for v in self.names.strings(node) if v.startswith("/") and "\n" not in v), node
        )

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        for child in node.values:
            if isinstance(child, ast.FormattedValue):
                self.visit(child)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if not self.names.strings(node):  # the whole was noted
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = called(node)
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if name in SAYS:
            return
        if name in RUNS and owner is not None:
            self._runs(node)
        if name in PATH_CALLS | WRITES:
            self._path(node, name, owner)
        elif name == "get" and owner is not None and node.args and self.origins.of(owner) == RECORD:
            self._note("key", self.names.strings(node.args[0]), node)
        elif name in ("startswith", "assertIn") and node.args:
            self._label(node, owner)
        elif name in UNITTEST and len(node.args) >= 2:
            self._threshold(node.args[0], node.args[1], node)
        if name in REQUESTS and owner is not None:
            self._fetch(node)
            return
        if not self.names.strings(node):
            self.generic_visit(node)

    def _path(self, node: ast.Call, name: str, owner: ast.expr | None) -> None:
        of_owner = owner is not None and self.names.strings(owner)
        path = owner if of_owner else node.args[0] if node.args else None
        if path is None:
            return
        modes = [*node.args[0 if of_owner else 1 :], *(k.value for k in node.keywords if k.arg == "mode")]
        mode = "".join(text for each in modes for text in self.names.strings(each)) if name == "open" else ""
        written = name in WRITES or bool(set("wax") & set(mode))
        self._note("written" if written else "path", self.names.strings(path), node)

    def _runs(self, node: ast.Call) -> None:
        """A command, its words joined by NUL where they are given as a list."""
        first = node.args[0] if node.args else None
        if isinstance(first, ast.List | ast.Tuple):
            words = [next(iter(self.names.strings(word)), "") for word in first.elts]
            self._note("runs", ["\0".join(words)] if words and words[0] else [], node)
        elif first is not None:
            self._note("runs", self.names.strings(first), node)

    def _fetch(self, node: ast.Call) -> None:
        url = (text for argument in node.args[:2] for text in self.names.strings(argument))
        self._note("fetches", (text for text in url if "://" in text), node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        loads = isinstance(node.ctx, ast.Load)
        if loads and self.origins.of(node.value) == RECORD:
            keys = node.slice.elts if isinstance(node.slice, ast.List | ast.Tuple) else [node.slice]
            self._note("key", (text for key in keys for text in self.names.strings(key)), node)
        self.visit(node.value)
        if not self.names.strings(node.slice):
            self.visit(node.slice)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, operator, right in zip(
            [node.left, *node.comparators], node.ops, node.comparators, strict=False
        ):
            if isinstance(operator, ast.In):
                self._contained(left, right, node)
            elif isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
                self._threshold(left, right, node)
                self._threshold(right, left, node)
            if isinstance(operator, ast.Eq | ast.GtE | ast.LtE):
                self._form(left, right, node)
                self._form(right, left, node)
        self.generic_visit(node)

    def _contained(self, left: ast.expr, right: ast.expr, node: ast.Compare) -> None:
        texts = self.names.strings(left)
        if self.origins.of(right) == RECORD and self._is_keyed(right):
            self._note("key", texts, node)
        elif self.origins.of(right) == TEXT:
            self._note("label", filter(LABEL.fullmatch, texts), node)

    def _is_keyed(self, node: ast.expr) -> bool:
        """Whether what stands in it are keys or columns: it is asked by key elsewhere, or says so."""
        if called(node) == "keys" or getattr(node, "attr", "") in ("columns", "fieldnames"):
            return True
        return ast.unparse(node) in self._keyed

    def _label(self, node: ast.Call, owner: ast.expr | None) -> None:
        inside = owner if called(node) == "startswith" else node.args[1] if len(node.args) > 1 else None
        if inside is not None and self.origins.of(inside) == TEXT:
            self._note("label", filter(LABEL.fullmatch, self.names.strings(node.args[0])), node)

    def _form(self, made: ast.expr, wanted: ast.expr, node: ast.Compare) -> None:
        """What keys or columns a whole is compared with. The values beside them are answers."""
        kind = self.origins.of(made)
        if kind == RECORD:
            self._note("key", self._keys(made, wanted), node)
        elif kind == TEXT:
            texts = self.names.strings(wanted)
            self._note(
                "column", (c for t in texts if HEADER.fullmatch(t) for c in re.split(r"[,;\t|]", t)), node
            )

    def _keys(self, made: ast.expr, wanted: ast.expr) -> Iterator[str]:
        if isinstance(wanted, ast.Dict) or self._names_keys(made):
            yield from self.names.items(wanted)

    def _names_keys(self, made: ast.expr) -> bool:
        inner = made
        while (
            isinstance(inner, ast.Call) and called(inner) in ("set", "list", "sorted", "tuple") and inner.args
        ):
            inner = inner.args[0]
        return self._is_keyed(inner) and (inner is not made or not isinstance(inner, ast.Name))

    def _threshold(self, made: ast.expr, bound: ast.expr, node: ast.expr) -> None:
        number = _number(bound)
        if number is None or not self._judged and called(node) not in UNITTEST:
            return
        about = self.names.bindings(made)
        shown = [made, *(each.value for each in about)]
        if any(_calls(each) & NEAR or called(each) == "abs" for each in shown):
            return  # a tolerance is about rounding, not about what was asked
        if self.origins.of(made) or any(_calls(each) & CLOCKS for each in shown):
            counted = any(_calls(each) & COUNTS or "st_size" in ast.unparse(each) for each in shown)
            self._note("count" if counted else "threshold", [number], node)


def _asks_by_key(node: ast.Subscript | ast.Attribute) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in ("keys", "items", "get", "columns", "fieldnames")
    return isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)


def _calls(node: ast.expr) -> set[str]:
    return {called(each) for each in ast.walk(node) if isinstance(each, ast.Call)}


def _number(node: ast.expr) -> str | None:
    """A number that stands there, products of numbers worked out."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _number(node.left), _number(node.right)
        return None if left is None or right is None else f"{float(left) * float(right):.12g}"
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool):
        return None
    return f"{node.value:.12g}" if isinstance(node.value, int | float) else None
