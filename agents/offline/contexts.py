"""Editing build contexts: taking a file away, moving a context below a folder, keeping additions apart.

What a Dockerfile copies is read by `sandboxes.dockerfile`; lines that are not touched keep their bytes.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, replace

from sandboxes.dockerfile import Instruction, copies, instructions
from sandboxes.files import TaskFile

OVERLAY_FOLDER = "overlay"


@dataclass(frozen=True, slots=True)
class Copy:
    """One `COPY` or `ADD` of local files. Lines count from 0, both ends included."""

    start: int
    end: int
    step: Instruction
    sources: tuple[str, ...]
    target: str

    def line(self) -> str:
        words = (*self.sources, self.target)
        plain = all(word and shlex.quote(word).strip("'") == word and " " not in word for word in words)
        listed = " ".join(words) if plain else json.dumps(words)
        return " ".join([self.step.name, *self.step.flags, listed]) + "\n"


def local_copies(dockerfile: str) -> list[Copy]:
    """Every instruction, of any stage, that copies files of the context."""
    lines, found = dockerfile.splitlines(), []
    for step in instructions(dockerfile):
        words = step.json or tuple(step.value.split())
        if (
            step.name not in ("COPY", "ADD")
            or step.flag("from") is not None
            or step.heredocs
            or len(words) < 2
        ):
            continue
        if any("://" in word for word in words[:-1]):
            continue
        start = step.line - 1
        found.append(Copy(start, _end(lines, start), step, tuple(words[:-1]), words[-1]))
    return found


def _end(lines: list[str], at: int) -> int:
    """The last line of the instruction that starts at a line."""
    while at + 1 < len(lines) and (lines[at].rstrip().endswith("\\") or lines[at].lstrip().startswith("#")):
        at += 1
    return at


def matched(source: str, context: Mapping[str, TaskFile]) -> frozenset[str]:
    """Context paths that a source brings; all of them for one with variables, of which it cannot be told."""
    if "$" in source:
        return frozenset(context)
    probe = f"FROM scratch\nCOPY {json.dumps([source, '/probe/'])}\n"
    return frozenset(copies(probe, context).files.values())


def uses_of(dockerfile: str, context: Mapping[str, TaskFile], path: str) -> int:
    """How many sources, of any stage, bring this context file."""
    return sum(
        path in matched(source, context) for copy in local_copies(dockerfile) for source in copy.sources
    )


def brought(dockerfile: str, context: Mapping[str, TaskFile]) -> list[str]:
    """Context paths that any instruction of any stage brings, sorted."""
    sources = [source for copy in local_copies(dockerfile) for source in copy.sources]
    return sorted(frozenset[str]().union(*(matched(source, context) for source in sources)))


def without_landing(dockerfile: str, context: Mapping[str, TaskFile], path: str, landing: str) -> str | None:
    """The Dockerfile that copies all it did but `path` to `landing`; None where no single edit does that."""
    for copy in local_copies(dockerfile):
        for source in copy.sources:
            brings = matched(source, context)
            if path not in brings or "$" in source:
                continue
            lines = "".join(_without(copy, source, sorted(brings - {path})))
            edited = _edited(dockerfile, {copy.start: (copy.end, lines)})
            if copies(edited, context).files.get(landing) != path:
                return edited
    return None


def _without(copy: Copy, source: str, kept: list[str]) -> Iterator[str]:
    """The instruction with one source replaced by the files that are kept of it, folder by folder."""
    others = tuple(other for other in copy.sources if other != source)
    if others:
        yield replace(copy, sources=others).line()
    named = [part for part in _relative(source).split("/") if part]
    folders: dict[str, list[str]] = {}
    for path in kept:
        # A folder's content is copied, so what the source names itself is no part of where files land.
        inside = path.split("/")[len(named) : -1]
        folders.setdefault("/".join(inside), []).append(path)
    for folder, paths in folders.items():
        into = "/".join(filter(None, (copy.target.rstrip("/"), folder))) + "/"
        yield replace(copy, sources=tuple(paths), target=into).line()


def take_away(files: MutableMapping[str, TaskFile], root: str, path: str) -> None:
    """Remove `path` of the context folder `root` from `files`, and `COPY` sources that name nothing then."""
    del files[f"{root}/{path}"]
    context, edits = under(files, root), dict[int, tuple[int, str]]()
    for copy in local_copies(_dockerfile(files, root)):
        live = tuple(source for source in copy.sources if matched(source, context))
        if live != copy.sources:
            edits[copy.start] = (copy.end, replace(copy, sources=live).line() if live else "")
    if edits:
        _rewrite(files, root, edits)


def below(dockerfile: str, folder: str) -> str:
    """The Dockerfile with every local source taken from `folder` instead of the context's root."""
    edits = {}
    for copy in local_copies(dockerfile):
        sources = tuple(f"{folder}/{_relative(source)}" for source in copy.sources)
        edits[copy.start] = (copy.end, replace(copy, sources=sources).line())
    return _edited(dockerfile, edits)


def spell_out_root(files: MutableMapping[str, TaskFile], root: str) -> None:
    """Spell out every `COPY . X`, so that what is added to the context later is not copied along."""
    context, edits = under(files, root), dict[int, tuple[int, str]]()
    for copy in local_copies(_dockerfile(files, root)):
        if any(_relative(source) in ("", "*") for source in copy.sources):
            edits[copy.start] = (copy.end, "".join(_spelled(copy, context)))
    if edits:
        _rewrite(files, root, edits)


def under(files: Mapping[str, TaskFile], root: str) -> dict[str, TaskFile]:
    """The files below a folder, keyed relative to it."""
    return {path[len(root) + 1 :]: file for path, file in files.items() if path.startswith(root + "/")}


def _dockerfile(files: Mapping[str, TaskFile], root: str) -> str:
    return files[f"{root}/Dockerfile"].data.decode()


def _rewrite(files: MutableMapping[str, TaskFile], root: str, edits: Mapping[int, tuple[int, str]]) -> None:
    name = f"{root}/Dockerfile"
    files[name] = replace(files[name], data=_edited(_dockerfile(files, root), edits).encode())


def _edited(dockerfile: str, edits: Mapping[int, tuple[int, str]]) -> str:
    """The text with line ranges (start → last line, new text) replaced."""
    lines = dockerfile.splitlines(keepends=True)
    for start, (end, text) in sorted(edits.items(), reverse=True):
        lines[start : end + 1] = [text] if text else []
    return "".join(lines)


def _relative(source: str) -> str:
    name = source.lstrip("/")
    while name.startswith("./"):
        name = name[2:].lstrip("/")
    return "" if name == "." else name


def _spelled(copy: Copy, context: Mapping[str, TaskFile]) -> Iterator[str]:
    brought = frozenset[str]().union(*(matched(source, context) for source in copy.sources))
    kept = [
        path
        for path in sorted(brought)
        if path != OVERLAY_FOLDER and not path.startswith(OVERLAY_FOLDER + "/")
    ]
    folders = sorted({path.split("/")[0] for path in kept if "/" in path})
    files = tuple(path for path in kept if "/" not in path)
    into = copy.target.rstrip("/") + "/"
    if files:
        yield replace(copy, sources=files, target=into).line()
    for folder in folders:
        yield replace(copy, sources=(folder + "/",), target=f"{into}{folder}/").line()
