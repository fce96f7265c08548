"""This machine's way to run task content: one backend and one set of slots for each process."""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Protocol

from django.conf import settings

from lineages.library.models import Audit
from lineages.lifecycle import Leased
from sandboxes.backends import open_backend
from sandboxes.base import Backend, Limits
from sandboxes.errors import MachineFault, SandboxError
from sandboxes.slots import Slots
from sandboxes.slots import slots as machine_slots

log = logging.getLogger(__name__)

MIB, GIB = 2**20, 2**30
TRIM_SECONDS = 3600
UNTRUSTED_SECONDS = 300.0
NAMED = 50
"""Characters of the names in what a row waits for, which has 200 in all."""


def backend() -> Backend:
    """The backend of the settings, opened on first use in this process.

    Raises `MachineFault` when nothing can run here, and when `auto` would silently fall from Docker, which
    this installation has used before, to the weaker bubblewrap.
    """
    return _opened(os.getpid())


@cache
def _opened(process: int) -> Backend:
    """Kept for each process, since an engine's connection does not survive a fork."""
    opened = open_backend(
        settings.SANDBOX,
        instance=settings.INSTANCE,
        folder=settings.SANDBOXES,
        docker_host=settings.DOCKER_HOST,
        build_network=settings.BUILD_NETWORK,
    )
    if settings.SANDBOX == "auto" and opened.provisional and Audit.objects.filter(backend="docker").exists():
        raise MachineFault(
            "No Docker engine answers, and earlier evidence here was made with one. Start the engine, or set "
            "ENVEVO_SANDBOX=bubblewrap to go on with provisional evidence."
        )
    return opened


class Maker(Protocol):
    """Somebody who made something that is to run here."""

    @property
    def name(self) -> str: ...

    @property
    def trusted(self) -> bool: ...


def backend_for(made_by: Iterable[Maker]) -> Backend:
    """The backend, if it may run what these authors made and there is room.

    Raises `MachineFault`, and its kinds `NoRoom` and `Untrusted`.
    """
    opened = backend()
    check_room(opened)
    doubtful = sorted({maker.name for maker in made_by if not maker.trusted})
    if opened.provisional and doubtful and not settings.UNTRUSTED_IN_BUBBLEWRAP:
        raise Untrusted(_some(doubtful), opened.name)
    return opened


class NotNow(MachineFault):
    """Work that this machine does not take as it stands, without fault of the work's: it is put off.

    `waits_for` says in words what for (at most 200 characters), `seconds` when to look again.
    """

    waits_for: str
    seconds: float


class NoRoom(NotNow):
    """Too little disk is free on this machine, and nothing of ours is left to remove."""

    def __init__(self, free: int, floor: int) -> None:
        self.waits_for = (
            f"disk: {free / GIB:.1f} GiB free, {floor / GIB:.1f} wanted (ENVEVO_DISK_FLOOR_MB); make room"
        )
        self.seconds = settings.SWEEP_SECONDS
        super().__init__(self.waits_for)


class Untrusted(NotNow):
    """The only backend here is too weak for what these authors made: a person has to change that."""

    def __init__(self, makers: str, backend: str) -> None:
        self.waits_for = (
            f"a Docker engine, since what {makers} made is not trusted in {backend} "
            "(ENVEVO_UNTRUSTED_IN_BUBBLEWRAP=true allows it)"
        )
        self.seconds = UNTRUSTED_SECONDS
        super().__init__(
            f"What {makers} made is not trusted in {backend}. "
            "Start a Docker engine, or set ENVEVO_UNTRUSTED_IN_BUBBLEWRAP=true."
        )


def _some(names: Sequence[str]) -> str:
    """All of the names, or as many as a line has room for and how many more there are."""
    shown = ", ".join(names)
    if len(shown) <= NAMED:
        return shown
    first = names[0] if len(names[0]) <= NAMED else f"{names[0][: NAMED - 1]}…"
    return f"{first} and {len(names) - 1} more" if len(names) > 1 else first


def check_room(opened: Backend) -> None:
    """Raises `NoRoom` below the disk floor, after removing images of ours that nobody uses."""
    floor = settings.DISK_FLOOR_MB * MIB
    if _free(opened) < floor:
        _make_room(opened, floor)
    free = _free(opened)
    if free < floor:
        raise NoRoom(free, floor)


def trim() -> None:
    """Keep our images within `ENVEVO_IMAGES_MB`; once an hour, since an engine counts for seconds."""
    last = settings.SANDBOXES / "trimmed"
    if last.exists() and last.stat().st_mtime > time.time() - TRIM_SECONDS:
        return
    settings.SANDBOXES.mkdir(parents=True, exist_ok=True)
    last.touch()
    try:
        _make_room(backend(), floor=0)
    except MachineFault as nothing_runs_here:
        log.warning("images were not trimmed: %s", nothing_runs_here)


def _make_room(opened: Backend, floor: int) -> None:
    """Trim images; an engine that cannot do so now is no fault of whoever has to wait for disk."""
    try:
        freed = opened.trim(keep=settings.IMAGES_MB * MIB, floor=floor)
    except SandboxError as problem:
        log.warning("images were not trimmed: %s", problem)
    else:
        if freed:
            log.info("removed images of %.1f GiB that were not used for longest", freed / GIB)


def _free(opened: Backend) -> int:
    """Free bytes where images are kept and where blobs are, whichever has less."""
    settings.BLOBS.mkdir(parents=True, exist_ok=True)
    stored = shutil.disk_usage(settings.BLOBS).free
    room = opened.room()
    return stored if room is None else min(stored, room)


def limits() -> Limits:
    """The most that one sandbox of this machine gets; a task's own, lower wishes hold."""
    return Limits(memory_mb=settings.SANDBOX_MEMORY_MB, cpus=settings.SANDBOX_CPUS)


def slots() -> Slots:
    return machine_slots(settings.SLOTS_FOLDER, settings.SLOTS)


def is_live(labels: Mapping[str, str]) -> bool:
    """Whether the lease that a sandbox was labelled with is still held, by the database's clock."""
    return any(model.still_held(labels.get("lease", "")) for model in Leased.__subclasses__())
