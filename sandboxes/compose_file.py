"""A task's compose file: a plain Dockerfile where it says no more than that, else refused by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sandboxes.errors import TaskRefused
from sandboxes.plain_yaml import read_table

_SLEEPS = (["sh", "-c", "sleep infinity"], ["sleep", "infinity"], "sleep infinity", 'sh -c "sleep infinity"')
_WITHOUT_EFFECT = ("container_name", "tty", "stdin_open", "init", "restart", "stop_grace_period")
_AT_THE_TOP = ("services", "version", "name")


@dataclass(frozen=True)
class Service:
    """The one container of a task, as far as a Dockerfile does not say it. Paths are as written."""

    context: str = "."
    dockerfile: str = "Dockerfile"
    image: str = ""
    env: Mapping[str, str] | None = None
    workdir: str = ""
    volumes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    """Keys that have no effect on what the task is."""


def only_service(text: str, path: str, name: str) -> Service:
    """What the file says about its only service, which has to be called `name`.

    Raises `TaskRefused`, naming the first thing that a plain Dockerfile task does not have.
    """
    table = read_table(text, path)
    services = table.get("services")
    if not isinstance(services, dict) or not services:
        raise TaskRefused(path, "compose: there is no service in this file")
    for other in services:
        if other != name:
            raise TaskRefused(path, f"compose: service `{other}`; a task has one container")
    for key in table:
        if key not in _AT_THE_TOP:
            raise TaskRefused(path, f"compose: `{key}` is not supported")
    service = services[name] or {}
    if not isinstance(service, dict):
        raise TaskRefused(path, f"compose: service `{name}` is no table")
    return _read_service(service, path, name)


def _read_service(service: Mapping[str, Any], path: str, name: str) -> Service:
    for reason in _dangers(service):
        raise TaskRefused(path, f"compose: service `{name}` asks for {reason}; that is never given to a task")
    known = {"build", "image", "command", "environment", "working_dir", "volumes", *_WITHOUT_EFFECT}
    for key in service:
        if key not in known:
            raise TaskRefused(path, f"compose: `{key}` of service `{name}` is not supported")
    command = service.get("command")
    if command is not None and command not in _SLEEPS:
        raise TaskRefused(path, f"compose: `command` of service `{name}` is not supported: it has to sleep")
    context, dockerfile = _build(service.get("build", {}), path, name)
    return Service(
        context,
        dockerfile,
        image=_text(service.get("image", ""), path, "image", name),
        env=dict(_variables(service.get("environment", []), path, name)),
        workdir=_text(service.get("working_dir", ""), path, "working_dir", name),
        volumes=_strings(service.get("volumes", []), path, "volumes", name),
        dropped=tuple(key for key in _WITHOUT_EFFECT if key in service),
    )


def _dangers(service: Mapping[str, Any]) -> Iterator[str]:
    """What would hand the machine to the container, named even where more is wrong."""
    if str(service.get("privileged", "false")).lower() not in ("false", "no", "off"):
        yield "privileged mode"
    for key in ("network_mode", "pid", "ipc", "userns_mode", "uts"):
        if service.get(key) == "host":
            yield f"the host's {key.removesuffix('_mode')} ({key}: host)"
    for mount in service.get("volumes") or ():
        if "docker.sock" in str(mount):
            yield "the engine's socket (docker.sock)"
    for key in ("cap_add", "devices", "security_opt"):
        if service.get(key):
            yield f"`{key}`"


def _build(build: object, path: str, name: str) -> tuple[str, str]:
    if isinstance(build, str):
        return build or ".", "Dockerfile"
    if not isinstance(build, dict):
        raise TaskRefused(path, f"compose: `build` of service `{name}` is no table")
    for key in build:
        if key not in ("context", "dockerfile"):
            raise TaskRefused(path, f"compose: `build.{key}` of service `{name}` is not supported")
    context = _text(build.get("context", "."), path, "build.context", name)
    return context or ".", _text(build.get("dockerfile", "Dockerfile"), path, "build.dockerfile", name)


def _variables(value: object, path: str, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        value = [f"{key}={_text(text, path, f'environment.{key}', name)}" for key, text in value.items()]
    for line in _strings(value, path, "environment", name):
        key, equals, text = line.partition("=")
        if not equals:
            reason = f"compose: `environment` of service `{name}` gives {key} no value of its own"
            raise TaskRefused(path, reason)
        yield key, text


def _strings(value: object, path: str, key: str, name: str) -> tuple[str, ...]:
    if value == "":
        return ()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise TaskRefused(path, f"compose: `{key}` of service `{name}` is no list of texts")
    return tuple(value)


def _text(value: object, path: str, key: str, name: str) -> str:
    if not isinstance(value, str):
        raise TaskRefused(path, f"compose: `{key}` of service `{name}` is no text")
    return value
