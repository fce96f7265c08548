"""What of a task nobody who solves it may find: its solution and tests, as things to look for. No gate.

A file is looked for as a whole, by its digest, and by its *telling lines*: long ones that stand neither in
the environment's files nor in the instruction, and are no scaffolding that every script has. Too short a
file tells nothing and is not looked for: an expected `42` stands everywhere.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch

from agents.composition import HELD, PRISTINE
from lineages.similarity import text_of
from sandboxes.files import TaskFile
from sandboxes.task import INSTRUCTION, VERIFIER_DOCKERFILE, Task

LEAST_BYTES = 16
LEAST_LINE = 16
LEAST_SCRIPT_LINE = 24
LEAST_TOLD = 40
"""Characters of the lines that have to be found; less may be a coincidence."""
ENOUGH_LINES = 3
MOST_LINES = 40
"""Of each file: of more, evenly chosen ones. Who left a whole file behind left these too."""

SCRIPTS = ("solution/*.sh", "solution/*.py", "solution/steps/*", "tests/units/*", "tests/test.sh")
EXPECTED = frozenset({"expected", "golden", "answers", "oracle", "reference"})
TEST_NAMES = ("seed-test.sh", "test_*.py", "*_test.py", "test_*.sh", "*_test.sh", "conftest.py")
_SCAFFOLDING = re.compile(
    r"#!|set [-+]|export \w+=|import |from \S+ import |cd |mkdir |source |apt(-get)? |pip3? |curl |"
    r"if __name__|[\W\d]+$"
)


@dataclass(frozen=True, slots=True)
class Secret:
    """One file to look for. `lines` are (number, text); `needed` of them are as good as the file.

    `blob` is the name that git gives the content. A `held` one is the pristine form of an input that the
    environment hides on purpose: finding it in a git history may be the task. All of an `open` one stands in
    the environment's files: it may be a part that must not change, or an old test's log; a person has to
    look. Of such a one the `whole` has to be found in one piece.
    """

    path: str
    size: int
    digest: str
    blob: str
    lines: tuple[tuple[int, bytes], ...]
    needed: int
    open: bool = False
    whole: bytes = b""

    @property
    def held(self) -> bool:
        return self.path.startswith(f"{HELD}/")

    def told_by(self, found: Iterable[bytes]) -> tuple[int, ...]:
        """The numbers of its lines that are among these loose ones, if they are enough."""
        return () if self.whole else self._enough(found)

    def _enough(self, found: Iterable[bytes]) -> tuple[int, ...]:
        among = set(found)
        told = tuple(number for number, line in self.lines if line in among)
        return told if told and len(told) >= self.needed else ()

    def told_in(self, data: bytes) -> tuple[int, ...]:
        """The numbers of its lines that stand in these bytes, if they are enough."""
        if self.whole and self.whole not in data:
            return ()
        return self._enough(line for _, line in self.lines if line in data)


def secrets(task: Task) -> tuple[Secret, ...]:
    """Every file below `solution/` and `tests/` that is worth looking for.

    Data that the environment holds too, as it is, is no secret, but for what is held back from it and for
    expected values; a script of the solution or the tests is one wherever else it lies.
    """
    open_ = {path: file for path, file in task.files.items() if path.startswith("environment/")}
    known = _Known(open_, task.text(INSTRUCTION) if INSTRUCTION in task else "")
    return tuple(
        _secret(path, file, known) for path, file in task.files.items() if _is_secret(path, file, known)
    )


class _Known:
    """What a solver may read anyway."""

    def __init__(self, files: Mapping[str, TaskFile], instruction: str) -> None:
        self._whole = b"\n".join([*(file.data for file in files.values()), instruction.encode()])
        self._lines = {line.strip() for line in self._whole.splitlines()}
        self.digests = {hashlib.sha256(file.data).digest() for file in files.values()}

    def has(self, line: bytes) -> bool:
        return line in self._lines or line in self._whole


def _is_secret(path: str, file: TaskFile, known: _Known) -> bool:
    if not path.startswith(("solution/", "tests/")) or path.startswith(f"{PRISTINE}/"):
        return False
    if path == VERIFIER_DOCKERFILE or file.link is not None or len(file.data.strip()) < LEAST_BYTES:
        return False
    hidden = is_script(path) or path.startswith(f"{HELD}/") or is_expected(path)
    return hidden or hashlib.sha256(file.data).digest() not in known.digests


def is_expected(path: str) -> bool:
    """Whether a file of the tests says by its place that it holds what should come out."""
    folders = path.split("/")[1:-1]
    return path.startswith("tests/") and not EXPECTED.isdisjoint(folders)


def is_script(path: str) -> bool:
    """Whether a file is run to solve or to judge, rather than read as data."""
    name = path.rpartition("/")[2]
    named = path.startswith("tests/") and any(fnmatch(name, pattern) for pattern in TEST_NAMES)
    return named or any(fnmatch(path, pattern) for pattern in SCRIPTS)


def _secret(path: str, file: TaskFile, known: _Known) -> Secret:
    lines, needed = _telling(path, file, known)
    digest = hashlib.sha256(file.data)
    readable = digest.digest() in known.digests or bool(lines and all(known.has(line) for _, line in lines))
    in_the_open = is_expected(path) and readable
    return Secret(
        path=path,
        size=len(file.data),
        digest=digest.hexdigest(),
        blob=hashlib.sha1(b"blob %d\0" % len(file.data) + file.data, usedforsecurity=False).hexdigest(),
        lines=lines,
        needed=needed,
        open=in_the_open,
        whole=file.data.strip() if in_the_open else b"",
    )


def _telling(path: str, file: TaskFile, known: _Known) -> tuple[tuple[tuple[int, bytes], ...], int]:
    """The lines to look for, and how many of them are enough; none where they would tell too little."""
    text = text_of(file)
    every = list(_long_lines(path, text)) if text is not None else []
    unknown = [(number, line) for number, line in _spread(every, 2 * MOST_LINES) if not known.has(line)]
    lines, needed = tuple(_spread(unknown, MOST_LINES)), min(ENOUGH_LINES, len(unknown))
    if (is_script(path) or is_expected(path)) and not unknown and len(every) >= ENOUGH_LINES:
        # All of it lies about in the open: only a file with every line of it gives it away.
        lines = tuple(_spread(every, MOST_LINES))
        needed = len(lines)
    told = sum(sorted(len(line) for _, line in lines)[:needed])
    alone = text is not None and len(text.strip().splitlines()) == 1
    return (lines, needed) if lines and (alone or told >= LEAST_TOLD) else ((), 0)


def _long_lines(path: str, text: str) -> Iterator[tuple[int, bytes]]:
    seen, script = set(), is_script(path)
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip()
        if bare in seen or len(bare) < (LEAST_SCRIPT_LINE if script else LEAST_LINE):
            continue
        if script and _SCAFFOLDING.match(bare):
            continue
        seen.add(bare)
        yield number, bare.encode()


def _spread(items: Sequence[tuple[int, bytes]], most: int) -> Sequence[tuple[int, bytes]]:
    """At most so many of them, evenly chosen."""
    if len(items) <= most:
        return items
    return [items[at * len(items) // most] for at in range(most)]
