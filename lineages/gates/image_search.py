"""Looking for a task's secrets in a sandbox that was just opened from its image. No gate.

The image's own `find`, `grep`, `sha256sum` and `git` look, BusyBox's among them; a few commands, bounded in
time and in what they print. Nothing of the task runs before, so these are still what the image brings; an
image that brings lying ones hides what it wants, which reading its Dockerfile shows.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lineages.gates.image_scripts import GIT, LINES, MOST_NAMES, NAMES, ROOTS, SUMS
from lineages.gates.secrets import Secret
from sandboxes.base import ExecResult, Kind, Sandbox
from sandboxes.errors import SandboxDied, SandboxError, TimedOut
from sandboxes.files import TaskFile

SEARCH_SECONDS = 120.0
MOST_REPOSITORIES = 8
LARGEST_READ = 16 * 1024 * 1024
LARGEST_OBJECT = 4 * 1024 * 1024
OBJECTS_BYTES = 64 * 1024 * 1024

HOME = "/envevo-search"
NEVER = ("/proc", "/sys", "/dev", HOME)
MACHINE = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""System folders. In a backend that builds no Dockerfile they are the machine's own."""
OWN_AMONG_THEM = ("/usr/local", "/usr/src")
"""Where images put what is theirs."""
NO_TOOLS = 127
OWN_ENVIRONMENT = {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin",
    **dict.fromkeys(("LD_PRELOAD", "LD_LIBRARY_PATH", "GREP_OPTIONS", "GIT_DIR"), ""),
}
"""Set so that nothing which the Dockerfile's ENV lines set stands before the image's own tools."""
HISTORIES = (".bash_history", ".ash_history", ".sh_history", ".zsh_history", ".python_history")


@dataclass(frozen=True, slots=True)
class Leak:
    """A place of the image, what of which file stands there, and the lines of that file that gave it away."""

    place: str
    path: str
    numbers: tuple[int, ...] = ()


@dataclass
class Search:
    """One search through a sandbox; `unsure` are sentences on what could not be looked at.

    Whole files are looked for everywhere; single lines not in system folders, but for what the Dockerfile
    `placed` there, unless the search is `thorough`. `shared`: these folders are the machine's, not the
    image's, and not looked into at all.
    """

    sandbox: Sandbox
    secrets: Sequence[Secret]
    placed: Sequence[str] = ()
    shared: bool = False
    thorough: bool = False
    unsure: list[str] = field(default_factory=list)
    commands: list[ExecResult] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)

    def run(self, modules: Mapping[str, frozenset[int]]) -> Iterator[Leak]:
        """`modules` are names of Python modules of the tests, with their sizes. Raises `SandboxError`.

        Where the image has no tools or they take too long, `unsure` says so, and what can be read is read.
        """
        self.sandbox.write_files(self._patterns(), HOME)
        repositories = self._named(modules)
        if repositories is None:
            self.unsure.append("The image has no sh, find or grep")
            return
        yield from self._sums()
        yield from self._lines()
        if len(repositories) > MOST_REPOSITORIES:
            self.unsure.append(f"{len(repositories) - MOST_REPOSITORIES} git folders were not looked into")
        for repository in repositories[:MOST_REPOSITORIES]:
            yield from self._history(repository)

    def read(self, folders: Sequence[str]) -> Iterator[Leak]:
        """The same by reading the files below some folders, for an image without tools."""
        try:
            files = self.sandbox.read_files(folders)
        except SandboxDied:
            raise
        except SandboxError as problem:
            self.unsure.append(f"{', '.join(folders)} could not be read ({problem})")
            return
        for place, file in files.items():
            yield from self._equal(place, file.data)
            yield from told(place, file.data, self.secrets)

    def _patterns(self) -> Mapping[str, TaskFile]:
        lines = {line for secret in self.secrets for _, line in secret.lines}
        return {
            "sums": TaskFile.text(_rows(secret.digest for secret in self.secrets)),
            "blobs": TaskFile.text(_rows(secret.blob for secret in self.secrets)),
            "lines": TaskFile(b"".join(line + b"\n" for line in sorted(lines))),
        }

    def _script(self, script: str, *, system: bool) -> list[str] | None:
        """The lines that a search prints, in system folders too or not; None where tools are missing."""
        skip, besides = list(NEVER), list[str]()
        if not system or self.shared:
            skip += MACHINE
            besides += [
                place for place in self.placed if place.startswith(tuple(f"{one}/" for one in MACHINE))
            ]
            besides += [] if self.shared else OWN_AMONG_THEM
        return self._told(["/bin/sh", "-c", ROOTS + script, "sh", *skip, "--", *besides])

    def _told(self, argv: Sequence[str]) -> list[str] | None:
        env = {"LC_ALL": "C", "HOME": HOME, **OWN_ENVIRONMENT}
        try:
            done = self.sandbox.exec(argv, timeout=SEARCH_SECONDS, cwd="/", env=env, user="0")
        except TimedOut as problem:
            self.unsure.append(f"A search took longer than {problem.seconds:g} seconds")
            return []
        self.commands.append(done)
        if done.exit_code in (126, NO_TOOLS):
            return None
        return [row for row in done.stdout.decode("utf-8", errors="surrogateescape").split("\n") if row]

    def _named(self, modules: Mapping[str, frozenset[int]]) -> list[str] | None:
        """The git folders of the image; None where it has no tools. Keeps what else has a telling name."""
        names = [*HISTORIES, *(f"{_literal(module)}.*.pyc" for module in modules)]
        patterns = " -o ".join(f"-name {_quoted(name)}" for name in names)
        rows = self._script(NAMES.replace("NAMED", patterns), system=True)
        if rows is None:
            return None
        if "odd" in rows:
            self.unsure.append("Files with a line feed in their path were not searched")
        kinds = {"git": list[str](), "name": self.names, "folder": self.folders}
        for row in rows:
            kind, _, place = row.partition(" ")
            if place.startswith("/"):
                kinds.get(kind, []).append(place)
        compiled = [place for place in self.names if place.endswith(".pyc")]
        foreign = {place for place in compiled if not self._is_compiled(place, modules)}
        self.names = [place for place in self.names if place not in foreign]
        return kinds["git"]

    def _is_compiled(self, place: str, modules: Mapping[str, frozenset[int]]) -> bool:
        """Whether it is made of a source of the size that the module has; many have the same name.

        One that keeps a hash of its source in its place is taken for one, but for those of the system.
        """
        found = self.sandbox.look([place]).get(place)
        if found is None or found.kind is not Kind.FILE or found.size > LARGEST_READ:
            return False
        head = next((file.data[:16] for file in self.sandbox.read_files([place]).values()), b"")
        if len(head) < 16:
            return False
        by_hash = int.from_bytes(head[4:8], "little") & 1
        if by_hash:
            return not place.startswith(tuple(f"{folder}/" for folder in MACHINE))
        module = place.rsplit("/", 1)[-1].split(".", 1)[0]
        return int.from_bytes(head[12:16], "little") in modules.get(module, ())

    def _sums(self) -> Iterator[Leak]:
        sizes = sorted({secret.size for secret in self.secrets})
        if not sizes:
            return
        sized = " -o ".join(f"-size {size}c" for size in sizes)
        rows = self._script(SUMS.replace("SIZED", sized), system=True)
        if rows is None:
            self.unsure.append("The image has no sha256sum")
        for row in rows or ():
            digest, _, place = row.partition("  ")
            if digest.startswith("\\"):  # its mark for a name in which a backslash stands twice
                digest, place = digest[1:], place.replace("\\\\", "\\")
            yield from (Leak(place, one.path) for one in self.secrets if one.digest == digest)

    def _lines(self) -> Iterator[Leak]:
        if not any(secret.lines for secret in self.secrets):
            return
        rows = self._script(LINES, system=self.thorough) or []
        places = [row for row in rows if row.startswith("/") and "\0" not in row]
        if len(places) == MOST_NAMES:
            self.unsure.append(f"Only the first {MOST_NAMES} files with a line of the tests were looked at")
        readable = []
        for place, entry in self.sandbox.look(places).items() if places else ():
            if entry.kind is Kind.FILE and entry.size <= LARGEST_READ:
                readable.append(place)
            else:
                self.unsure.append(
                    f"{place} holds lines of the solution or the tests, but is too large to count"
                )
        for place in readable:
            for file in self.sandbox.read_files([place]).values():
                yield from told(place, file.data, self.secrets)

    def _history(self, repository: str) -> Iterator[Leak]:
        where = f"the git history in {repository}"
        hidden = [secret for secret in self.secrets if not secret.held]
        rows = self._told(["/bin/sh", "-c", GIT, "sh", repository])
        if rows is None:
            yield from self._loose(repository, where, hidden)
            return
        if "broken" in rows:
            self.unsure.append(f"git could not read all of {repository}")
        blobs = {row.split()[1] for row in rows if row.startswith("blob ")}
        lines = {row.removeprefix("line ").encode() for row in rows if row.startswith("line ")}
        for secret in hidden:
            if secret.blob in blobs:
                yield Leak(where, secret.path)
            elif numbers := secret.told_by(lines):
                yield Leak(where, secret.path, numbers)

    def _loose(self, repository: str, where: str, hidden: Sequence[Secret]) -> Iterator[Leak]:
        """Without git: objects that lie by themselves are read here; packs are not."""
        packs = self._told(["/bin/sh", "-c", 'find "$1/objects" -name "*.pack"', "sh", repository])
        if packs:
            self.unsure.append(f"{packs[0]} was not read, since the image has no git")
        try:
            files = self.sandbox.read_files([f"{repository}/objects"], exclude=["*.pack"])
        except SandboxDied:
            raise
        except SandboxError as problem:
            self.unsure.append(f"{repository}/objects could not be read ({problem})")
            return
        for data in self._unpacked(repository, files):
            digest = hashlib.sha256(data).hexdigest()
            for secret in hidden:
                if secret.digest == digest:
                    yield Leak(where, secret.path)
                elif numbers := secret.told_in(data):
                    yield Leak(where, secret.path, numbers)

    def _unpacked(self, repository: str, files: Mapping[str, TaskFile]) -> Iterator[bytes]:
        left = OBJECTS_BYTES
        for path, file in files.items():
            if left <= 0:
                self.unsure.append(f"{repository}/objects is larger than {OBJECTS_BYTES >> 20} MiB")
                return
            try:
                data = zlib.decompressobj().decompress(file.data, min(left, LARGEST_OBJECT))
            except zlib.error:
                continue  # an index, or no object at all
            left -= len(data)
            if len(data) == LARGEST_OBJECT:
                self.unsure.append(f"{path} was not read to its end")
            yield data.partition(b"\0")[2]

    def _equal(self, place: str, data: bytes) -> Iterator[Leak]:
        digest = hashlib.sha256(data).hexdigest()
        yield from (Leak(place, secret.path) for secret in self.secrets if secret.digest == digest)


def told(place: str, data: bytes, secrets: Iterable[Secret]) -> Iterator[Leak]:
    """The secrets that enough lines of these bytes give away."""
    for secret in secrets:
        if numbers := secret.told_in(data):
            yield Leak(place, secret.path, numbers)


def _rows(words: Iterable[str]) -> str:
    return "".join(f"{word}\n" for word in sorted(set(words)))


def _literal(name: str) -> str:
    """The name as a pattern that matches nothing else."""
    return re.sub(r"([\\*?\[])", r"\\\1", name)


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "'\\''") + "'"
