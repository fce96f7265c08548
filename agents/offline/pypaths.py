"""Which files a Python program names, by parsing it with `ast`. Nothing is run or imported."""

from __future__ import annotations

import ast
import posixpath
from dataclasses import dataclass, field

WRITE_METHODS = frozenset({"write_text", "write_bytes", "touch"})
READ_METHODS = frozenset({"read_text", "read_bytes"})
PATH_CLASSES = frozenset({"Path", "PurePath", "PosixPath"})
WRITE_MODES = frozenset("wax+")


@dataclass
class ProgramPaths:
    """Paths as the program spells them. `complete` is False where a path could not be resolved."""

    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    mentions: list[str] = field(default_factory=list)
    complete: bool = True


def program_paths(source: str) -> ProgramPaths:
    """A program that does not parse gives nothing, marked incomplete."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return ProgramPaths(complete=False)
    reader = _Reader()
    reader.visit(tree)
    return reader.found


class _Reader(ast.NodeVisitor):
    def __init__(self) -> None:
        self.found = ProgramPaths()
        self.names: dict[str, str] = {}

    def visit_Assign(self, node: ast.Assign) -> None:
        text = self.constant(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name) and text is not None:
                self.names[target.id] = text
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and "\n" not in node.value:
            self.found.mentions.append(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if name == "open":
            self._open(node, owner)
        elif name in WRITE_METHODS and owner is not None:
            self._note(owner, self.found.writes)
        elif name in READ_METHODS and owner is not None:
            self._note(owner, self.found.reads)
        elif owner is not None and name.startswith(("to_", "save")) and node.args:
            self._note(node.args[0], self.found.writes)
        self.generic_visit(node)

    def _open(self, node: ast.Call, owner: ast.expr | None) -> None:
        is_method = owner is not None and self.constant(owner) is not None
        path = owner if is_method else node.args[0] if node.args else None
        modes = node.args if is_method else node.args[1:]
        if path is None:
            self.found.complete = False
            return
        named = [keyword.value for keyword in node.keywords if keyword.arg == "mode"]
        mode = next((self.constant(item) or "" for item in (*modes, *named)), "r")
        self._note(path, self.found.writes if WRITE_MODES & set(mode) else self.found.reads)

    def _note(self, node: ast.expr, where: list[str]) -> None:
        text = self.constant(node)
        if text is None:
            self.found.complete = False
        else:
            where.append(text)

    def constant(self, node: ast.expr) -> str | None:
        """The constant string (or path) that an expression stands for, if it is one."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Add):
            return self._joined([node.left, node.right], "/" if isinstance(node.op, ast.Div) else "")
        if isinstance(node, ast.JoinedStr):
            return self._joined(node.values, "")
        if isinstance(node, ast.FormattedValue):
            return self.constant(node.value)
        return self._called(node) if isinstance(node, ast.Call) else None

    def _called(self, node: ast.Call) -> str | None:
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if node.args and (name in PATH_CLASSES or name == "join"):
            return self._joined(node.args, "/")
        return None

    def _joined(self, nodes: list[ast.expr], by: str) -> str | None:
        parts = [self.constant(node) for node in nodes]
        known = [part for part in parts if part is not None]
        if len(known) != len(parts):
            return None
        return posixpath.join(*known) if by else "".join(known)
