"""Wrong outputs: each is what the reference left, changed in one place as a mistake would change it."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import chain

from lineages.gates.mutants import Files, Kind, Mutant
from sandboxes.files import TaskFile

MOST_BYTES, MOST_BYTES_IN_ALL = 1 << 20, 8 << 20
"""Of outputs whose lines are changed, each change a copy in memory; larger ones, and those that come after so
much, are only taken away, emptied or exchanged."""

MOST_COLUMNS = 8

# Not within a name, a checksum or a decimal fraction: `a1`, `3fb2`, `x.5` have no number of their own.
NUMBER = re.compile(rb"(?<![\w.])\d{1,15}(?:\.\d+)?(?![\w.])")
_REMARKS = (b"#", b"//", b"--", b"/*", b";")
_PROGRAMS = frozenset(
    ".awk .bash .c .cc .cpp .css .go .h .hpp .html .java .js .lua .mjs .php .pl .py .r .rb .rs .sed .sh .sql "
    ".tcl .ts .tsx".split()
)


def outputs_of(reference: Files, before: Files) -> dict[str, TaskFile]:
    """The files that the reference made or changed."""
    return {path: file for path, file in sorted(reference.items()) if not _same(before.get(path), file)}


def output_mutants(reference: Files, before: Files, among: Collection[str] | None = None) -> list[Mutant]:
    """One for each mistake in each output; none that leaves the output as it is, and no two alike.

    `among` are the only outputs that are changed, in this order; None for all. Files that were there and that
    the reference removed come as well.
    """
    made = outputs_of(reference, before)
    if among is not None:
        made = {path: made[path] for path in among if path in made}
    large = too_large(made)
    found: dict[tuple[str, bytes | None], Mutant] = {}
    for path, file in made.items():
        for mutant in _of_one(path, file, before.get(path), made, lines=path not in large):
            content = mutant.outputs[path]
            if not _same(content, file):
                found.setdefault((path, content.data if content else None), mutant)
    for path in sorted(before.keys() - reference.keys()):
        left = Mutant(Kind.STALE, path, "it not removed", outputs={path: before[path]})
        found.setdefault((path, before[path].data), left)
    return list(found.values())


def too_large(made: Files) -> set[str]:
    """The outputs of which no line is changed: what there is of them is too much."""
    found, total = set(), 0
    for path, file in made.items():
        if len(file.data) > MOST_BYTES or total + len(file.data) > MOST_BYTES_IN_ALL:
            found.add(path)
        else:
            total += len(file.data)
    return found


def is_program(path: str, file: TaskFile) -> bool:
    """Whether an output is a program, in which a line may change and nothing follow from it."""
    return posixpath.splitext(path)[1].lower() in _PROGRAMS or file.executable or file.data[:2] == b"#!"


def _same(one: TaskFile | None, other: TaskFile | None) -> bool:
    """The same bytes: a file's mode is no result."""
    return one is other or (one is not None and other is not None and one.data == other.data)


def _of_one(
    path: str, file: TaskFile, before: TaskFile | None, made: Files, *, lines: bool
) -> Iterator[Mutant]:
    def mutant(kind: Kind, what: str, content: TaskFile | None, line: int = 0) -> Mutant:
        return Mutant(kind, path, what, line, outputs={path: content})

    yield mutant(Kind.MISSING, "no file there", None)
    yield mutant(Kind.EMPTIED, "an empty file there", replace(file, data=b""))
    if before is not None:
        yield mutant(Kind.STALE, "the file as it was before the work", before)
    other = _next(path, made)
    if other:
        yield mutant(Kind.OTHERS, f"the content of {other}", replace(file, data=made[other].data))
    if lines and b"\0" not in file.data:
        for kind, what, line, data in _line_changes(file.data):
            yield mutant(kind, what, replace(file, data=data), line)


def _next(path: str, made: Files) -> str:
    """The output after this one, round in a circle; empty where there is no other."""
    paths = list(made)
    after = paths[(paths.index(path) + 1) % len(paths)]
    return after if after != path else ""


Change = tuple[Kind, str, int, bytes]


def _line_changes(data: bytes) -> Iterator[Change]:
    lines = data.splitlines(keepends=True)
    full = [at for at, line in enumerate(lines) if line.strip()]
    if not full:
        return
    last, middle = full[-1], full[len(full) // 2]
    yield Kind.DROPPED, "its last line dropped", last + 1, _joined(lines, last, [])
    yield Kind.DROPPED, f"its line {middle + 1} dropped", middle + 1, _joined(lines, middle, [])
    twice = [lines[middle].rstrip(b"\r\n") + b"\n", lines[middle]]
    yield Kind.DOUBLED, f"its line {middle + 1} there twice", middle + 1, _joined(lines, middle, twice)
    yield from _exchanged(lines, len(full) // 2)
    yield from _off_by_one(lines)


def _joined(lines: list[bytes], at: int, instead: list[bytes]) -> bytes:
    return b"".join([*lines[:at], *instead, *lines[at + 1 :]])


def _exchanged(lines: list[bytes], start: int) -> Iterator[Change]:
    """The first two different neighbours from the middle on; a first line may be a heading and stays."""
    for at in range(max(1, start - 1), len(lines) - 1):
        one, two = (line.rstrip(b"\r\n") for line in lines[at : at + 2])
        if one.strip() and two.strip() and one != two:
            end = lines[at + 1][len(two) :]
            swapped = [two + lines[at][len(one) :], one + end]
            data = b"".join([*lines[:at], *swapped, *lines[at + 2 :]])
            yield Kind.EXCHANGED, f"its lines {at + 1} and {at + 2} exchanged", at + 1, data
            return


def _off_by_one(lines: list[bytes]) -> Iterator[Change]:
    """The first, a middle and the last number outside of remarks, and one of each column of numbers."""
    columns: defaultdict[int, list[tuple[int, re.Match[bytes]]]] = defaultdict(list)
    for at, line in enumerate(lines):
        if not line.lstrip().startswith(_REMARKS):
            for column, match in enumerate(NUMBER.finditer(line)):
                columns[column].append((at, match))
    numbers = sorted(chain.from_iterable(columns.values()), key=lambda each: (each[0], each[1].start()))
    if not numbers:
        return
    ends = [numbers[0], numbers[len(numbers) // 2], numbers[-1]]
    inner = [found[len(found) // 2] for _, found in sorted(columns.items())[:MOST_COLUMNS]]
    for at, match in {(at, each.start()): (at, each) for at, each in [*ends, *inner]}.values():
        wrong = more_by(match[0], 1)
        line = lines[at][: match.start()] + wrong + lines[at][match.end() :]
        what = f"{match[0].decode()} off by one ({wrong.decode()}) in its line {at + 1}"
        yield Kind.OFF_BY_ONE, what, at + 1, _joined(lines, at, [line])


def more_by(number: bytes, step: int) -> bytes:
    """The number with `step` added to its whole part, never below 0, as wide as before where it can be."""
    whole, point, rest = number.partition(b".")
    return str(max(0, int(whole) + step)).encode().rjust(len(whole), b"0") + point + rest


def lost(reference: Files, left: Files, before: Files) -> dict[str, str]:
    """The outputs of which a wrong solution left less than the reference, each with what is missing.

    Lines are compared word by word, so that another order of lines or other spaces lose nothing.
    """
    found = {}
    for path, file in outputs_of(reference, before).items():
        what = _lost(file, left.get(path))
        if what:
            found[path] = what
    return found


def _lost(file: TaskFile, left: TaskFile | None) -> str:
    if left is None:
        return "is missing"
    if not left.data and file.data:
        return "is empty"
    if b"\0" in file.data:
        return "" if left.data == file.data else "is another"
    there = set(_words(left.data))
    missing = [line for line in _words(file.data) if line not in there]
    return f"lacks or has otherwise {len(missing)} of its lines" if missing else ""


def _words(data: bytes) -> list[tuple[bytes, ...]]:
    return [tuple(line.split()) for line in data.splitlines() if line.strip()]
