"""A Harbor task folder as an immutable value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from sandboxes.config import TaskConfig, parse_config
from sandboxes.digests import content_digest, harbor_digest
from sandboxes.errors import TaskRefused
from sandboxes.files import TaskFile, check_files

INSTRUCTION = "instruction.md"
CONFIG = "task.toml"
DOCKERFILE = "environment/Dockerfile"
SOLVE = "solution/solve.sh"
TEST = "tests/test.sh"
VERIFIER_DOCKERFILE = "tests/Dockerfile"


@dataclass(frozen=True)
class Task:
    """A task folder: every file with its mode, and `task.toml` parsed.

    `files` maps POSIX paths relative to the task folder to their content, in sorted order. A `Task` is
    only ever made by `Task.of`, so holding one means that `task.toml` parsed and that every path is safe.
    """

    files: Mapping[str, TaskFile]
    config: TaskConfig

    @classmethod
    def of(cls, files: Mapping[str, TaskFile]) -> Task:
        """Raises `TaskRefused` for an unsafe path or link, and when `task.toml` is missing or wrong."""
        check_files(files)
        if CONFIG not in files:
            raise TaskRefused(CONFIG, "there is no task.toml, so this folder is not a Harbor task")
        config = parse_config(files[CONFIG].data, path=CONFIG)
        return cls(MappingProxyType(dict(sorted(files.items()))), config)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __contains__(self, path: str) -> bool:
        return path in self.files

    @cached_property
    def digest(self) -> str:
        """Hex SHA-256 of content, executable bits and links: what a verdict is bound to."""
        return content_digest(self.files)

    @cached_property
    def source_digest(self) -> str:
        """Hex SHA-256 as Harbor's packager computes it (`publisher/packager.py` of harbor 0.26)."""
        return harbor_digest(self.files)

    @property
    def separate(self) -> bool:
        """Whether the tests run in a container of their own (`verifier.environment_mode`)."""
        return self.config.verifier.separate

    def text(self, path: str) -> str:
        """The file as text; bytes that are not UTF-8 become U+FFFD. Raises `KeyError` if absent."""
        return self.files[path].data.decode("utf-8", errors="replace")

    def under(self, folder: str) -> Mapping[str, TaskFile]:
        """The files below `folder`, keyed relative to it."""
        prefix = folder.rstrip("/") + "/"
        return {path[len(prefix) :]: file for path, file in self.files.items() if path.startswith(prefix)}

    def replace(self, changes: Mapping[str, TaskFile | None]) -> Task:
        """A new task with each path of `changes` set, or removed where the value is None."""
        merged: dict[str, TaskFile | None] = {**self.files, **changes}
        return Task.of({path: file for path, file in merged.items() if file is not None})

    def changed_paths(self, other: Task) -> Iterator[str]:
        """Paths whose content, mode or presence differs between the two tasks, sorted."""
        for path in sorted({*self.files, *other.files}):
            if self.files.get(path) != other.files.get(path):
                yield path
