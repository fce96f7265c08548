"""Files that the instruction asks for, and which of them no test looks at."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from lineages.gates.asked import Asked
from lineages.gates.base import Finding
from lineages.gates.python_tests.origin import is_graders
from sandboxes.task import INSTRUCTION, TEST

SUFFIXED = re.compile(r"[\w./~-]*[\w-]\.[A-Za-z][A-Za-z0-9]{0,7}")
QUOTED = re.compile(r"`([^`\n]+)`")
ABSOLUTE = re.compile(r"(?<![\w`./:~-])(/[\w.-]+(?:/[\w.-]+)+)")
ASKS = re.compile(
    r"\b(?:write|create|save|produce|generate|output|store|put|export|emit|record)s?\b", re.IGNORECASE
)
ALLOWS = re.compile(
    r"\b(?:do not|don't|never|must not|should not|without|may|might|can|could|optional|optionally|instead of"
    r"|such as|for example|e\.g|if you|feel free|like|already|exists?|from|reads?|given|provided)\b",
    re.IGNORECASE,
)
SENTENCE = re.compile(r"(?<=[.!?:;])\s+|\n")
LISTS = ("os.listdir", "iterdir(", ".glob(", "rglob(", "os.walk", "diff -r", "find ", "/*", "ls ")
"""Ways to look at every file of a folder, whatever its name."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file that a sentence asks for, and the line of the instruction it stands in.

    `described`: the sentence says of something that it writes the file, which may be there already.
    """

    name: str
    line: int
    described: bool


def untested(tests: Asked) -> Iterator[Finding]:
    """A finding for each file that is asked for and that no test names, in words or as a file of its own."""
    looked_at = _TestWords(tests)
    for wanted in dict.fromkeys(_wanted(tests)):
        if not looked_at.name(wanted.name):
            yield Finding(
                f"{wanted.name} is asked for, but no test looks at it.",
                INSTRUCTION,
                wanted.line,
                warning=looked_at.at_folders or (wanted.described and tests.told.open_ended),
                repair="Test it, or take the sentence out.",
            )


def _wanted(tests: Asked) -> Iterator[Wanted]:
    line = 1
    for sentence in SENTENCE.split(tests.told.instruction):
        at = tests.told.instruction.find(sentence)
        line = tests.told.instruction.count("\n", 0, at) + 1 if at >= 0 else line
        verbs = [verb.lower() for verb in ASKS.findall(sentence)]
        if verbs and not ALLOWS.search(sentence):
            described = all(verb.endswith("s") for verb in verbs)
            for name in _files(sentence):
                if not _is_there(name, tests):
                    yield Wanted(name, line, described)


def _files(sentence: str) -> Iterator[str]:
    for word in [*QUOTED.findall(sentence), *ABSOLUTE.findall(sentence)]:
        name = word.strip().rstrip(".,;:")
        if SUFFIXED.fullmatch(name) and not re.fullmatch(r"[\d.]+|\w+\.\w+\(\)", name):
            yield name


def _is_there(name: str, tests: Asked) -> bool:
    base = posixpath.basename(name)
    return is_graders(name) or any(posixpath.basename(path) == base for path in tests.told.paths)


class _TestWords:
    """All that the tests say, as text, and the names of their files."""

    def __init__(self, tests: Asked) -> None:
        files = [(path, tests.task.text(path)) for path in tests.task.files if path.startswith("tests/")]
        self._text = "\n".join([*(path for path, _ in files), *(text for _, text in files)])
        code = "\n".join(text for path, text in files if path == TEST or path.endswith((".py", ".sh")))
        self.at_folders = any(way in code for way in LISTS)

    def name(self, name: str) -> bool:
        """Whether the file's name stands anywhere, or the name without its suffix as a word."""
        base = posixpath.basename(name)
        stem = base.rsplit(".", 1)[0]
        return base in self._text or re.search(rf"\b{re.escape(stem)}\b", self._text) is not None
