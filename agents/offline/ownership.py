"""Whose files a solver's image has, and how deliveries get there without taking a folder from its owner.

A `COPY` into a tree makes every folder it goes through root's again. Where the image ends as another user,
deliveries are therefore copied leaf by leaf and given to that user.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping

from sandboxes.dockerfile import Copies, copies, expand, runs, workdir
from sandboxes.dockerfile.reading import last_stage
from sandboxes.files import TaskFile

COPY_OVERLAY = "COPY overlay/ /"
ROOT = ("", "root", "0")
GIVES = ("chown", "chmod", "install")


def user_of(dockerfile: str) -> str:
    """The user (or `user:group`) that the image ends as by its own text; "" for root, or none set."""
    named = [expand(step.value, known) for step, known in last_stage(dockerfile).steps if step.name == "USER"]
    last = named[-1].strip() if named else ""
    return "" if last.split(":")[0] in ROOT else last


def copy_of(folder: str, user: str) -> str:
    """The instruction that brings the overlay's part at the container path `folder`; all of it for root."""
    if not user:
        return COPY_OVERLAY
    words = [f"overlay{folder.rstrip('/')}/", f"{folder.rstrip('/')}/"]
    listed = json.dumps(words) if " " in folder else " ".join(words)
    return f"COPY --chown={user} {listed}"


def holds_anything(landed: Copies, folder: str) -> bool:
    return any(path.startswith(folder.rstrip("/") + "/") for path in landed.files)


def may_restore(
    dockerfile: str, context: Mapping[str, TaskFile], path: str, written: frozenset[str], desk: str
) -> bool:
    """Whether the image's user may write a file anew at the container path `path`, as far as text tells.

    `written` are the folders that the reference solution writes in. A folder that only held this file goes
    with it and comes back as the user's own; any other has to be given to the user by a line of the image.
    """
    user, folder = user_of(dockerfile), posixpath.dirname(path)
    if not user or folder in written or f"{folder}/".startswith((f"{desk}/", f"/home/{user.split(':')[0]}/")):
        return True
    rest = {
        name: file for name, file in context.items() if name != copies(dockerfile, context).files.get(path)
    }
    return not holds_anything(copies(dockerfile, rest), folder) or _given(dockerfile, folder)


def _given(dockerfile: str, folder: str) -> bool:
    """Whether a line hands the folder, or one above it, to somebody: `RUN chown`, `COPY --chown`."""
    lines = [part.split() for line in runs(dockerfile) for part in re.split(r"[;&|\n]+", line)]
    lines += [
        ["chown", "-R", *(step.json or expand(step.value, known).split())[-1:]]
        for step, known in last_stage(dockerfile).steps
        if step.name in ("COPY", "ADD") and (step.flag("chown") or "").split(":")[0] not in ROOT
    ]
    here = workdir(dockerfile)
    return any(_reaches(line, folder, here) for line in lines if any(word in GIVES for word in line))


def _reaches(line: list[str], folder: str, here: str) -> bool:
    """Whether a command's words name the folder, or, where it goes down the tree, one above it."""
    names = {posixpath.normpath(posixpath.join(here, word)) for word in line if not word.startswith("-")}
    deep = any(word.startswith("-") and "R" in word for word in line)
    return folder in names or (deep and any(folder.startswith(f"{name.rstrip('/')}/") for name in names))
