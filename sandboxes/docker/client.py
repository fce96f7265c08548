"""One API client for each process and thread: docker-py's session is shared by neither safely."""

from __future__ import annotations

import os
import threading

from docker import APIClient
from docker.tls import TLSConfig

from sandboxes.docker.seam import seam

# Not a limit on commands (those have their own): on a machine under load a commit took 53 s.
API_TIMEOUT = 180


class Engine(threading.local):
    """The engine at `address`, e.g. `unix:///run/docker.sock`; one client a thread, new after a fork."""

    def __init__(self, address: str, tls: TLSConfig | None = None) -> None:
        self.address = address
        self._tls = tls
        self._made: tuple[int, APIClient] | None = None

    @property
    def api(self) -> APIClient:
        """Raises `MachineFault` when nothing answers at the address."""
        if self._made is None or self._made[0] != os.getpid():
            with seam("connecting"):
                client = APIClient(
                    base_url=self.address, tls=self._tls or False, version="auto", timeout=API_TIMEOUT
                )
            self._made = (os.getpid(), client)
        return self._made[1]
