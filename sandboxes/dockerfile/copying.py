"""Which files of the build context a Dockerfile puts where."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pathspec import PathSpec

from sandboxes.dockerfile.reading import Instruction, command, expand, join, last_stage, words_of
from sandboxes.files import TaskFile, follow, parents


@dataclass(frozen=True)
class Copies:
    """What the last stage's COPY and ADD bring from the build context.

    `files` maps absolute container paths to paths in the context; `modes` holds the `--chmod` of those that
    have one. `notes` names each thing that could not be read from the text alone and was left out.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    modes: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def copies(text: str, context: Mapping[str, TaskFile]) -> Copies:
    """Where the last stage's COPY and ADD put which files of the context; later ones win.

    `context` is keyed relative to the Dockerfile's folder; its `.dockerignore` is honoured. Copies from
    other stages and images, URLs, here-documents and archives that ADD would unpack are left out and noted,
    and so is a source that names nothing.
    """
    stage = last_stage(text)
    copier = _Copier(_without_ignored(context), context)
    for step, known in stage.steps:
        copier.take(step, known)
    return Copies(copier.files, copier.modes, tuple(copier.notes))


def _without_ignored(context: Mapping[str, TaskFile]) -> Mapping[str, TaskFile]:
    rules = next((context[n] for n in ("Dockerfile.dockerignore", ".dockerignore") if n in context), None)
    if rules is None:
        return context
    lines = rules.data.decode("utf-8", errors="replace").splitlines()
    ignored = PathSpec.from_lines("gitignore", filter(None, map(_as_gitignore, lines)))
    return {path: file for path, file in context.items() if not ignored.match_file(path)}


def _as_gitignore(line: str) -> str:
    """A line of `.dockerignore`, whose patterns start at the root, as one of `.gitignore`."""
    pattern = line.strip()
    if not pattern or line.startswith("#"):
        return ""
    mark = "!" if pattern.startswith("!") else ""
    clean = posixpath.normpath(pattern.removeprefix("!").strip()).lstrip("/")
    return "" if clean == "." else f"{mark}/{clean}"


# Folders that every base image has; a file copied to one of them goes into it, not over it.
_STANDARD = (
    "/ /bin /boot /dev /etc /home /lib /media /mnt /opt /proc /root /run /sbin /srv /sys /tmp /usr /usr/bin"
    " /usr/lib /usr/local /usr/local/bin /usr/local/lib /usr/sbin /usr/share /usr/src /var /var/lib /var/log"
    " /var/tmp"
)
_MKDIR = re.compile(r"\bmkdir\s+((?:-\S+\s+)*)([^&|;\n]+)")
_ARCHIVES = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")


class _Copier:
    """Follows one stage from its first instruction to its last."""

    def __init__(self, context: Mapping[str, TaskFile], whole: Mapping[str, TaskFile]) -> None:
        self.files: dict[str, str] = {}
        self.modes: dict[str, int] = {}
        self.notes: list[str] = []
        self._context = context
        self._whole = whole
        self._workdir = "/"
        self._folders = set(_STANDARD.split())

    def take(self, step: Instruction, known: Mapping[str, str]) -> None:
        if step.name == "WORKDIR":
            self._workdir = join(self._workdir, expand(step.value, known))
            self._add_folder(self._workdir)
        elif step.name == "RUN":
            for _, names in _MKDIR.findall(command(step)):
                for name in names.split():
                    self._add_folder(join(self._workdir, expand(name, known)))
        elif step.name in ("COPY", "ADD"):
            self._copy(step, known)

    def _add_folder(self, folder: str) -> None:
        while folder not in self._folders:
            self._folders.add(folder)
            folder = posixpath.dirname(folder)

    def _note(self, step: Instruction, why: str) -> None:
        self.notes.append(f"line {step.line}: {step.name} {step.value} left out: {why}")

    def _copy(self, step: Instruction, known: Mapping[str, str]) -> None:
        words = [expand(word, known) for word in step.json or words_of(step.value)]
        why_not = _not_plain(step, words)
        if why_not:
            self._note(step, why_not)
            return
        *sources, destination = words
        found = [(source, self._matches(source)) for source in sources]
        many = sum(len(paths) for _, paths in found) > 1 or len(sources) > 1
        for source, paths in found:
            if not paths:
                self._note(step, f"{source} names nothing in the build context")
            for path in paths:
                self._place(step, path, destination, many=many)

    def _matches(self, source: str) -> list[str]:
        """The files and folders of the context that a source names; "" is the context itself."""
        wanted = posixpath.normpath("/" + source).lstrip("/")
        if wanted in ("", "."):
            return [""]
        pattern = _glob(wanted)
        return sorted({path for path in self._places() if pattern.fullmatch(path)})

    def _places(self) -> Iterator[str]:
        for path in self._context:
            yield path
            yield from parents(path)

    def _place(self, step: Instruction, path: str, destination: str, *, many: bool) -> None:
        target = join(self._workdir, destination)
        # A link that is named itself is followed; links inside a folder are copied as links.
        origin = (follow(self._whole, path) or path) if path in self._context else path
        if origin in self._whole:
            into = many or destination.endswith(("/", "/.")) or destination == "." or target in self._folders
            self._put(step, origin, posixpath.join(target, posixpath.basename(path)) if into else target)
            return
        prefix = f"{origin}/" if origin else ""
        self._add_folder(target)
        for inner in self._context:
            if inner.startswith(prefix):
                self._put(step, inner, posixpath.join(target, inner[len(prefix) :]))

    def _put(self, step: Instruction, origin: str, target: str) -> None:
        if step.name == "ADD" and _is_archive(self._whole[origin].data):
            self.notes.append(f"line {step.line}: {origin} left out: ADD would unpack this archive")
            return
        self.files[target] = origin
        self.modes.pop(target, None)
        mode = step.flag("chmod")
        if mode and re.fullmatch(r"0?[0-7]{3,4}", mode):
            self.modes[target] = int(mode, 8)
        self._add_folder(posixpath.dirname(target))


def _not_plain(step: Instruction, words: list[str]) -> str:
    """Why a COPY or ADD is not one of plain local files, or ""."""
    if step.flag("from") is not None:
        return "it copies from another stage or image"
    if step.flag("parents") is not None or step.flag("exclude") is not None:
        return "--parents and --exclude are not read"
    if step.heredocs:
        return "it writes a here-document"
    if len(words) < 2:
        return "it has no destination"
    if step.name == "ADD" and any(re.match(r"(?:https?|git|ssh)://|git@", word) for word in words[:-1]):
        return "it fetches a URL"
    return ""


def _is_archive(data: bytes) -> bool:
    return data.startswith(_ARCHIVES) or data[257:262] == b"ustar"


def _glob(pattern: str) -> re.Pattern[str]:
    """Go's `filepath.Match`: `*` and `?` stop at a slash, `[...]` is a class, a backslash quotes."""
    pieces = re.findall(r"\\.|\[[^\]]+\]|.", pattern)
    return re.compile("".join(map(_glob_piece, pieces)), re.DOTALL)


def _glob_piece(piece: str) -> str:
    if piece in ("*", "?"):
        return "[^/]" + piece.replace("?", "")
    if len(piece) > 2 and piece.startswith("["):
        return "[" + piece[1:-1].replace("\\", "\\\\").replace("[", r"\[") + "]"
    return re.escape(piece[1:] if piece.startswith("\\") and len(piece) == 2 else piece)
