"""What the names of a program may stand for, and which strings an expression may be. Nothing is run."""

from __future__ import annotations

import ast
import itertools
import posixpath
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

MAX_VALUES = 64
WHOLE, ITEM = "whole", "item"
PATH_MAKERS = frozenset({"Path", "PurePath", "PosixPath", "PurePosixPath"})
SAME_PATH = frozenset(
    {"str", "fspath", "abspath", "realpath", "normpath", "expanduser", "absolute", "resolve"}
)
SAME_ITEMS = frozenset({"list", "sorted", "set", "tuple", "frozenset", "keys", "items", "reversed", "iter"})


@dataclass(frozen=True, slots=True)
class Bound:
    """One thing that a name was given: the value itself, or an item of it."""

    value: ast.expr
    how: str = WHOLE


class Names(ast.NodeVisitor):
    """Collects bindings. Names are kept by function, those outside of any by ""; attributes by `.name`.

    A parameter is bound to what calls in the same file hand over, to the items of `parametrize`, and to what
    the fixture of its name returns.
    """

    def __init__(self, tree: ast.AST) -> None:
        self.bound: defaultdict[tuple[str, str], list[Bound]] = defaultdict(list)
        self.functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        self.returned: defaultdict[str, list[ast.expr]] = defaultdict(list)
        self.scope_of: dict[ast.AST, str] = {}
        self._known: dict[ast.expr, list[str]] = {}
        self._contents: dict[ast.expr, list[str]] = {}
        self._scope = ""
        self._calls: list[ast.Call] = []
        self.visit(tree)
        for call in self._calls:
            self._hand_over(call)

    def visit(self, node: ast.AST) -> None:
        self.scope_of[node] = self._scope
        super().visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.functions[node.name] = node
        for decorator in node.decorator_list:
            self.visit(decorator)
            self._parametrized(node.name, decorator)
        before, self._scope = self._scope, node.name
        for child in (node.args, *node.body):
            self.visit(child)
        self._scope = before

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Return(self, node: ast.Return | ast.Yield) -> None:
        if node.value is not None:
            self.returned[self._scope].append(node.value)
        self.generic_visit(node)

    visit_Yield = visit_Return

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._bind(target, node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign | ast.NamedExpr) -> None:
        if node.value is not None:
            self._bind(node.target, node.value)
        self.generic_visit(node)

    visit_NamedExpr = visit_AnnAssign

    def visit_For(self, node: ast.For | ast.AsyncFor | ast.comprehension) -> None:
        self._bind(node.target, node.iter, ITEM)
        self.generic_visit(node)

    visit_AsyncFor = visit_For
    visit_comprehension = visit_For

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            if item.optional_vars is not None:
                self._bind(item.optional_vars, item.context_expr)
        self.generic_visit(node)

    visit_AsyncWith = visit_With

    def visit_Call(self, node: ast.Call) -> None:
        self._calls.append(node)
        self.generic_visit(node)

    def _bind(self, target: ast.expr, value: ast.expr, how: str = WHOLE) -> None:
        if isinstance(target, ast.Name):
            self.bound[self._scope, target.id].append(Bound(value, how))
        elif isinstance(target, ast.Attribute):
            self.bound["", f".{target.attr}"].append(Bound(value, how))
        elif isinstance(target, ast.Tuple | ast.List):
            self._bind_parts(target.elts, value, how)

    def _bind_parts(self, targets: Sequence[ast.expr], value: ast.expr, how: str) -> None:
        if how == WHOLE and isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(targets):
            for target, part in zip(targets, value.elts, strict=True):
                self._bind(target, part)
        elif how == ITEM and called(value) == "items" and targets:
            self._bind(targets[0], value, ITEM)  # the key; what stands under it is the value's own
        elif how == ITEM and called(value) == "enumerate" and isinstance(value, ast.Call) and value.args:
            self._bind(targets[-1], value.args[0], ITEM)
        elif how == ITEM and isinstance(value, ast.Tuple | ast.List | ast.Set):
            for row in value.elts:
                if isinstance(row, ast.Tuple | ast.List) and len(row.elts) == len(targets):
                    self._bind_parts(targets, row, WHOLE)

    def _parametrized(self, function: str, decorator: ast.expr) -> None:
        if (
            called(decorator) != "parametrize"
            or not isinstance(decorator, ast.Call)
            or len(decorator.args) < 2
        ):
            return
        first, values = decorator.args[:2]
        if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
            return
        names: list[ast.expr] = [ast.Name(name.strip()) for name in first.value.split(",")]
        before, self._scope = self._scope, function
        self._bind(names[0] if len(names) == 1 else ast.Tuple(names), values, ITEM)
        self._scope = before

    def _hand_over(self, call: ast.Call) -> None:
        function = self.functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if function is None:
            return
        names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        for name, value in zip(names, call.args, strict=False):
            self.bound[function.name, name].append(Bound(value))
        for keyword in call.keywords:
            if keyword.arg:
                self.bound[function.name, keyword.arg].append(Bound(keyword.value))

    def bindings(self, node: ast.expr) -> list[Bound]:
        """What a name or an attribute may have been given; [] for one that is not known."""
        if isinstance(node, ast.Attribute):
            return self.bound.get(("", f".{node.attr}"), []) or self.bound.get(("", node.attr), [])
        if not isinstance(node, ast.Name):
            return []
        scope = self.scope_of.get(node, "")
        own = self.bound.get((scope, node.id), [])
        return own or self.bound.get(("", node.id), []) or self._fixture(node.id)

    def _fixture(self, name: str) -> list[Bound]:
        return [Bound(value) for value in self.returned.get(name, [])]

    def strings(self, node: ast.expr) -> list[str]:
        """The strings (or paths) that an expression may be; [] where that cannot be told."""
        if node not in self._known:
            self._known[node] = []  # what a name that stands for itself is taken for
            self._known[node] = self._strings(node)
        return self._known[node]

    def _strings(self, node: ast.expr) -> list[str]:
        if isinstance(node, ast.Constant):
            return [node.value] if isinstance(node.value, str) else []
        if isinstance(node, ast.Name | ast.Attribute):
            return self._of_name(node)
        if isinstance(node, ast.BinOp):
            return self._of_operation(node)
        if isinstance(node, ast.JoinedStr):
            return self._joined(node.values, "")
        if isinstance(node, ast.FormattedValue):
            return self.strings(node.value) if node.format_spec is None else []
        if isinstance(node, ast.BoolOp | ast.IfExp):
            parts = node.values if isinstance(node, ast.BoolOp) else [node.body, node.orelse]
            return [text for part in parts for text in self.strings(part)][:MAX_VALUES]
        return self._of_call(node) if isinstance(node, ast.Call) else []

    def _of_name(self, node: ast.Name | ast.Attribute) -> list[str]:
        found: list[str] = []
        for bound in self.bindings(node):
            of = self.strings if bound.how == WHOLE else self.items
            found += of(bound.value)
        return list(dict.fromkeys(found))[:MAX_VALUES]

    def _of_operation(self, node: ast.BinOp) -> list[str]:
        if isinstance(node.op, ast.Div | ast.Add):
            return self._joined([node.left, node.right], "/" if isinstance(node.op, ast.Div) else "")
        if isinstance(node.op, ast.Mod):
            values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
            return self._filled(self.strings(node.left), "%s", values)
        return []

    def _of_call(self, node: ast.Call) -> list[str]:
        name, owner = called(node), node.func.value if isinstance(node.func, ast.Attribute) else None
        if name == "format" and owner is not None:
            return self._filled(self.strings(owner), "{}", node.args)
        if name in ("getenv", "get") and len(node.args) == 2 and "env" in ast.unparse(node.func).lower():
            return self.strings(node.args[1])
        if name == "joinpath" and owner is not None:
            return self._joined([owner, *node.args], "/")
        if name in PATH_MAKERS or (name == "join" and node.args and "path" in ast.unparse(node.func)):
            return self._joined(node.args, "/")
        if name in SAME_PATH:
            same = node.args[0] if node.args else owner
            return self.strings(same) if same is not None else []
        return []

    def _joined(self, nodes: Iterable[ast.expr], by: str) -> list[str]:
        parts = [self.strings(node) for node in nodes]
        if not parts or not all(parts):
            return []
        every = itertools.islice(itertools.product(*parts), MAX_VALUES)
        return [posixpath.join(*each) if by else "".join(each) for each in every]

    def _filled(self, forms: list[str], mark: str, nodes: Sequence[ast.expr]) -> list[str]:
        values = [self.strings(node) for node in nodes]
        if not values or not all(values):
            return []
        found = []
        for form, each in itertools.islice(itertools.product(forms, itertools.product(*values)), MAX_VALUES):
            if form.count(mark) == len(each):
                found.append(
                    "".join(itertools.chain(*itertools.zip_longest(form.split(mark), each, fillvalue="")))
                )
        return found

    def items(self, node: ast.expr) -> list[str]:
        """The strings that may stand in a collection."""
        if node not in self._contents:
            self._contents[node] = []
            self._contents[node] = list(itertools.islice(self._items(node), MAX_VALUES))
        return self._contents[node]

    def _items(self, node: ast.expr) -> Iterator[str]:
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            for part in node.elts:
                yield from self.strings(part)
        elif isinstance(node, ast.Dict):
            for key in node.keys:
                yield from self.strings(key) if key is not None else ()
        elif isinstance(node, ast.Name | ast.Attribute):
            for bound in self.bindings(node):
                if bound.how == WHOLE:
                    yield from self.items(bound.value)
        elif isinstance(node, ast.Call) and called(node) in SAME_ITEMS:
            inner = (
                node.args[0]
                if node.args
                else node.func.value
                if isinstance(node.func, ast.Attribute)
                else None
            )
            yield from self.items(inner) if inner is not None else ()
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.Add):
            yield from self.items(node.left)
            yield from self.items(node.right)


def called(node: ast.expr) -> str:
    """The last part of the name that a call calls; "" for what is no call of a name."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
