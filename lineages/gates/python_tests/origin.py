"""Which expressions hold something that the solver made, and in what form."""

from __future__ import annotations

import ast
import re

from .names import Names, called

TEXT, RECORD = "text", "record"
GRADERS = ("/tests", "/logs", "/solution", "/oracle", "/tmp", "/dev", "/proc", "/sys", "/var/tmp")
"""Where nothing that a solver is asked for lies."""

READS = frozenset(
    {"open", "read_text", "read_bytes", "getsize", "stat", "listdir", "iterdir", "glob", "rglob", "walk"}
)
TABLES = frozenset({"read_csv", "read_json", "read_excel", "read_parquet", "read_table", "read_feather"})
LOADERS = frozenset({"load", "loads", "safe_load", "DictReader", "json", "full_load"})
RUNNERS = re.compile(
    r"(?:\S*/)?(?:python[\d.]*|bash|sh|node|java|ruby|perl|go|cargo|npm)|\./\S+|/(?!usr/|bin/|sbin/)\S+"
)
"""What a command starts with that runs the solver's own program; what other programs print has a form of
its own, and so has what a service answers."""
SAME = frozenset(
    "list sorted set dict next iter tuple max min sum float int str len round abs bool reversed"
    " Decimal".split()
)


class Origins:
    """Asks where expressions come from. What comes from a path that cannot be told is not the solver's."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._known: dict[ast.expr, str] = {}

    def of(self, node: ast.expr) -> str:
        """`TEXT` or `RECORD` (keys can be asked of it) for what the solver made; "" for anything else."""
        if node not in self._known:
            self._known[node] = ""  # what a name that stands for itself is taken for
            self._known[node] = self._of(node)
        return self._known[node]

    def _of(self, node: ast.expr) -> str:
        if isinstance(node, ast.Call):
            return self._of_call(node)
        if isinstance(node, ast.Name):
            return self._of_name(node)
        if isinstance(node, ast.Attribute):
            return self.of(node.value) or self._of_name(node)
        if isinstance(node, ast.Subscript | ast.Await | ast.Starred):
            return self.of(node.value)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return self.of(node.elt)
        if isinstance(node, ast.BinOp):
            return self.of(node.left) or self.of(node.right)
        return ""

    def _of_name(self, node: ast.expr) -> str:
        found = [self.of(bound.value) for bound in self.names.bindings(node)]
        return "" if not all(found) else next(iter(found), "")

    def _of_call(self, node: ast.Call) -> str:
        name = called(node)
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if owner is None and name in self.names.functions:
            found = [self.of(value) for value in self.names.returned.get(name, [])]
            return next(iter(found), "") if all(found) else ""
        if isinstance(owner, ast.Name) and owner.id == "subprocess":
            return self._printed(node)
        if name in TABLES | LOADERS:
            return self._loaded(node, name, owner)
        if name in READS:
            return TEXT if self._is_read(node, owner) else ""
        kept = self.of(owner) if owner is not None else ""
        return kept or (self.of(node.args[0]) if node.args and (owner is not None or name in SAME) else "")

    def _printed(self, node: ast.Call) -> str:
        words = [part for text in self._words(node) for part in text.split()]
        runs = bool(words) and RUNNERS.fullmatch(words[0]) is not None
        return TEXT if runs and not any(map(is_graders, words)) else ""

    def _words(self, node: ast.Call) -> list[str]:
        return [
            text
            for argument in node.args
            for of in (self.names.strings, self.names.items)
            for text in of(argument)
        ]

    def _loaded(self, node: ast.Call, name: str, owner: ast.expr | None) -> str:
        source = node.args[0] if node.args else owner
        if source is None:
            return ""
        return RECORD if self.of(source) or (name in TABLES and self.is_solvers(source)) else ""

    def _is_read(self, node: ast.Call, owner: ast.expr | None) -> bool:
        by_function = owner is None or ast.unparse(owner) in ("os", "os.path", "io", "glob", "codecs")
        path = (node.args[0] if node.args else None) if by_function else owner
        return path is not None and self.is_solvers(path)

    def is_solvers(self, node: ast.expr) -> bool:
        """Whether a path is known, and lies where a solver works."""
        paths = self.names.strings(node)
        return bool(paths) and not any(is_graders(path) for path in paths)


def is_graders(path: str) -> bool:
    return any(path == folder or path.startswith(folder + "/") for folder in GRADERS)
