"""Another order for an evolved task's units: their files get other numbers, where the tests run."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping

from sandboxes.base import Sandbox
from sandboxes.handover import run_plumbing
from sandboxes.task import TEST, Task

UNITS = "tests/units/"

_NUMBERED = re.compile(r"[0-9]+-(.+)")
_TAKES_ALL = re.compile(r"units[\"']?/[\"']?(?:\*|\[0-9\])")
_SAFE = re.compile(r"[\w.+-]+")

# Arguments: old name, new name, and so on. Says "shuffled" where they were there, and nothing else was.
RENAME = """
cd /tests/units 2>/dev/null || exit 0
all() { while [ $# -gt 0 ]; do [ -e "$1" ] || return 1; shift 2; done; }
aside() { while [ $# -gt 0 ]; do mv -- "$1" ".$2" || return 1; shift 2; done; }
back() { while [ $# -gt 0 ]; do mv -- ".$2" "$2" || return 1; shift 2; done; }
[ "$(ls | wc -l)" -eq "$(($# / 2))" ] && all "$@" || exit 0
aside "$@" && back "$@" && echo shuffled"""


def unit_names(task: Task) -> tuple[str, ...]:
    """What stands in `tests/units/`, in the order of a shell's `*`; empty where there is no such folder."""
    found = {path.removeprefix(UNITS).split("/")[0] for path in task.files if path.startswith(UNITS)}
    return tuple(sorted(name for name in found if not name.startswith(".")))


def renames(task: Task, order: int) -> dict[str, str]:
    """For each unit of the task its name in another order, which is never the one that they have.

    Empty where that cannot be: less than two units, one without a number, a runner that does not take
    whatever is in the folder, or a file of the tests that names a unit by its path.
    """
    units = unit_names(task)
    plain = [match for match in map(_NUMBERED.fullmatch, units) if match and _SAFE.fullmatch(match[0])]
    if len(units) < 2 or len(plain) < len(units) or not _takes_all(task) or _named_by_path(task, units):
        return {}
    mixed = list(plain)
    random.Random(order).shuffle(mixed)
    if mixed == plain:
        mixed = [*plain[1:], plain[0]]
    width = max(2, len(str(len(mixed) - 1)))
    return {match[0]: f"{place:0{width}}-{match[1]}" for place, match in enumerate(mixed)}


def _takes_all(task: Task) -> bool:
    return TEST in task and bool(_TAKES_ALL.search(task.files[TEST].data.decode("utf-8", "replace")))


def _named_by_path(task: Task, units: tuple[str, ...]) -> bool:
    needles = [f"units/{name}".encode() for name in units]
    return any(
        needle in file.data
        for path, file in task.files.items()
        if path.startswith("tests/")
        for needle in needles
    )


def rename(sandbox: Sandbox, names: Mapping[str, str]) -> bool:
    """Give the units below /tests their other names. False, and nothing changed, where others are there."""
    if not names:
        return False
    arguments = [each for pair in names.items() for each in pair]
    return run_plumbing(sandbox, RENAME, arguments).strip() == b"shuffled"
