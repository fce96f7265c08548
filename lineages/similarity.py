"""How alike two texts or two tasks are: normal forms, shingles and their sketches. Pure; no Django.

A *shingle* is a run of five words; the likeness of two sets of them is the share of what is in both among
what is in either (Jaccard). A *sketch* keeps the least hash in each of `VALUES` parts of the range of hashes
(one-permutation MinHash; an empty part borrows from the next one that is not), so that the share of equal
values estimates the likeness: at 0.8 its standard error is 0.04. Sketches are cut into `BANDS`: of two that
are 0.9 alike at least one band is equal in 99.999 of 100 cases, at 0.8 in 99.8, at 0.4 in 8. So the few that
may be alike are found by an index, whatever the archive's size.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b

from agents.composition import HELD, PRISTINE
from sandboxes.files import TaskFile
from sandboxes.task import INSTRUCTION, VERIFIER_DOCKERFILE, Task

SHINGLE_WORDS = 5
VALUES = 120
BANDS = 20
ROWS = VALUES // BANDS
LEAST_SHINGLES = 200
"""Below it common scaffolding makes up most of a task's text, and likeness says nothing."""
LARGEST_TEXT = 1024 * 1024
"""A larger file counts as one shingle, its hash."""
LARGEST_IN_ALL = 4 * 1024 * 1024
"""Of more, the smallest files are looked into: a gigabyte of shingles says no more, and fits nowhere."""

HASH = "hash"
_COMMENTS = {
    **dict.fromkeys(("sh", "bash", "py", "toml", "yaml", "yml", "awk", "rb", "pl", "r", "mk", "conf"), "#"),
    **dict.fromkeys(("js", "ts", "c", "h", "cpp", "hpp", "cc", "go", "rs", "java", "kt", "swift"), "//"),
    **dict.fromkeys(("sql", "lua", "hs"), "--"),
}
_NAMED = {"Dockerfile": "#", "Makefile": "#", ".dockerignore": "#"}
_WORD = re.compile(r"\w+")
_GAP = re.compile(r"\s+")
_LONGEST_BORROW = 1 << 20


def text_of(file: TaskFile) -> str | None:
    """The file as text; None for a link and for what is not UTF-8 or too large to be looked into."""
    if file.link is not None or len(file.data) > LARGEST_TEXT or b"\0" in file.data:
        return None
    try:
        return file.data.decode()
    except UnicodeDecodeError:
        return None


def readable(task: Task, wanted: Callable[[str], bool]) -> dict[str, str]:
    """The texts of those of the wanted files that are looked into, in the task's order."""
    texts = {path: text_of(file) for path, file in task.files.items() if wanted(path)}
    left = LARGEST_IN_ALL
    read: set[str] = set()
    for path, text in sorted(texts.items(), key=lambda each: len(each[1] or "")):
        if text is not None and len(text) <= left:
            left -= len(text)
            read.add(path)
    return {path: text for path, text in texts.items() if text is not None and path in read}


def normal(path: str, file: TaskFile) -> str:
    """What a file says: without comments, blank lines and the width of gaps; for bytes, their hash.

    Only comments with a line of their own, or behind the last quote of a line, are told from text that
    looks alike; which mark begins one depends on the file's ending or its first line.
    """
    text = text_of(file)
    return _identity(file) if text is None else _said(path, text)


def _identity(file: TaskFile) -> str:
    return f"{HASH} {file.link or blake2b(file.data, digest_size=16).hexdigest()}"


def _said(path: str, text: str) -> str:
    mark = _comment_mark(path, text)
    lines = (_without_comment(line, mark) for line in text.splitlines())
    return "\n".join(_GAP.sub(" ", line).strip() for line in lines if line.strip())


def _comment_mark(path: str, text: str) -> str:
    name = path.rpartition("/")[2]
    if name in _NAMED:
        return _NAMED[name]
    stem, dot, ending = name.rpartition(".")
    if stem and dot and ending.lower() in _COMMENTS:
        return _COMMENTS[ending.lower()]
    return "#" if text.startswith("#!") or path.startswith(("solution/steps/", "tests/units/")) else ""


def _without_comment(line: str, mark: str) -> str:
    if not mark:
        return line
    bare = line.lstrip()
    if bare.startswith(mark):
        return line if bare.startswith("#!") else ""
    before, _, after = line.rpartition(f" {mark} ")
    return before if before and not set(after) & set("'\"`") else line


def shingles(texts: Iterable[str]) -> frozenset[int]:
    """The hashed runs of five words of each text; of a shorter one, all of it as one run."""
    return frozenset(_hash(run) for text in texts for run in _runs(text))


def _runs(text: str) -> Iterator[str]:
    words = _WORD.findall(text.casefold())
    if words:
        for at in range(max(1, len(words) - SHINGLE_WORDS + 1)):
            yield " ".join(words[at : at + SHINGLE_WORDS])


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())


def jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    """From 0 to 1; 0 where both are empty."""
    return len(one & other) / len(one | other) if one or other else 0.0


def asked(task: Task) -> frozenset[int]:
    """The shingles of what makes the task this one: instruction, solution and tests.

    The environment's data is not among them: many good tasks may rest on the same data.
    """
    skipped = (VERIFIER_DOCKERFILE, f"{PRISTINE}/", f"{HELD}/")
    wanted = (INSTRUCTION, "solution/", "tests/")
    files = [path for path in task.files if path.startswith(wanted) and not path.startswith(skipped)]
    texts = readable(task, frozenset(files).__contains__)
    return shingles(
        _said(path, texts[path]) if path in texts else _identity(task.files[path]) for path in files
    )


def sketch(found: frozenset[int]) -> tuple[int, ...]:
    """The sketch of a set of shingles; empty for one that is too small to say anything."""
    if len(found) < LEAST_SHINGLES:
        return ()
    least: list[int | None] = [None] * VALUES
    for each in found:
        part, value = each % VALUES, each // VALUES
        known = least[part]
        if known is None or value < known:
            least[part] = value
    return tuple(_borrowed(least, part) for part in range(VALUES))


def _borrowed(least: Sequence[int | None], part: int) -> int:
    """The part's own value, else that of the next part which has one, marked by how far it came."""
    for steps in range(VALUES):
        value = least[(part + steps) % VALUES]
        if value is not None:
            return (value + steps * _LONGEST_BORROW) % (1 << 64)
    raise ValueError("a sketch needs at least one shingle")


def likeness(one: Sequence[int], other: Sequence[int]) -> float:
    """The estimated share of common shingles, from 0 to 1; 0 where either was too small for a sketch."""
    if not one or not other:
        return 0.0
    return sum(a == b for a, b in zip(one, other, strict=True)) / VALUES


def bands(values: Sequence[int]) -> list[int]:
    """One signed 64-bit number for each band; none for an empty sketch."""
    return [
        int.from_bytes(
            blake2b(pack((at, *values[at * ROWS : (at + 1) * ROWS])), digest_size=8).digest(), signed=True
        )
        for at in range(BANDS if values else 0)
    ]


def pack(values: Sequence[int]) -> bytes:
    """Eight bytes for each value, in order."""
    return struct.pack(f">{len(values)}Q", *values)


def unpack(data: bytes | memoryview) -> tuple[int, ...]:
    """The values that were packed."""
    return struct.unpack(f">{len(data) // 8}Q", data)
