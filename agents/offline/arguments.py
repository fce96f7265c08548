"""What a command does to files, told from its words by the conventions of the common tools."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from agents.offline.pypaths import ProgramPaths, program_paths
from agents.offline.vocabulary import DESTINATION_LAST, OUTPUT_OPTIONS, PURE, PYTHON, WRITES_ARGUMENTS

Arguments = tuple[str | None, ...]


class View(Protocol):
    """What the rules need of the walk: the files known so far, other scripts, and the current folder."""

    files: set[str]
    scripts: dict[str, str]

    def absolute(self, word: str | None) -> str | None: ...


@dataclass
class Effects:
    """`known` is False if the command may write files that are not in `writes`."""

    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    removes: list[str] = field(default_factory=list)
    known: bool = True


def effects(name: str, arguments: Arguments, heredoc: str | None, view: View) -> Effects:
    if name in PYTHON:
        return _python(arguments, heredoc, view)
    if name in DESTINATION_LAST:
        return _copied(name, arguments, view)
    if name in WRITES_ARGUMENTS:
        return _resolved(Effects(writes=_plain(arguments, view), known=None not in arguments), view)
    if name in ("rm", "unlink"):
        return Effects(removes=_below(_plain(arguments, view), view.files))
    if name == "dd":
        return _dd(arguments, view)
    if name == "sed" and any(word and word.startswith(("-i", "--in-place")) for word in arguments):
        existing = _existing(_plain(arguments, view), view)
        return Effects(reads=existing, writes=list(existing), known=None not in arguments)
    if name == "tar":
        return _tar(arguments, view)
    if name in ("gzip", "gunzip"):
        return _gzip(name, arguments, view)
    return _general(name, arguments, view)


def _plain(arguments: Arguments, view: View) -> list[str]:
    """Absolute paths of the arguments that are not options."""
    words = [word for word in arguments if word and not word.startswith("-")]
    return [path for path in map(view.absolute, words) if path and not path.startswith("/dev/")]


def _below(paths: list[str], files: set[str]) -> list[str]:
    """Known files at, or below, the paths."""
    return sorted(
        file for file in files if any(file == path or file.startswith(path + "/") for path in paths)
    )


def _existing(paths: list[str], view: View) -> list[str]:
    return _below(paths, view.files)


def _resolved(found: Effects, view: View) -> Effects:
    found.known = found.known and all(found.writes)
    return found


def _general(name: str, arguments: Arguments, view: View) -> Effects:
    """Existing files among the words are read; what output options name is written."""
    words = [
        word.split("=", 1)[1] if word and word.startswith("--") and "=" in word else word
        for word in arguments
    ]
    written = _option_values(name, arguments, view)
    reads = [path for path in _existing(_plain(tuple(words), view), view) if path not in written]
    return Effects(reads=reads, writes=written, known=name in PURE or bool(written))


def _option_values(name: str, arguments: Arguments, view: View) -> list[str]:
    found = []
    for option in OUTPUT_OPTIONS.get(name, ()):
        for at, word in enumerate(arguments):
            value = _value_after(option, word, arguments[at + 1 : at + 2])
            path = view.absolute(value)
            if path:
                found.append(path)
    return found


def _value_after(option: str, word: str | None, following: Arguments) -> str | None:
    if word is None or not word.startswith(option):
        return None
    if word == option:
        return following[0] if following else None
    return word[len(option) :].lstrip("=")


def _copied(name: str, arguments: Arguments, view: View) -> Effects:
    paths = _plain(arguments, view)
    if None in arguments[:-1] and len(paths) == 1 and arguments[-1] is not None:
        # What is copied cannot be told, but the one word after it says where to.
        return Effects(writes=paths, known=not _is_folder(paths[0], view))
    if None in arguments or len(paths) < 2:
        return Effects(reads=_existing(paths, view), known=False)
    *sources, target = paths
    existing = _existing(sources, view)
    into_folder = len(sources) > 1 or (arguments[-1] or "").endswith("/") or _is_folder(target, view)
    writes = [_landed(file, sources, target, into_folder) for file in existing] or (
        [] if into_folder else [target]
    )
    return Effects(reads=existing, writes=writes, removes=existing if name == "mv" else [])


def _is_folder(path: str, view: View) -> bool:
    return any(file.startswith(path + "/") for file in view.files)


def _landed(file: str, sources: list[str], target: str, into_folder: bool) -> str:
    source = next(source for source in sources if file == source or file.startswith(source + "/"))
    base = source.rsplit("/", 1)[0] if into_folder else source
    return (target + file[len(base) :]).replace("//", "/")


def _dd(arguments: Arguments, view: View) -> Effects:
    values = dict(word.split("=", 1) for word in arguments if word and "=" in word)
    read, written = view.absolute(values.get("if")), view.absolute(values.get("of"))
    return Effects(
        reads=_existing([read] if read else [], view),
        writes=[written] if written and not written.startswith("/dev/") else [],
        known=None not in arguments,
    )


def _tar(arguments: Arguments, view: View) -> Effects:
    """A created archive is written; an unpacked one is read, and what it brings is not known."""
    flags = next((word for word in arguments if word), "").lstrip("-")
    paths = _plain(arguments[1:], view)
    archive = paths[:1] if "f" in flags else []
    if "c" in flags:
        return Effects(reads=_existing(paths[1:], view), writes=archive, known=bool(archive))
    return Effects(reads=_existing(archive, view), known="t" in flags or "O" in flags)


def _gzip(name: str, arguments: Arguments, view: View) -> Effects:
    paths = _existing(_plain(arguments, view), view)
    flags = "".join(word for word in arguments if word and word.startswith("-") and not word.startswith("--"))
    if "c" in flags or not paths:
        return Effects(reads=paths)
    down = name == "gunzip" or "d" in flags
    writes = [path.removesuffix(".gz") if down else path + ".gz" for path in paths]
    return Effects(reads=paths, writes=writes, removes=[] if "k" in flags else paths)


def _python(arguments: Arguments, heredoc: str | None, view: View) -> Effects:
    source = _program(arguments, heredoc, view)
    found = program_paths(source) if source is not None else ProgramPaths(complete=False)
    resolve = view.absolute
    writes = [path for path in map(resolve, found.writes) if path]
    named = [
        *found.reads,
        *found.mentions,
        *(word for word in arguments if word and not word.startswith("-")),
    ]
    candidates = [path for path in map(resolve, named) if path and path not in ("/", resolve("."))]
    reads = [path for path in _existing(candidates, view) if path not in writes and path not in view.scripts]
    return Effects(reads=reads, writes=writes, known=found.complete and bool(writes))


def _program(arguments: Arguments, heredoc: str | None, view: View) -> str | None:
    """The text of the Python program that the words start, if it can be told."""
    if "-c" in arguments:
        at = arguments.index("-c")
        return arguments[at + 1] if at + 1 < len(arguments) else None
    script = next((word for word in arguments if word is None or not word.startswith("-")), "-")
    if script is None:
        return None
    if script == "-":
        return heredoc
    return view.scripts.get(view.absolute(script) or "")
