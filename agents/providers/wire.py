"""What every HTTP provider shares: the body's bytes, the client, and one request from end to end.

The SDKs' own deadline is for each read, so a server that sends a byte now and then would hold a thread for
ever; here the whole answer has to be there in time, and a body without an end is cut off.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Self
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx2

from agents.models import ModelSpec
from agents.providers.base import Json
from agents.providers.errors import KeyRefused, ServerBroke
from agents.providers.mapping import failure, place, show

MOST_BYTES = 64 * 1024 * 1024
"""Of one answer; the longest that a model gives is a few megabytes."""
CONNECT_SECONDS = 20.0
NO_KEY = "none"
"""Sent to a server of one's own that wants no key, since the SDKs want one."""


ALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 5),
    *[
        (socket.IPPROTO_TCP, getattr(socket, name), 60)
        for name in ("TCP_KEEPIDLE", "TCP_KEEPINTVL")  # seconds
        if hasattr(socket, name)
    ],
)
"""A model may think for minutes without a byte, after which routers forget a connection that says nothing."""
LATE = "the answer was not whole in time"
ONCE = httpx2.Limits(max_keepalive_connections=0)
HEADERS = {"accept-encoding": "identity"}
"""A compressed body could be short on the wire and endless here."""


class EndlessBody(httpx2.TransportError):
    """The answer is longer than any answer is."""


class _Deadline:
    """Breaks the connection of one request when its time is over: headers that trickle in never time out.

    It needs the connection to be the request's own, so none is kept for the next one.
    """

    def __init__(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._break)
        self._timer.daemon = True
        self._socket: socket.socket | None = None
        self.passed = False

    def trace(self, event: str, told: Mapping[str, Json]) -> None:
        """What the client tells of its work."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._socket = told["return_value"].get_extra_info("socket")
            if self.passed:
                self._break()

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _break(self) -> None:
        self.passed = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                # Not the TLS socket's own method, which takes its state away from who is reading.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class _Watched(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._stream:
            size += len(part)
            if size > MOST_BYTES:
                raise EndlessBody(f"its answer is longer than {MOST_BYTES} bytes")
            yield part

    def close(self) -> None:
        self._stream.close()


class _Client(httpx2.Client):
    """Reads every answer to its end, and gives up one that is too late as a whole, or too long."""

    seconds: float

    def send(self, request: httpx2.Request, *, stream: bool = False, **options: Json) -> httpx2.Response:
        with _Deadline(self.seconds) as deadline:
            request.extensions = {**request.extensions, "trace": deadline.trace}
            try:
                response = self._whole(request, **options)
            except httpx2.TransportError as problem:
                if deadline.passed and not isinstance(problem, EndlessBody):
                    raise httpx2.ReadTimeout(LATE, request=request) from problem
                raise
            if deadline.passed:
                raise httpx2.ReadTimeout(LATE, request=request)
        return response

    def _whole(self, request: httpx2.Request, **options: Json) -> httpx2.Response:
        response = super().send(request, stream=True, **options)
        try:
            if isinstance(response.stream, httpx2.SyncByteStream):
                response.stream = _Watched(response.stream)
            response.read()
        finally:
            response.close()
        return response


@cache
def _trust() -> ssl.SSLContext:
    """Read once: it takes as long as the rest of making a provider several times over."""
    return httpx2.create_ssl_context()


def http_client(spec: ModelSpec) -> httpx2.Client:
    """A client with the model's time limit. Follows no redirect, since the key would go with it.

    A server on this machine is asked directly, whatever proxy the environment names.
    """
    seconds = spec.timeout_seconds
    direct = is_local(spec.base_url) or not getproxies()
    client = _Client(
        verify=_trust(),
        limits=ONCE,
        transport=(
            httpx2.HTTPTransport(verify=_trust(), limits=ONCE, socket_options=ALIVE) if direct else None
        ),
        timeout=httpx2.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds)),
        follow_redirects=False,
        trust_env=not is_local(spec.base_url),
    )
    client.seconds = seconds
    return client


def is_local(base_url: str) -> bool:
    """Whether the address is on this machine."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def key_of(spec: ModelSpec) -> str:
    return spec.key.get_secret_value() if spec.key else NO_KEY


def check_key(spec: ModelSpec) -> None:
    """Raises `KeyRefused` where a request could only be refused: it is not made."""
    wants_one = bool(spec.key_variable) or not spec.base_url
    if spec.key is None and wants_one and not is_local(spec.base_url):
        if not spec.key_variable:
            raise KeyRefused(
                f"{place(spec)} wants a key: name its variable in models.{spec.name}.key_variable"
            )
        raise KeyRefused(f"{place(spec)} wants a key, and there is none: set {spec.key_variable}")
    if not all(33 <= ord(letter) <= 126 for letter in key_of(spec)):
        raise KeyRefused(
            f"the key in {spec.key_variable} has a character that no key has (a space or a line break?)"
        )


def bytes_of(body: Mapping[str, Json]) -> bytes:
    """The body as it is sent and recorded. ASCII, so that half a surrogate pair goes back as it came."""
    return json.dumps(body, separators=(",", ":")).encode("ascii")


@dataclass(frozen=True, slots=True)
class Received:
    body: Mapping[str, Json]
    raw: bytes
    request_id: str
    seconds: float


def exchange(
    send: Callable[[], httpx2.Response],
    spec: ModelSpec,
    *,
    foreign: type[Exception],
    id_header: str,
) -> Received:
    """One request by an SDK's `send`, whose exceptions are all `foreign`. Raises `ProviderError`."""
    check_key(spec)
    start = time.monotonic()
    try:
        response = send()
    except foreign as error:
        raise failure(error, spec) from error
    seconds = time.monotonic() - start
    request_id = response.headers.get(id_header, "")
    return Received(json_of(response.content, spec, request_id), response.content, request_id, seconds)


def json_of(raw: bytes, spec: ModelSpec, request_id: str = "") -> Mapping[str, Json]:
    """The object in an answer that came with success. Raises `ServerBroke` for anything else."""
    try:
        body = json.loads(raw, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise broken(f"answered something that is not the API's: {show(raw)}", spec, raw, request_id)
    return body


def broken(what: str, spec: ModelSpec, raw: bytes, request_id: str = "") -> ServerBroke:
    return ServerBroke(f"{place(spec)} {what}", raw=raw, request_id=request_id)


def object_of(text: str) -> Mapping[str, Json] | None:
    """The JSON object that a model wrote as a tool's arguments; None where it wrote something else."""
    try:
        value = json.loads(text or "{}", parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def count(value: Json, *path: str) -> int | None:
    """The number of tokens at `path`; None where there is none, or something that is no number of tokens."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is no JSON")
