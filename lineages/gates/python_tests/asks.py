"""The names and forms that a test asks of the solver's work: paths, keys, columns, labels, thresholds.

Values that are compared for equality are answers, which the solver works out; they are not looked at.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .bounds import Bounds
from .names import Names, called
from .origin import LOADERS, RECORD, RUNNERS, TEXT, Origins

PATH_CALLS = frozenset(
    "open exists isfile isdir getsize stat lstat read_text read_bytes is_file is_dir is_symlink"
    " islink listdir iterdir read_csv read_json read_excel read_parquet read_table connect access samefile"
    " cmp".split()
)
WRITES = frozenset({"write_text", "write_bytes", "touch", "mkdir", "makedirs", "unlink", "symlink_to"})
COPIES = frozenset({"copy", "copy2", "copyfile", "copytree", "move", "rename", "replace"})
IS_THERE = frozenset({"exists", "isfile", "isdir", "is_file", "is_dir", "lexists", "islink", "is_symlink"})
SAYS = frozenset("print fail skip log debug info warning error exit xfail append_message Exception".split())
REQUESTS = frozenset("get post put delete patch request head urlopen".split())
CLIENT = re.compile(r"requests|httpx|session|client|urllib|http|\bs\.", re.IGNORECASE)
ADDRESS = re.compile(r"\w+://")
RUNS = frozenset("run check_output check_call Popen call system popen getoutput getstatusoutput".split())
SUBSETS = frozenset({"issubset", "issuperset"})
PATTERNS = frozenset({"search", "match", "fullmatch", "findall", "finditer"})
ABOVE, BELOW = ("assertGreater", "assertGreaterEqual"), ("assertLess", "assertLessEqual")
HEADER = re.compile(r"[A-Za-z][\w .-]*(?:[,;\t|][A-Za-z][\w .-]*)+")
ANCHORED = re.compile(r"\^?((?:#+ )?[A-Za-z][A-Za-z0-9 -]{2,40}[:=])")
FIELD = re.compile(r"\w+_\w+|[a-z]+[A-Z]\w*")
"""A key that is no word of a language: a name that somebody gave to a field."""
HEADED = re.compile(r"header|column|field", re.IGNORECASE)
"""A name that says of a row that it is the first one of a table."""
LABEL = re.compile(r"(?:#+ )?[A-Za-z][\w -]{2,40}[:=]\s*|#{1,6} [A-Za-z].{1,60}")


@dataclass(frozen=True, slots=True)
class Ask:
    """`kind` is path, key, member, column, label, threshold, count, written, mention, runs or fetches.

    A `member` is a key, or an answer that stands where keys may stand; a `count` a bound that may be one.
    """

    kind: str
    value: str
    line: int


def asks(source: str) -> list[Ask]:
    """What a program asks for, once each. Raises `SyntaxError` and `ValueError` for what is no Python."""
    tree = ast.parse(source)
    reader = _Reader(Names(tree))
    reader.visit(tree)
    return list(dict.fromkeys([*reader.found, *(Ask(*each) for each in reader.bounds.found())]))


class _Reader(ast.NodeVisitor):
    def __init__(self, names: Names) -> None:
        self.names = names
        self.origins = Origins(names)
        self.bounds = Bounds(names, self.origins)
        self.found: list[Ask] = []
        self._judged = self._asserted = 0
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
        self._asserted += 1
        for test in node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]:
            if not _is_absent(test):
                self._judge(test)
        self._asserted -= 1

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
        if name == "assertFalse" and node.args and _is_absent(ast.UnaryOp(ast.Not(), node.args[0])):
            return
        if name in RUNS and owner is not None:
            self._runs(node)
        if name in PATH_CALLS | WRITES:
            self._path(node, name, owner)
        elif name in COPIES and len(node.args) == 2:
            self._note("path", self.names.strings(node.args[0]), node)
            self._note("written", self.names.strings(node.args[1]), node)
        else:
            self._named(node, name, owner)
        if name in REQUESTS and owner is not None:
            self._fetch(node)
            return
        if not self.names.strings(node):
            self.generic_visit(node)

    def _named(self, node: ast.Call, name: str, owner: ast.expr | None) -> None:
        """Keys, labels and bounds that a call asks for."""
        if owner is None or not node.args:
            return
        if name in ("get", "pop") and self.origins.of(owner) == RECORD:
            self._note("key", self.names.strings(node.args[0]), node)
        elif name in SUBSETS:
            self._form(owner, node.args[0], node)
            self._form(node.args[0], owner, node)
        elif name in ("startswith", "assertIn"):
            self._label(node, owner)
        elif name in (*ABOVE, *BELOW) and len(node.args) >= 2:
            self.bounds.note(node.args[0], node.args[1], node, lower=name in ABOVE, asserted=True)
        elif name in PATTERNS and len(node.args) >= 2 and self.origins.of(node.args[1]) == TEXT:
            anchored = map(ANCHORED.match, self.names.strings(node.args[0]))
            self._note("label", (each[1] for each in anchored if each), node)

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
        """A command, its words joined by NUL where they are given as a list.

        Where a solver's program is started, a path after it is handed over to it, and so told.
        """
        first = node.args[0] if node.args else None
        for words in self._commands(first):
            program = next((at for at, word in enumerate(words[:2]) if word.startswith(("/", "./"))), 2)
            told = words and RUNNERS.fullmatch(words[0]) is not None and not words[0].endswith("sh")
            for at, word in enumerate(words):
                if word.startswith("/") and (not told or at != 0):
                    self._note("written" if told and at > program else "mention", [word], node)
        if isinstance(first, ast.List | ast.Tuple):
            words = [next(iter(self.names.strings(word)), "") for word in first.elts]
            self._note("runs", ["\0".join(words)] if words and words[0] else [], node)
        elif first is not None:
            self._note("runs", self.names.strings(first), node)

    def _commands(self, first: ast.expr | None) -> Iterator[list[str]]:
        if isinstance(first, ast.List | ast.Tuple):
            yield [next(iter(self.names.strings(word)), "") for word in first.elts]
        elif first is not None:
            yield from (text.split() for text in self.names.strings(first))

    def _fetch(self, node: ast.Call) -> None:
        """Addresses that a client opens; what a mapping is asked for may look like one (XML, JSON-LD)."""
        if called(node) == "urlopen" or CLIENT.search(ast.unparse(node.func)):
            url = (text for argument in node.args[:2] for text in self.names.strings(argument))
            self._note("fetches", filter(ADDRESS.match, url), node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        loads = isinstance(node.ctx, ast.Load)
        if loads and self.origins.of(node.value) == RECORD:
            keys = node.slice.elts if isinstance(node.slice, ast.List | ast.Tuple) else [node.slice]
            for text in (text for key in keys for text in self.names.strings(key)):
                self._note("key" if FIELD.fullmatch(text) or not _is_inner(node) else "member", [text], node)
        self.visit(node.value)
        if not self.names.strings(node.slice):
            self.visit(node.slice)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, operator, right in zip(
            [node.left, *node.comparators], node.ops, node.comparators, strict=False
        ):
            if isinstance(operator, ast.In) or (isinstance(operator, ast.NotIn) and not self._asserted):
                self._contained(left, right, node, sure=isinstance(operator, ast.In))
            elif isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE) and self._judged:
                above = isinstance(operator, ast.Gt | ast.GtE)
                self.bounds.note(left, right, node, lower=above, asserted=bool(self._asserted))
                self.bounds.note(right, left, node, lower=not above, asserted=bool(self._asserted))
            if isinstance(operator, ast.Eq | ast.GtE | ast.LtE):
                self._form(left, right, node)
                self._form(right, left, node)
        self.generic_visit(node)

    def _contained(self, left: ast.expr, right: ast.expr, node: ast.Compare, *, sure: bool) -> None:
        texts = self.names.strings(left)
        keyed = self._is_keyed(right)
        if self.origins.of(right) == RECORD and (keyed or self._is_document(right)):
            self._note("key" if keyed and sure else "member", texts, node)
        elif self.origins.of(right) == TEXT:
            self._note("label", filter(LABEL.fullmatch, texts), node)

    def _is_keyed(self, node: ast.expr) -> bool:
        """Whether what stands in it are keys or columns: it is asked by key elsewhere, or says so."""
        if called(node) == "keys" or getattr(node, "attr", "") in ("columns", "fieldnames"):
            return True
        return ast.unparse(node) in self._keyed

    def _is_document(self, node: ast.expr) -> bool:
        """Whether it is all that a file holds, rather than a part of it, which may be a list of answers."""
        bound = self.names.bindings(node) if isinstance(node, ast.Name) else []
        return bool(bound) and all(called(each.value) in LOADERS for each in bound)

    def _label(self, node: ast.Call, owner: ast.expr | None) -> None:
        inside = owner if called(node) == "startswith" else node.args[1] if len(node.args) > 1 else None
        if inside is not None and self.origins.of(inside) == TEXT:
            self._note("label", filter(LABEL.fullmatch, self.names.strings(node.args[0])), node)

    def _form(self, made: ast.expr, wanted: ast.expr, node: ast.expr) -> None:
        """What keys or columns a whole is compared with. The values beside them are answers."""
        kind = self.origins.of(made)
        if kind == RECORD:
            inner = _unwrapped(made)
            keyed = isinstance(wanted, ast.Dict) or (self._is_keyed(inner) and inner is not made)
            keyed = keyed or (inner is made and not isinstance(made, ast.Name) and self._is_keyed(made))
            inside = isinstance(inner, ast.Subscript)
            if keyed or self._is_document(inner):
                for text in self.names.items(wanted):
                    sure = keyed and (not inside or FIELD.fullmatch(text))
                    self._note("key" if sure else "member", [text], node)
        elif kind == TEXT:
            texts = (text for text in self.names.strings(wanted) if HEADER.fullmatch(text))
            self._note("column", (column for text in texts for column in re.split(r"[,;\t|]", text)), node)
            if HEADED.search(ast.unparse(made)):
                self._note("column", self.names.items(wanted), node)


def _is_absent(test: ast.expr) -> bool:
    """Whether it is asked that a file is not there, which asks nobody to make one."""
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and called(test.operand) in IS_THERE


def _unwrapped(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Call) and called(node) in ("set", "list", "sorted", "tuple") and node.args:
        node = node.args[0]
    return node


def _is_inner(node: ast.Subscript) -> bool:
    """Whether it is asked of what stands under another key: what is counted may be the key there."""
    return isinstance(node.value, ast.Subscript) and not isinstance(
        getattr(node.value.slice, "value", None), int
    )


def _asks_by_key(node: ast.Subscript | ast.Attribute) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in ("keys", "items", "get", "columns", "fieldnames")
    return isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
