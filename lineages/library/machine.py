"""This machine's way to run task content: one backend and one set of slots for each process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache

from django.conf import settings

from agents.roles import Author
from lineages.library.models import Audit
from lineages.lifecycle import Leased
from sandboxes.backends import open_backend
from sandboxes.base import Backend, Limits
from sandboxes.errors import MachineFault
from sandboxes.slots import Slots
from sandboxes.slots import slots as machine_slots


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


def backend_for(made_by: Iterable[Author]) -> Backend:
    """The backend, if it may run what these authors made. Raises `MachineFault`."""
    opened = backend()
    doubtful = sorted({author.name for author in made_by if not author.trusted})
    if opened.provisional and doubtful and not settings.UNTRUSTED_IN_BUBBLEWRAP:
        raise MachineFault(
            f"What {', '.join(doubtful)} made is not trusted in {opened.name}. "
            "Start a Docker engine, or set ENVEVO_UNTRUSTED_IN_BUBBLEWRAP=true."
        )
    return opened


def limits() -> Limits:
    """The most that one sandbox of this machine gets; a task's own, lower wishes hold."""
    return Limits(memory_mb=settings.SANDBOX_MEMORY_MB, cpus=settings.SANDBOX_CPUS)


def slots() -> Slots:
    return machine_slots(settings.SLOTS_FOLDER, settings.SLOTS)


def is_live(labels: Mapping[str, str]) -> bool:
    """Whether the lease that a sandbox was labelled with is still held, by the database's clock."""
    return any(model.still_held(labels.get("lease", "")) for model in Leased.__subclasses__())
