"""Files that do not belong to a task: named in a warning, or refused where they would give a secret away."""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Iterator

from lineages.gates.base import Finding
from sandboxes.intake import belongs
from sandboxes.task import Task

LEAVINGS = (
    "*.swp",
    "*.swo",
    "*~",
    "#*#",
    "*.pyc",
    ".DS_Store",
    "Thumbs.db",
    "desktop.ini",
    ".coverage",
    "*.orig",
    "*.rej",
)
LEFT_FOLDERS = frozenset(
    {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".idea", ".vscode", ".venv"}
)
HISTORIES = frozenset({".git", ".hg", ".svn"})
SECRETS = (
    ".env",
    ".env.*",
    ".netrc",
    ".pypirc",
    ".npmrc",
    ".git-credentials",
    "id_rsa",
    "id_ed25519",
    "id_ecdsa",
    "credentials.json",
    "service-account*.json",
)
EXAMPLES = ("*.example", "*.sample", "*.template", "*.dist")
PRIVATE_KEY = b"PRIVATE KEY-----"
MOST = 20
"""As many are named one by one; a folder of thousands is one fault."""


def foreign_files(task: Task) -> Iterator[Finding]:
    """A finding for each file that a task has no use for, at most `MOST` of a kind; folders once."""
    outside = [path for path in task.files if not belongs(path)]
    yield from _named(outside, "is no part of a task: take it out, or move it below environment/ or tests/.")
    leavings = sorted({_left(path) for path in task.files} - {""})
    yield from _named(leavings, "is what an editor or a tool left behind: take it out.")
    histories = sorted({_history(path) for path in task.files} - {""})
    yield from _named(
        histories, "is a version history, which may hold the solution or the tests: look, or take it out."
    )
    for path in task.files:
        yield from _secret(task, path)


def _named(paths: list[str], what: str) -> Iterator[Finding]:
    for path in paths[:MOST]:
        yield Finding(f"This {what}", path, warning=True)
    if len(paths) > MOST:
        yield Finding(f"{len(paths) - MOST} more like {paths[0]}: each {what}", warning=True)


def _left(path: str) -> str:
    parts = path.split("/")
    folder = next((n for n, part in enumerate(parts[:-1], start=1) if part in LEFT_FOLDERS), 0)
    if folder:
        return "/".join(parts[:folder])
    return path if any(fnmatch.fnmatchcase(parts[-1], pattern) for pattern in LEAVINGS) else ""


def _history(path: str) -> str:
    parts = path.split("/")
    at = next((n for n, part in enumerate(parts, start=1) if part in HISTORIES), 0)
    return "/".join(parts[:at])


def _secret(task: Task, path: str) -> Iterator[Finding]:
    """In the environment it may be what the task is about; anywhere else it is somebody's."""
    name = posixpath.basename(path)
    named = any(fnmatch.fnmatchcase(name, pattern) for pattern in SECRETS)
    named = named and not any(fnmatch.fnmatchcase(name, pattern) for pattern in EXAMPLES)
    key = PRIVATE_KEY in task.files[path].data[:200]
    if not named and not key:
        return
    what = "holds a private key" if key else "is where passwords and tokens are kept"
    if path.startswith("environment/"):
        yield Finding(f"This {what}: make sure that it is made up for the task.", path, warning=True)
    elif key or task.files[path].data.strip():
        warning = key and not named and path.startswith("tests/")
        yield Finding(
            f"This {what} and would be handed out with the task: take it out.", path, warning=warning
        )
