"""Where the docker SDK's and its transport's exceptions become ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException

import requests
import urllib3
from docker.errors import APIError, DockerException, NotFound, StreamParseError

from sandboxes.errors import MachineFault, SandboxDied, SandboxError, Unsupported

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
# And for what an image, a task or a command in its container brings about, also with code 500.
TASK_WORDS = ("unable to find user", "no matching entries in", "error processing tar file")


@contextmanager
def seam(doing: str) -> Iterator[None]:
    """Raises one of our errors, with `doing` in the message, for any foreign exception.

    Only what is no longer there has died: whatever a command can do to its own container (409, 400) must
    not look like the machine's doing.
    """
    try:
        yield
    except FOREIGN as error:
        raise translated(error, doing) from error


def translated(error: Exception, doing: str) -> SandboxError:
    said = f"{doing}: {_words(error)}"
    if isinstance(error, APIError):
        return _answered(error, said)
    return MachineFault(
        f"The Docker engine does not answer while {said}. Is it running, and may we use its socket?"
    )


def _answered(error: APIError, said: str) -> SandboxError:
    if isinstance(error, NotFound):
        return SandboxDied(said)
    if error.status_code == 409:
        return SandboxError(said)
    if error.status_code == 400:
        return Unsupported(said)
    machine, task = (any(w in said.lower() for w in words) for words in (MACHINE_WORDS, TASK_WORDS))
    return Unsupported(said) if task and not machine else MachineFault(said)


def _words(error: Exception) -> str:
    explanation = error.explanation if isinstance(error, APIError) else None
    return str(explanation or error)
