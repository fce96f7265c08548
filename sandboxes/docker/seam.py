"""Where the docker SDK's and its transport's exceptions become ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException

import requests
import urllib3
from docker.errors import APIError, DockerException, NotFound, StreamParseError

from sandboxes.errors import MachineFault, SandboxDied, SandboxError

FOREIGN = (
    DockerException,
    StreamParseError,
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    urllib3.exceptions.ProxySchemeUnsupported,
    HTTPException,
    OSError,
)

# The engine's words for faults of its machine; an API error has no finer code than 500 for them.
MACHINE_WORDS = ("no space left", "permission denied", "cannot connect", "cgroup", "disk quota")


@contextmanager
def seam(doing: str) -> Iterator[None]:
    """Raises `SandboxDied` or `MachineFault`, with `doing` in the message, for any foreign exception."""
    try:
        yield
    except FOREIGN as error:
        raise translated(error, doing) from error


def translated(error: Exception, doing: str) -> SandboxError:
    said = f"{doing}: {_words(error)}"
    if isinstance(error, APIError):
        machine = any(word in said.lower() for word in MACHINE_WORDS)
        gone = isinstance(error, NotFound) or error.status_code == 409
        return MachineFault(said) if machine and not gone else SandboxDied(said)
    return MachineFault(
        f"The Docker engine does not answer while {said}. Is it running, and may we use its socket?"
    )


def _words(error: Exception) -> str:
    explanation = error.explanation if isinstance(error, APIError) else None
    return str(explanation or error)
