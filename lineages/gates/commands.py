"""The commands that the tests of a task run, word by word and line by line, without running them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tree_sitter import Node, Parser

from agents.composition import HELD, PRISTINE, UNITS
from agents.offline.shell import LANGUAGE, Command, Script
from agents.offline.vocabulary import PYTHON, SHELLS
from agents.offline.words import text
from agents.stated import Told
from lineages.gates.counted import CountedWords, Endless
from sandboxes.mending import DATA_FOLDERS
from sandboxes.task import TEST, Task

ALL_GIVEN = re.compile(r"\"?\$(?:\{)?[@*](?::(\d{1,4}))?\}?\"?")
GIVES_UP = re.compile(r"\b(exit|return|fail|die|abort)\b")
MAX_STEPS = 60_000
"""Parts of scripts that are looked at, loops unrolled; the tests of a fifteenth generation have 10,000."""
LARGEST_SCRIPT = 256 << 10
"""Parsing a larger one takes gigabytes and minutes where it is made for it."""
COPIED_DATA = (f"{HELD}/", f"{PRISTINE}/")


@dataclass(frozen=True, slots=True)
class Words:
    """One command or one test of the shell. A word that only a run could tell is None.

    `path` and `line` say where it stands; `optional` that the script goes on where it fails, or runs it only
    under a condition; `is_test` that it is `[ … ]` or `[[ … ]]`, `denied` that it is asked for not to hold.
    """

    words: tuple[str | None, ...]
    path: str
    line: int
    optional: bool = False
    is_test: bool = False
    denied: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """A Python program that stands in a script. `line` is the line before its first."""

    source: str
    path: str
    line: int


class Walk(Script):
    """Walks a script of the tests, and what it runs of them."""

    def __init__(self, task: Task, told: Told) -> None:
        self._task, self._told = task, told
        texts = {f"/{path}": task.text(path) for path in scripts(task)}
        # Of copied data and of the workspace no glob of a test's runs a script, and there may be thousands.
        here = {f"/{path}" for path in task.files if path.startswith("tests/") and not is_data(path)}
        super().__init__(here, told.workdir, texts)
        self.variables["HOME"] = "/root"
        self.words = CountedWords(self.variables, self.arrays)
        self.found: list[Words] = []
        self.reached = self._steps = 0
        self.unreadable: list[str] = []
        self.programs: list[Program] = []
        self.written: set[str] = set()
        self.read: list[tuple[str, str, int]] = []
        self.walked: set[str] = set()
        self.sources: dict[tuple[str, int], str] = {}
        self.assigned: dict[str, list[str]] = {}
        self._folder, self._here, self._line = told.workdir, "", 0
        self._optional = self._denied = self._inlined = 0
        self._given: list[str | None] = []

    def start(self, path: str) -> None:
        """Walk the script at a path of the task."""
        self.cwd = self.variables["PWD"] = self._folder
        self._within_limits(path, lambda: self.run(f"/{path}", path))

    def _within_limits(self, path: str, walk: Callable[[], None]) -> None:
        """Loops within loops and brackets within brackets are easy to write and take for ever to read."""
        depth = self.depth
        try:
            walk()
        except (RecursionError, Endless):
            self.unreadable.append(path)
            self.depth, self._given, self._here = depth, [], ""
            self._optional = self._denied = self._inlined = 0

    def visit(self, node: Node) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise Endless
        super().visit(node)

    def _source(self, path: str, arguments: tuple[str | None, ...]) -> None:
        before, self._here = self._here, path.lstrip("/")
        self.walked.add(self._here)
        _check_size(self.scripts.get(path, ""))
        super()._source(path, arguments)
        self._here = before

    def _inside(self, walk: Callable[[], None], variables: Mapping[str, str | None]) -> None:
        before = self._given
        self._given = [value for name, value in variables.items() if name != "0"]
        super()._inside(walk, variables)
        self._given = before

    def _expanded(self, node: Node) -> list[str | None]:
        """As for any script, and `"$@"` as what the function was given."""
        every = ALL_GIVEN.fullmatch(text(node))
        return self._given[int(every[1] or 1) - 1 :] if every else super()._expanded(node)

    def _shift(self, by: str | None) -> None:
        gone = int(by) if by and by.isdecimal() and len(by) < 5 else 1
        left = self._given[gone:]
        padded = [*left, *[None] * (len(self._given) - len(left))]
        self.variables.update({str(n): value for n, value in enumerate(padded, start=1)})
        self._given = left

    def _variable_assignment(self, node: Node) -> None:
        name, _, value = text(node).partition("=")
        self.assigned.setdefault(name, []).append(value)
        super()._variable_assignment(node)

    def _if_statement(self, node: Node) -> None:
        self._optional += 1
        self._children(node)
        self._optional -= 1

    def _list(self, node: Node) -> None:
        """`a && b` and `a || b`: in the latter neither has to succeed, if `b` does not give up."""
        either = any(child.type == "||" for child in node.children)
        either = either and not GIVES_UP.search(text(node.children[-1]))
        self._optional += either
        self._children(node)
        self._optional -= either

    def _negated_command(self, node: Node) -> None:
        self._denied += 1
        self._children(node)
        self._denied -= 1

    def _command(self, node: Node, heredoc: str | None = None) -> None:
        self._line = self._line_of(node)
        super()._command(node, heredoc)

    def _test_command(self, node: Node) -> None:
        self._children(node)
        words = [word for leaf in _leaves(node) for word in self._word(leaf)]
        denied = bool(self._denied) or "!" in words
        line = self._line_of(node)
        self.sources[self._here, line] = text(node)
        self.found.append(Words(tuple(words), self._here, line, bool(self._optional), True, denied))

    def _line_of(self, node: Node) -> int:
        """A script within a word stands where the word stands."""
        return self._line if self._inlined else node.start_point[0] + 1

    def _word(self, leaf: Node) -> list[str | None]:
        return self._expanded(leaf) if leaf.is_named and leaf.type != "test_operator" else [text(leaf)]

    def _apply(self, operator: str, target: Node, own: list[Command]) -> None:
        path = self.absolute(self.words.value(target)) if target.type != "process_substitution" else None
        if operator == "<" and path:
            self.read.append((path, self._here, self._line_of(target)))
        super()._apply(operator, target, own)

    def _note(self, name: str, arguments: tuple[str | None, ...], heredoc: str | None) -> None:
        words = (name, *arguments)
        self.found.append(
            Words(words, self._here, self._line, bool(self._optional), denied=bool(self._denied))
        )
        super()._note(name, arguments, heredoc)
        if name == "shift":
            self._shift(next(iter(arguments), None))
        inline = _inline(arguments)
        if name in PYTHON:
            source = inline if inline is not None else heredoc
            if source:
                self.programs.append(Program(source, self._here, self._line - (inline is not None)))
        elif name in SHELLS and inline:
            self._inline_script(inline)

    def _inline_script(self, script: str) -> None:
        _check_size(script)
        if self.depth < 8:
            self.depth += 1
            self._inlined += 1
            self.visit(Parser(LANGUAGE).parse(script.encode()).root_node)
            self._inlined -= 1
            self.depth -= 1

    def _wrote(self, paths: list[str]) -> None:
        self.written.update(paths)
        super()._wrote(paths)

    def of_text(self, script: str) -> list[Words]:
        """The commands of a script that stands elsewhere, e.g. in a Dockerfile; this walk stays as it is."""
        other = Walk(self._task, self._told)
        other._within_limits("", lambda: other._inline_script(script))
        return other.found


def _check_size(script: str) -> None:
    if len(script) > LARGEST_SCRIPT:
        raise Endless


def _inline(arguments: tuple[str | None, ...]) -> str | None:
    for at, word in enumerate(arguments):
        if word and word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            return next(iter(arguments[at + 1 : at + 2]), None)
    return None


def _leaves(node: Node) -> Iterator[Node]:
    """The words and operators of a test, in order."""
    for child in node.children:
        if child.type.endswith("_expression"):
            yield from _leaves(child)
        else:
            yield child


def scripts(task: Task) -> list[str]:
    """The shell scripts of the tests, `tests/test.sh` first; copied data is none of them."""
    found = [path for path in sorted(task.under("tests")) if _is_script(task, f"tests/{path}")]
    return sorted((f"tests/{path}" for path in found), key=lambda path: path != TEST)


def _is_script(task: Task, path: str) -> bool:
    if is_data(path) or task.files[path].link is not None:
        return False
    first = task.files[path].data[:80].split(b"\n", 1)[0]
    shell = first.startswith(b"#!") and b"sh" in first.split(b"/")[-1]
    return path.endswith((".sh", ".bash")) or shell or path.startswith(f"{UNITS}/")


def is_data(path: str) -> bool:
    """Whether a file of the tests is compared or handed over rather than run."""
    return path.startswith(COPIED_DATA) or not DATA_FOLDERS.isdisjoint(path.split("/")[1:-1])


def programs(task: Task) -> list[Program]:
    """The Python files of the tests."""
    named = (path for path in task.files if path.startswith("tests/") and not is_data(path))
    return [Program(task.text(path), path, 0) for path in named if _is_python(task, path)]


def _is_python(task: Task, path: str) -> bool:
    file = task.files[path]
    first = file.data[:80].split(b"\n", 1)[0]
    return file.link is None and (path.endswith(".py") or first.startswith(b"#!") and b"python" in first)


def walked(task: Task, told: Told) -> Walk:
    """What `tests/test.sh` runs, and what that runs of the tests; then every further script of the tests."""
    walk = Walk(task, told)
    walk.start(TEST)
    walk.reached = len(walk.found)
    for path in scripts(task):
        if path not in walk.walked:
            walk.start(path)
    return walk
