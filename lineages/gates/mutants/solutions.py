"""Wrong solutions: the reference's scripts with one step, one command or one number changed.

Found by a parser (tree-sitter-bash); nothing is run. Only shell scripts are changed this way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node, Parser

from agents.composition import STEPS
from agents.offline.shell import LANGUAGE
from lineages.gates.mutants import Kind, Mutant
from lineages.gates.mutants.outputs import NUMBER, more_by
from sandboxes.files import TaskFile
from sandboxes.task import Task

# Dropping these changes how a script fails, or what it leaves in its own scratch folder.
_HOUSEKEEPING = frozenset(": [ exit export false local mktemp return rm set shopt test trap true".split())
_NOTHING = TaskFile.text("#!/bin/sh\n", executable=True)
_SHELLS = (b"bash", b"sh", b"dash")


def steps(task: Task) -> list[str]:
    """The blocks of an evolved task's solution, by their paths in the task; empty for other tasks."""
    return [path for path in task.files if path.startswith(f"{STEPS}/")]


def solution_mutants(task: Task) -> list[Mutant]:
    """Each step of an evolved task emptied; of another solution each command dropped, each number changed."""
    blocks = steps(task)
    if blocks:
        return [Mutant(Kind.STEP, path, f"{path} emptied", solution={path: _NOTHING}) for path in blocks]
    return [mutant for path in _scripts(task) for mutant in _of_script(path, task.files[path])]


def _scripts(task: Task) -> Iterator[str]:
    for path, file in task.files.items():
        if path.startswith("solution/") and _for_a_shell(path, file.data):
            yield path


def _for_a_shell(path: str, script: bytes) -> bool:
    """By its first line; by its name only where that line names no interpreter."""
    first = script.partition(b"\n")[0]
    if first.startswith(b"#!"):
        return any(word.rpartition(b"/")[2] in _SHELLS for word in first[2:].split())
    return path.endswith(".sh")


@dataclass(frozen=True, slots=True)
class _Place:
    """A stretch of a script's bytes, and what to put there."""

    kind: Kind
    start: int
    end: int
    instead: bytes
    line: int


def _of_script(path: str, file: TaskFile) -> Iterator[Mutant]:
    root = Parser(LANGUAGE).parse(file.data).root_node
    for place in _places(root):
        was = " ".join(file.data[place.start : place.end].decode("utf-8", "replace").split())
        shown = was if len(was) <= 60 else f"{was[:57]}…"
        to = f" as {place.instead.decode()}" if place.kind is Kind.LITERAL else " dropped"
        what = f"`{shown}`{to} in line {place.line} of {path}"
        data = file.data[: place.start] + place.instead + file.data[place.end :]
        yield Mutant(place.kind, path, what, place.line, solution={path: TaskFile(data, file.mode)})


def _places(root: Node) -> Iterator[_Place]:
    """In the order of the script. Not recursive: a long chain of `&&` is as deep as it is long."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == "command":
            yield from _of_command(node)
        # Without its condition a loop would only never end.
        condition = node.child_by_field_name("condition") if node.type == "while_statement" else None
        waiting += [child for child in reversed(node.named_children) if child != condition]


def _of_command(node: Node) -> Iterator[_Place]:
    name = node.child_by_field_name("name")
    if name is not None and (name.text or b"").decode("utf-8", "replace") not in _HOUSEKEEPING:
        yield _Place(Kind.COMMAND, node.start_byte, node.end_byte, _idle(node), node.start_point[0] + 1)
        yield from _numbers(node)


def _idle(node: Node) -> bytes:
    """What does nothing in a command's place: in a pipe it hands its input on."""
    pipe = node
    while pipe.parent is not None and pipe.parent.type == "redirected_statement":
        pipe = pipe.parent
    piped = pipe.parent is not None and pipe.parent.type == "pipeline"
    return b"cat" if piped and pipe.parent.named_children[0] != pipe else b":"  # type: ignore[union-attr]


def _numbers(command: Node) -> Iterator[_Place]:
    """Numbers in a command's own words; one in a path names a file and counts nothing."""
    for word in command.children_by_field_name("argument"):
        source = word.text or b""
        if word.type not in ("word", "number", "raw_string") or (word.type == "word" and b"/" in source):
            continue
        for count, match in enumerate(NUMBER.finditer(source)):
            start, end = word.start_byte + match.start(), word.start_byte + match.end()
            line = word.start_point[0] + source[: match.start()].count(b"\n") + 1
            wrong = more_by(match[0], 1 if count % 2 == 0 or int(float(match[0])) == 0 else -1)
            yield _Place(Kind.LITERAL, start, end, wrong, line)
