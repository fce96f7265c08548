"""Choosing a backend by its name in the settings."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import cast

from sandboxes.base import Backend
from sandboxes.bubblewrap import BubblewrapBackend
from sandboxes.docker import DockerBackend
from sandboxes.errors import MachineFault

NAMES = ("auto", "docker", "bubblewrap")
DOCKER_SOCKET = "unix:///var/run/docker.sock"
ENTRY_POINTS = "envevo.backends"


def open_backend(
    name: str, *, instance: str, folder: Path, docker_host: str = "", build_network: bool = False
) -> Backend:
    """The backend called `name`; "auto" is docker where its engine answers, else bubblewrap.

    `instance` names this installation in labels; `folder` is where a backend keeps what is its own;
    `docker_host` is the engine's address, the usual socket if empty. A backend of somebody else's is an
    entry point of the group `envevo.backends`, called with the same keywords. Raises `MachineFault` when a
    named backend cannot work here (never falling back to another), `ValueError` for an unknown name.
    """
    if name == "auto":
        backend = _docker(instance, folder, docker_host, build_network)
        return backend if _answers(backend) else _checked(_bubblewrap(folder))
    if name == "docker":
        return _checked(_docker(instance, folder, docker_host, build_network))
    if name == "bubblewrap":
        return _checked(_bubblewrap(folder))
    return _checked(_foreign(name, instance, folder))


def _docker(instance: str, folder: Path, docker_host: str, build_network: bool) -> Backend:
    return DockerBackend(
        instance=instance,
        address=docker_host or DOCKER_SOCKET,
        folder=folder,
        build_network=build_network,
    )


def _bubblewrap(folder: Path) -> Backend:
    return BubblewrapBackend(folder=folder)


def _foreign(name: str, instance: str, folder: Path) -> Backend:
    found = entry_points(group=ENTRY_POINTS, name=name)
    if not found:
        raise ValueError(f"there is no backend {name!r}; known are {', '.join(NAMES)}")
    return cast(Backend, next(iter(found)).load()(instance=instance, folder=folder))


def _answers(backend: Backend) -> bool:
    try:
        backend.check()
    except MachineFault:
        return False
    return True


def _checked(backend: Backend) -> Backend:
    backend.check()
    return backend
