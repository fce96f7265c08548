"""Read a Dockerfile: its instructions, stages, variables and folders.

Words, quotes and `FROM` are read with PyPI's `dockerfile-parse`. The division into instructions is our own:
that library takes the lines of a heredoc for instructions, a double backslash for a line that goes on, and
loses an instruction that ends in a backslash at the end of the file. BuildKit does none of these, and a
policy that reads another file than the builder is no policy.
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from dockerfile_parse.parser import image_from
from dockerfile_parse.util import WordSplitter


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its name in capitals, its flags (`--x=y`), and the rest as one line.

    `line` is its first line, from 1. `heredocs` are the bodies of its here-documents.
    """

    name: str
    value: str
    line: int
    flags: tuple[str, ...] = ()
    heredocs: tuple[str, ...] = ()

    def flag(self, name: str) -> str | None:
        """The value of `--name=value`, "" for a bare `--name`, None where the flag is absent."""
        for flag in self.flags:
            key, _, value = flag[2:].partition("=")
            if key.lower() == name:
                return value
        return None

    @property
    def json(self) -> tuple[str, ...] | None:
        """The words of the exec form (`["a", "b"]`), or None for the shell form."""
        if not self.value.startswith("["):
            return None
        try:
            words = json.loads(self.value)
        except ValueError:
            return None
        return tuple(words) if all(isinstance(word, str) for word in words) else None


@lru_cache(maxsize=64)  # one Dockerfile is asked about many things in a row
def instructions(text: str) -> tuple[Instruction, ...]:
    """All instructions of all stages in order, without comments and parser directives."""
    # Lines end where BuildKit ends them; str.splitlines knows seven more places.
    return tuple(_instructions([line.rstrip("\r") for line in text.removeprefix("\ufeff").split("\n")]))


_COMMENT = re.compile(r"\s*#")
# As BuildKit's: a line goes on after one backslash, but not after two.
_GOES_ON = re.compile(r"(?:^|(?<=[^\\]))\\[ \t]*$")
HEREDOC = re.compile(r"(?:^|(?<=\s))\d*<<(-?)(['\"]?)(\w[\w.+-]*)\2")


def _instructions(lines: list[str]) -> Iterator[Instruction]:
    at = 0
    while at < len(lines):
        start = at
        logical, at = _logical_line(lines, at)
        if not logical.strip():
            continue
        name, rest = (*logical.split(None, 1), "")[:2]
        bodies: tuple[str, ...] = ()
        if name.upper() in ("RUN", "COPY", "ADD", "ONBUILD"):
            bodies, at = _heredocs(rest, lines, at)
        flags, value = _split_flags(rest.strip())
        yield Instruction(name.upper(), value, start + 1, flags, bodies)


def _logical_line(lines: list[str], at: int) -> tuple[str, int]:
    """Lines joined as long as they go on; comments and blank lines between them do not end that."""
    joined = ""
    while at < len(lines):
        line = lines[at]
        at += 1
        if _COMMENT.match(line) or not line.strip():
            if joined:
                continue
            return "", at
        joined += _GOES_ON.sub("", line)
        if not _GOES_ON.search(line):
            break
    return joined, at


def _heredocs(value: str, lines: list[str], at: int) -> tuple[tuple[str, ...], int]:
    bodies: list[str] = []
    for dash, _, word in HEREDOC.findall(value):
        end = _end_of_heredoc(lines, at, word, strip=bool(dash))
        if end is None:  # never closed, so it is no here-document
            continue
        bodies.append("\n".join(lines[at:end]))
        at = end + 1
    return tuple(bodies), at


def _end_of_heredoc(lines: list[str], at: int, word: str, *, strip: bool) -> int | None:
    for number in range(at, len(lines)):
        line = lines[number]
        if (line.lstrip("\t") if strip else line) == word:
            return number
    return None


def _split_flags(value: str) -> tuple[tuple[str, ...], str]:
    """The leading `--…` words, quotes and backslashes taken off as BuildKit does, and the rest."""
    flags: list[str] = []
    splitter = WordSplitter(value)
    end = 0
    for word in splitter.split(dequote=False):
        if not word or not word.startswith("--"):
            break
        flags.append(_unquoted(word))
        end = splitter.stream.tell()
    return tuple(flags), value[end:].strip()


@dataclass(frozen=True)
class Stage:
    base: str
    name: str
    steps: tuple[tuple[Instruction, Mapping[str, str]], ...]
    """Each instruction with the variables that are known to it."""
    env: ChainMap[str, str]
    args: ChainMap[str, str]


_BARE = Stage("", "", (), ChainMap(), ChainMap())


def _stages(text: str) -> tuple[Stage, ...]:
    """Every stage, each starting with all that the stage it is built from did."""
    found: list[Stage] = []
    globals_: dict[str, str] = {}
    for step in instructions(text):
        if step.name == "FROM":
            image, name = image_from(step.value)
            base = expand(image or "", globals_)
            parent = next((s for s in found if s.name and s.name == base.lower()), None)
            found.append(replace(parent or _BARE, base=base, name=(name or "").lower()))
        elif found:
            found[-1] = _with_step(found[-1], step, globals_)
        elif step.name == "ARG":
            globals_ |= arguments(step, globals_)
    return tuple(found)


def _with_step(stage: Stage, step: Instruction, globals_: Mapping[str, str]) -> Stage:
    env, args = stage.env, stage.args
    known = ChainMap(env, args)  # ENV wins over ARG
    if step.name == "ENV":
        env = env.new_child(_pairs(step.value, known))
    elif step.name == "ARG":
        # An ARG without a value takes the one from before the first FROM.
        found = arguments(step, known).items()
        args = args.new_child({key: value or globals_.get(key, "") for key, value in found})
    return Stage(stage.base, stage.name, (*stage.steps, (step, ChainMap(env, args))), env, args)


def _pairs(value: str, variables: Mapping[str, str]) -> dict[str, str]:
    words = words_of(value)
    if words and "=" not in words[0]:
        key, _, rest = value.partition(" ")
        return {key: expand(rest.strip(), variables)}
    pairs = (word.partition("=") for word in words)
    return {_unquoted(key): expand(rest, variables) for key, _, rest in pairs}


def arguments(step: Instruction, variables: Mapping[str, str]) -> dict[str, str]:
    pairs = (word.partition("=") for word in words_of(step.value))
    return {_unquoted(key): expand(rest, variables) for key, _, rest in pairs}


def words_of(value: str) -> list[str]:
    """The words of a line, quotes and backslashes kept."""
    return [word for word in WordSplitter(value).split(dequote=False) if word]


def _unquoted(word: str) -> str:
    return WordSplitter(word).dequote()


MAX_GROWTH = 4096
_NAME = re.compile(r"\$\{?(\w+)")
_MODIFIED = re.compile(r"\$\{(\w+)(:?[-+])([^{}]*)\}")


def expand(word: str, variables: Mapping[str, str]) -> str:
    """The word with `$X`, `${X}`, `${X:-default}` and `${X:+other}` filled in and quotes taken off.

    A variable that is not known is empty, as it is for the builder. A word that would grow by more than
    4 KiB stays as it is: twenty lines of `ARG A=$A$A` make a million characters.
    """
    if sum(len(variables.get(name, "")) for name in _NAME.findall(word)) > MAX_GROWTH:
        return word

    def filled(match: re.Match[str]) -> str:
        name, modifier, other = match.groups()
        is_set = bool(variables.get(name)) if ":" in modifier else name in variables
        if modifier.endswith("-"):
            return variables[name] if is_set else other
        return other if is_set else ""

    return WordSplitter(_MODIFIED.sub(filled, word), args={}, envs=variables).dequote()


def workdir(text: str) -> str:
    """The last stage's working folder, as far as the Dockerfile says it; "/" where it says nothing."""
    return _workdir_after(last_stage(text).steps)


def env(text: str) -> Mapping[str, str]:
    """The variables that the last stage's ENV instructions set."""
    return dict(last_stage(text).env)


def runs(text: str) -> tuple[str, ...]:
    """The commands of the last stage's RUN instructions, as shell text; bodies of heredocs follow theirs."""
    return tuple(command(step) for step, _ in last_stage(text).steps if step.name == "RUN")


def command(step: Instruction) -> str:
    line = shlex.join(step.json) if step.json else step.value
    return "\n".join((line, *step.heredocs))


def last_stage(text: str) -> Stage:
    stages = _stages(text)
    return stages[-1] if stages else _BARE


def _workdir_after(steps: Iterable[tuple[Instruction, Mapping[str, str]]]) -> str:
    folder = "/"
    for step, known in steps:
        if step.name == "WORKDIR":
            folder = join(folder, expand(step.value, known))
    return folder


def join(folder: str, path: str) -> str:
    return posixpath.normpath("/" + posixpath.join(folder, path).lstrip("/"))
