"""Every exception of the docker SDK and its transport becomes one of ours."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from inspect import getmembers, isclass

import docker.errors
import pytest
import requests
import urllib3
from docker import APIClient

from sandboxes.docker.container import freeze
from sandboxes.docker.seam import seam
from sandboxes.errors import MachineFault, SandboxDied, SandboxError, Unsupported


def foreign() -> Iterator[type[Exception]]:
    for module in (docker.errors, requests.exceptions, urllib3.exceptions):
        for _, found in getmembers(module, isclass):
            theirs = found.__module__.split(".")[0] in ("docker", "requests", "urllib3", "http")
            if theirs and issubclass(found, Exception) and not issubclass(found, Warning):
                yield found


def made(kind: type[Exception]) -> Exception:
    """One of a kind, whatever its constructor and its `__str__` want."""
    plain = type(
        kind.__name__, (kind,), {"__init__": lambda self: None, "__str__": lambda self: "what was said"}
    )
    error: Exception = plain()
    if isinstance(error, docker.errors.APIError):
        error.response, error.explanation = answer(500), "what was said"
    return error


def answer(status: int) -> requests.Response:
    response = requests.Response()
    response.status_code = status
    return response


@pytest.mark.parametrize("kind", sorted(set(foreign()), key=lambda kind: (kind.__module__, kind.__name__)))
def test_no_exception_gets_through(kind: type[Exception]) -> None:
    with pytest.raises(SandboxError, match="doing something"), seam("doing something"):
        raise made(kind)


def test_our_own_exceptions_pass() -> None:
    with pytest.raises(ZeroDivisionError), seam("doing something"):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("status", "words", "becomes"),
    [
        (404, "No such container: x", SandboxDied),
        (409, "Container x is not running", SandboxError),
        (500, "write /var/lib/docker/x: no space left on device", MachineFault),
        (500, "error while creating mount source path: permission denied", MachineFault),
        (400, "Minimum memory limit allowed is 6MB", Unsupported),
        (500, "unable to find user ghost: no matching entries in passwd file", Unsupported),
        (500, "Error processing tar file: file name too long", Unsupported),
        (500, "Error processing tar file: no space left on device", MachineFault),
        (500, "something else", MachineFault),
    ],
)
def test_an_answer_of_the_engine_is_attributed(status: int, words: str, becomes: type[SandboxError]) -> None:
    kind = docker.errors.NotFound if status == 404 else docker.errors.APIError
    with pytest.raises(SandboxError, match=words) as caught, seam("doing something"):
        raise kind("message", response=answer(status), explanation=words)
    assert type(caught.value) is becomes


def test_a_refused_connection_is_the_machines_fault() -> None:
    with pytest.raises(MachineFault, match="Is it running"), seam("doing something"):
        raise requests.ConnectionError(ConnectionRefusedError(111, "refused"))


BUSY = (500, b'{"message": "OCI runtime pause failed: unable to freeze: unknown"}')
LATE = (409, b'{"message": "Container box is already paused"}')
DONE = (204, b"")
PAUSE, UNPAUSE = "/v1.41/containers/box/pause", "/v1.41/containers/box/unpause"


@pytest.fixture
def engine_that_says() -> Iterator[Callable[..., tuple[APIClient, list[str]]]]:
    """An engine on the wire with these answers, the last one for ever; returns a client and what it heard."""
    with ExitStack() as servers:

        def serve(*answers: tuple[int, bytes]) -> tuple[APIClient, list[str]]:
            heard: list[str] = []

            class Engine(BaseHTTPRequestHandler):
                def do_POST(self) -> None:
                    status, body = answers[min(len(heard), len(answers) - 1)]
                    heard.append(self.path)
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.end_headers()
                    self.wfile.write(body)

                def log_message(self, *_: object) -> None:
                    pass

            server = servers.enter_context(HTTPServer(("127.0.0.1", 0), Engine))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            servers.callback(server.shutdown)
            return APIClient(f"http://127.0.0.1:{server.server_port}", version="1.41"), heard

        yield serve


def test_a_container_that_did_not_freeze_at_once_is_asked_again_and_not_for_ever(
    engine_that_says: Callable[..., tuple[APIClient, list[str]]],
) -> None:
    api, heard = engine_that_says(BUSY, BUSY, DONE)
    freeze(api, "box")
    assert heard == [PAUSE] * 3

    api, heard = engine_that_says(BUSY)
    with pytest.raises(MachineFault, match="in 5 tries: .*unable to freeze"):
        freeze(api, "box")
    assert heard == [PAUSE] * 5


def test_one_that_froze_late_is_thawed_and_frozen_again(
    engine_that_says: Callable[..., tuple[APIClient, list[str]]],
) -> None:
    api, heard = engine_that_says(BUSY, LATE, DONE, DONE)
    freeze(api, "box")
    assert heard == [PAUSE, PAUSE, UNPAUSE, PAUSE]


def test_one_that_somebody_else_has_paused_is_left_so(
    engine_that_says: Callable[..., tuple[APIClient, list[str]]],
) -> None:
    api, heard = engine_that_says(LATE)
    with pytest.raises(docker.errors.APIError, match="already paused"):
        freeze(api, "box")
    assert heard == [PAUSE]
