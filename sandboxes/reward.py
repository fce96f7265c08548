"""Read the reward that a verifier left, without trusting anything about the file.

Exactly one of `reward.txt` (one finite number) and `reward.json` (a flat object of finite numbers) must
be there. Harbor lets the second win over the first; a solver that could write one of them would then
decide, so both together are a verifier error here.
"""

from __future__ import annotations

import errno
import json
import math
import os
import posixpath
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NoReturn

from sandboxes.base import Entry, Kind, Sandbox
from sandboxes.text import clean

REWARD_TXT = "reward.txt"
REWARD_JSON = "reward.json"
MAX_BYTES = 64 * 1024
NEITHER = f"There is neither a {REWARD_TXT} nor a {REWARD_JSON}."
BOTH = f"The verifier left both {REWARD_TXT} and {REWARD_JSON}; it must leave one."
TOO_LARGE = f"{{}} is larger than {MAX_BYTES // 1024} KiB."

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NO_NUMBER = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)


class RewardOutcome(StrEnum):
    """What was found. Only `OK` comes with a value; everything else is the verifier's error."""

    OK = "ok"
    MISSING = "missing"
    EMPTY = "empty"
    MALFORMED = "malformed"
    NOT_FINITE = "not_finite"
    AMBIGUOUS = "ambiguous"
    TOO_LARGE = "too_large"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True)
class Reward:
    """A reward that was read, or why there is none.

    `flagged` says that a number is below 0 or above 1: legal in some sets, and kept as it is. `parts`
    holds every key of a `reward.json`; `value` is its "reward", else its only number, else its smallest.
    """

    value: float | None
    outcome: RewardOutcome
    reason: str
    flagged: bool = False
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return self.outcome is RewardOutcome.OK


class _Refused(Exception):
    def __init__(self, outcome: RewardOutcome, reason: str) -> None:
        super().__init__(reason)
        self.reward = Reward(None, outcome, reason)


def read_reward(folder: Path) -> Reward:
    """The reward in a folder of the host, e.g. a trial's of Harbor. Never raises for what the folder holds.

    Follows no link, opens nothing but regular files and reads at most 64 KiB of each.
    """
    try:
        found = _read_both(folder)
        if not found:
            raise _Refused(RewardOutcome.MISSING, NEITHER)
        if len(found) > 1:
            raise _Refused(RewardOutcome.AMBIGUOUS, BOTH)
        ((name, data),) = found.items()
        return reward_from(name, data)
    except _Refused as refused:
        return refused.reward


def _read_both(folder: Path) -> dict[str, bytes]:
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        reason = f"The verifier's folder cannot be opened safely: {error}."
        raise _Refused(RewardOutcome.UNSAFE, reason) from None
    try:
        present = [name for name in (REWARD_TXT, REWARD_JSON) if _exists(handle, name)]
        if len(present) > 1:  # also where one of them is a link: which one was meant is not ours to guess
            return dict.fromkeys(present, b"")
        return {name: _read(handle, name) for name in present}
    finally:
        os.close(handle)


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _Refused(RewardOutcome.UNSAFE, f"{name} cannot be looked at: {error.strerror}.") from None
    return True


def _read(folder: int, name: str) -> bytes:
    # Not blocking, or a FIFO would hold us until somebody writes.
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        what = "is a link" if error.errno == errno.ELOOP else f"cannot be opened: {error.strerror}"
        raise _Refused(RewardOutcome.UNSAFE, f"{name} {what}.") from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise _Refused(RewardOutcome.UNSAFE, f"{name} is not a regular file.")
        with open(handle, "rb", closefd=False) as stream:
            return stream.read(MAX_BYTES + 1)
    finally:
        os.close(handle)


def reward_in(sandbox: Sandbox, folder: str) -> Reward:
    """The reward in an absolute folder of a stopped sandbox. Never raises for what the folder holds.

    Only the two files themselves count, and only in a real folder: nothing is read through a link, nor
    from what is no regular file, nor from a file above 64 KiB.
    """
    parents = [folder[:at] for at in range(1, len(folder) + 1) if folder[at : at + 1] in ("", "/")]
    paths = {name: posixpath.join(folder, name) for name in (REWARD_TXT, REWARD_JSON)}
    seen = sandbox.look([*parents, *paths.values()])
    try:
        _refuse_unreal(parents, seen)
        name = _readable({name: seen[path] for name, path in paths.items() if path in seen})
        file = sandbox.read_files([paths[name]]).get(paths[name])
        if file is None:
            raise _Refused(RewardOutcome.UNSAFE, f"{name} cannot be read.")
        return reward_from(name, file.data)
    except _Refused as refused:
        return refused.reward


def _refuse_unreal(folders: Sequence[str], seen: Mapping[str, Entry]) -> None:
    for folder in folders:
        if folder in seen and seen[folder].kind is not Kind.FOLDER:
            raise _Refused(RewardOutcome.UNSAFE, f"{folder} is {seen[folder].kind}, not a folder.")


def _readable(found: Mapping[str, Entry]) -> str:
    """The name of the one file that may be read. Raises `_Refused` where there is none."""
    if not found:
        raise _Refused(RewardOutcome.MISSING, NEITHER)
    if len(found) > 1:  # whatever they are: which one was meant is not ours to guess
        raise _Refused(RewardOutcome.AMBIGUOUS, BOTH)
    ((name, entry),) = found.items()
    if entry.kind is not Kind.FILE:
        raise _Refused(RewardOutcome.UNSAFE, f"{name} is {entry.kind}, not a regular file.")
    if entry.size > MAX_BYTES:
        raise _Refused(RewardOutcome.TOO_LARGE, TOO_LARGE.format(name))
    return name


def reward_from(name: str, data: bytes) -> Reward:
    """The reward in the content of the file of that name."""
    try:
        return _parse(name, data)
    except _Refused as refused:
        return refused.reward


def _parse(name: str, data: bytes) -> Reward:
    if len(data) > MAX_BYTES:
        raise _Refused(RewardOutcome.TOO_LARGE, TOO_LARGE.format(name))
    try:
        text = data.decode("utf-8").strip()
    except UnicodeDecodeError:
        raise _Refused(RewardOutcome.MALFORMED, f"{name} is not UTF-8 text.") from None
    if not text:
        raise _Refused(RewardOutcome.EMPTY, f"{name} is empty.")
    return _from_text(text) if name == REWARD_TXT else _from_json(text)


def _from_text(text: str) -> Reward:
    if _NO_NUMBER.fullmatch(text):
        raise _Refused(RewardOutcome.NOT_FINITE, f"{REWARD_TXT} holds {text}, which is not a finite number.")
    # Python's float() takes more than this ("1_0", other scripts' digits); a verifier never means that.
    if not _NUMBER.fullmatch(text):
        raise _Refused(RewardOutcome.MALFORMED, f"{REWARD_TXT} is not one number: {_shown(text)}.")
    return _accepted(_finite(float(text), REWARD_TXT), {})


def _from_json(text: str) -> Reward:
    try:
        found = json.loads(text, object_pairs_hook=_pairs, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        reason = f"{REWARD_JSON} cannot be read as JSON: {_shown(str(error))}."
        raise _Refused(RewardOutcome.MALFORMED, reason) from None
    if not isinstance(found, dict) or not found:
        raise _Refused(RewardOutcome.MALFORMED, f"{REWARD_JSON} is not an object with at least one number.")
    parts = {key: _number(key, value) for key, value in found.items()}
    return _accepted(parts.get("reward", min(parts.values())), parts)


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        raise _Refused(RewardOutcome.MALFORMED, f"{REWARD_JSON} has a key twice.")
    if any(clean(key) != key for key in keys):
        raise _Refused(RewardOutcome.MALFORMED, f"{REWARD_JSON} has a key that is not storable text.")
    return dict(pairs)


def _constant(name: str) -> NoReturn:
    raise _Refused(RewardOutcome.NOT_FINITE, f"{REWARD_JSON} holds {name}, which is not a finite number.")


def _number(key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _Refused(RewardOutcome.MALFORMED, f"{REWARD_JSON}: {_shown(key)} is not a number.")
    try:
        return _finite(float(value), REWARD_JSON)
    except OverflowError:
        return _finite(math.inf, REWARD_JSON)


def _finite(value: float, name: str) -> float:
    if not math.isfinite(value):
        raise _Refused(RewardOutcome.NOT_FINITE, f"{name} holds a number too large to be finite.")
    return value


def _accepted(value: float, parts: Mapping[str, float]) -> Reward:
    odd = [number for number in (value, *parts.values()) if not 0 <= number <= 1]
    reason = f"The reward is {value:g}." + (f" {odd[0]:g} is outside 0 to 1." if odd else "")
    return Reward(value, RewardOutcome.OK, reason, flagged=bool(odd), parts=parts)


def _shown(text: str) -> str:
    return repr(clean(text[:60]))
