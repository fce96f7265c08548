"""Runs of 13 tokens that two texts have in common. Pure; no Django.

A token is a run of letters and digits: case, accents' spelling, punctuation, white space and characters that
nobody sees hide no overlap.
A changed word or number does. A run counts only if at least five different words stand in it, so that rows
of numbers and of one repeated word are no overlap.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from lineages.similarity import readable
from sandboxes.task import INSTRUCTION, Task

RUN_TOKENS = 13
LEAST_WORDS = 5
READ = (INSTRUCTION, "solution/", "tests/")
"""What of a benchmark's task is looked for, and where: the environment is data that tasks may share."""

_TOKEN = re.compile(r"[^\W_]+")
_UNSEEN = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]")
"""Soft hyphens, joiners, marks of direction and the like."""


@dataclass(frozen=True, slots=True)
class Run:
    """13 tokens with one space between them; `line` is that of the first, from 1."""

    text: str
    line: int

    @property
    def gram(self) -> int:
        """The first 8 bytes of its SHA-256 as a signed number."""
        return int.from_bytes(hashlib.sha256(self.text.encode()).digest()[:8], signed=True)


def runs(text: str) -> Iterator[Run]:
    """Every run of a text, in order; one that stands there twice comes twice."""
    tokens = list(_tokens(text))
    for at in range(len(tokens) - RUN_TOKENS + 1):
        part = [token for token, _ in tokens[at : at + RUN_TOKENS]]
        if len({token for token in part if not token.isdigit()}) >= LEAST_WORDS:
            yield Run(" ".join(part), tokens[at][1])


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    for number, line in enumerate(text.splitlines(), start=1):
        seen = _UNSEEN.sub("", unicodedata.normalize("NFKC", line))
        for token in _TOKEN.findall(seen.casefold()):
            yield token, number


def runs_of(task: Task) -> Iterator[tuple[str, Run]]:
    """Every run of the task's instruction, solution and tests, with its file."""
    for path, text in readable(task, _is_read).items():
        for run in runs(text):
            yield path, run


def unread(task: Task) -> list[str]:
    """Files in those places that are not text, or too large to be looked into."""
    read = readable(task, _is_read)
    return [
        path for path, file in task.files.items() if _is_read(path) and file.link is None and path not in read
    ]


def _is_read(path: str) -> bool:
    return path.startswith(READ)
