"""Prompts as files: `agents/prompts/NAME.md`, what the system says above a line `---`, what we say below it.

Placeholders are `string.Template`'s (`$name`; a dollar sign itself is `$$`). What is put in is never looked
at again, so that a placeholder in a task's text stays the text that it is.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

FOLDER = Path(__file__).parent / "prompts"
SEPARATOR = "---"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


class PromptError(Exception):
    """A prompt that is not there, or not written as it is used: our mistake, never a model's."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt file. `digest` is the hex SHA-256 of its bytes: what a verdict made with it depends on."""

    name: str
    digest: str
    system: str
    user: str

    @property
    def named(self) -> Mapping[str, str]:
        """As `agents.line.Line.open` takes it."""
        return {"name": self.name, "digest": self.digest}

    def fill(self, **values: str) -> tuple[str, str]:
        """The system's text and ours. Raises `PromptError` unless `values` are what the file asks for."""
        system, user = Template(self.system), Template(self.user)
        wanted = {*system.get_identifiers(), *user.get_identifiers()}
        if missing := wanted - values.keys():
            raise PromptError(f"prompts/{self.name}.md asks for {_listed(missing)}, which nobody gave it")
        if unused := values.keys() - wanted:
            raise PromptError(f"prompts/{self.name}.md has no place for {_listed(unused)}")
        return system.substitute(values), user.substitute(values)


def read_prompt(name: str, text: str) -> Prompt:
    """The prompt that `text` is. Raises `PromptError` where a part is missing or a `$` stands alone."""
    system, found, user = f"\n{text}".partition(f"\n{SEPARATOR}\n")
    if not found or not system.strip() or not user.strip():
        raise PromptError(
            f"prompts/{name}.md has to have a text above and below a line that is {SEPARATOR} alone"
        )
    for part in (system, user):
        if not Template(part).is_valid():
            raise PromptError(f"prompts/{name}.md has a $ that begins no placeholder; write $$ for the sign")
    return Prompt(str(name), hashlib.sha256(text.encode()).hexdigest(), system.strip(), user.strip())


@functools.cache
def prompt(name: str) -> Prompt:
    """The prompt of that name, as this process first read it. Raises `PromptError`."""
    path = FOLDER / f"{name}.md"
    if not _NAME.fullmatch(name) or not path.is_file():
        raise PromptError(f"there is no prompt called {name!r}: prompts/{name}.md is missing")
    return read_prompt(name, path.read_text(encoding="utf-8"))


def _listed(names: set[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names))
