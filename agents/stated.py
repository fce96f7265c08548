"""What a solver is told, in words or by what lies in the workspace; and which words of it say a value.

Precision comes first: a word counts as said wherever it stands, in any case, in a longer path or name. What
is only in a compressed file, or made while the image is built, cannot be seen here: then `open_ended` is
true, and what was not found may yet be there.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import cached_property

from agents.composition import OVERLAY
from agents.offline.reading import workspace
from sandboxes.dockerfile.reading import last_stage
from sandboxes.task import DOCKERFILE, INSTRUCTION, Task

ALWAYS_THERE = frozenset("app home root opt srv data mnt var usr local etc tmp bin lib share".split())
"""Folders that a container has, or that are a container's working folder by custom."""
BY_CUSTOM = frozenset(
    """
    .git HEAD refs heads objects hooks config node_modules __pycache__ venv .venv target release debug build
    dist src include package.json package-lock.json requirements.txt Makefile Cargo.toml go.mod pyproject.toml
    setup.py CMakeLists.txt .ssh authorized_keys known_hosts .bashrc .profile .gitconfig .gitignore .cache
    .local index.html __init__.py
    """.split()
)
"""Parts of paths that every tool of a kind makes under the same name."""
PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"7z\xbc\xaf")
PLAIN_RUNS = re.compile(
    r"\s*(?:set|export|apt-get|apt|apk|dnf|yum|mkdir|chmod|chown|useradd|adduser|groupadd|rm|touch|ln|true"
    r"|pip3?|python3? -m pip|npm i|npm install|update-ca-certificates|locale-gen|echo|printf)\b"
)
OWN_IMAGE = re.compile(r"[a-z0-9_-]+(?:[:@].*)?")
"""A name without a folder is one of the registry's official images, which hold no task's files."""
NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
UNITS = {"k": (10**3, 2**10), "m": (10**6, 2**20), "g": (10**9, 2**30)}
SCALES = {
    **dict.fromkeys(("%", "percent"), 0.01),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 0.001),
    **dict.fromkeys(("min", "minute", "minutes"), 60),
    **dict.fromkeys(("hour", "hours"), 3600),
}
TABLES = (".csv", ".tsv", ".log", ".jsonl", ".ndjson", ".sql", ".dat")
_RUN = re.compile(r"[^\W_]+")
MOST_READ = 16 << 20
"""Of the environment's files; where there is more, what was not found may stand in the rest."""
LONGEST_NOTE = 64 << 10
"""A number in a table, or in a file longer than this, says nothing about what is asked."""
NUMBER = re.compile(
    r"(\d[\d,_ ]*(?:\.\d+)?|\.\d+)"
    r"(?:\s*(%|percent\b|ms\b|milliseconds?\b|min\b|minutes?\b|hours?\b|[kmg]i?b?\b))?"
)


class Told:
    """What the solver of a task is told."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.instruction = task.text(INSTRUCTION) if INSTRUCTION in task else ""
        self.workdir, self.delivered = workspace(task)

    @cached_property
    def _words(self) -> str:
        """Everything that can be read, in small letters."""
        variables = self.task.config.environment.env.items()
        files = (data.decode("utf-8", "replace") for data in self._read)
        pairs = (word for pair in variables for word in pair)
        return "\n".join([self.instruction, self._recipe, self.workdir, *self.paths, *pairs, *files]).lower()

    @cached_property
    def _runs(self) -> frozenset[str]:
        """The runs of letters and digits of all that: what a word cannot stand in without."""
        return frozenset(_RUN.findall(self._words))

    @property
    def _recipe(self) -> str:
        return self.task.text(DOCKERFILE) if DOCKERFILE in self.task else ""

    @cached_property
    def paths(self) -> frozenset[str]:
        """The files that the image gets from the environment's folder, and those folders."""
        return frozenset(place for path in self.delivered for place in (path, *_above(path)))

    @property
    def _read(self) -> Iterator[bytes]:
        """The files' bytes, the smallest files first, up to `MOST_READ` of all."""
        left = MOST_READ
        for data in sorted((delivery.file.data for delivery in self.delivered.values()), key=len):
            yield data[:left]
            left -= min(left, len(data))

    @cached_property
    def open_ended(self) -> bool:
        """Whether the environment holds things that its files do not show, or more than is read."""
        if sum(len(delivery.file.data) for delivery in self.delivered.values()) > MOST_READ:
            return True
        packed = any(
            file.data.startswith(PACKED) and not path.startswith(f"{OVERLAY}/")
            for path, file in self.task.files.items()
            if path.startswith("environment/")
        )
        return packed or any(_makes_more(self.task))

    def says(self, word: str) -> bool:
        """Whether the word stands somewhere by itself, letters in any case."""
        wanted = word.strip().lower()
        runs = _RUN.findall(wanted)
        if not wanted or not self._runs.issuperset(runs):
            return False
        return runs == [wanted] or re.search(_alone(wanted), self._words) is not None

    def says_path(self, path: str) -> bool:
        """Whether the file is there, or every part of its path is said."""
        path = posixpath.normpath(path)
        if path in self.paths or path == self.workdir or path in self._words:
            return True
        known = set(self.workdir.split("/")) | {"", ".", ".."}
        parts = [part for part in path.split("/") if part not in known]
        return all(
            self.says(part) or part in BY_CUSTOM or (not at and part in ALWAYS_THERE)
            for at, part in enumerate(parts)
        )

    def says_number(self, number: float) -> bool:
        """Whether it is said in any usual form; the whole number beside it counts too (`more than 4`)."""
        return any(abs(said - number) <= 1e-9 * max(1.0, abs(number)) for said in self._numbers) or (
            number.is_integer() and not {number - 1, number + 1}.isdisjoint(self._numbers)
        )

    @cached_property
    def _numbers(self) -> frozenset[float]:
        notes = (
            delivery.file.data.decode("utf-8", "replace")
            for path, delivery in self.delivered.items()
            if not path.endswith(TABLES) and len(delivery.file.data) <= LONGEST_NOTE
        )
        text = "\n".join([self.instruction, self._recipe, *notes]).lower()
        words = (n for n, word in enumerate(NUMBER_WORDS) if re.search(rf"\b{word}\b", text))
        return frozenset([*map(float, words), *(n for found in NUMBER.findall(text) for n in _meant(*found))])


def _meant(figures: str, unit: str) -> Iterator[float]:
    """Every number that figures with a unit may mean: `1,000` one or two, `5 %` also 0.05."""
    whole = re.sub(r"[,_ ]", "", figures)
    for plain in map(float, [whole, *re.findall(r"\d+(?:\.\d+)?", figures)]):
        yield plain
        if unit in SCALES:
            yield plain * SCALES[unit]
        elif unit:
            yield from (plain * size for size in UNITS[unit[0]])


def _alone(word: str) -> str:
    """A pattern for the word with no letter or digit before or after one of its own."""
    before = r"(?<![^\W_])" if word[0].isalnum() else ""
    after = r"(?![^\W_])" if word[-1].isalnum() else ""
    return f"{before}{re.escape(word)}{after}"


def _above(path: str) -> Iterator[str]:
    while path not in ("/", ""):
        path = posixpath.dirname(path)
        yield path


def _makes_more(task: Task) -> Iterator[bool]:
    """For each thing that the image is made of, whether it may bring files that the context does not show."""
    if DOCKERFILE not in task or task.config.environment.docker_image:
        yield True
        return
    stage = last_stage(task.text(DOCKERFILE))
    yield OWN_IMAGE.fullmatch(stage.base.removeprefix("docker.io/library/")) is None
    for step, _ in stage.steps:
        if step.name in ("COPY", "ADD"):
            yield step.flag("from") is not None or "://" in step.value
        elif step.name == "RUN":
            lines = re.split(r"&&|\|\||;|\n", step.value)
            yield bool(step.heredocs) or not all(PLAIN_RUNS.match(line) for line in lines if line.strip())
