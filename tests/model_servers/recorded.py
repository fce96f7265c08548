"""A model server on loopback that plays a competent model over all three APIs.

    python -m tests.model_servers.recorded PORT [--delay SECONDS] [--overloaded N]

`GET /count` tells how many requests came and what became of them. It can be slow (`delay`), and overloaded
for every n-th request. What it says hangs on the conversation alone (`player`), so that it may be started
again at any moment, and so may who asks it.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from agents.providers.base import Json
from tests.model_servers import anthropic_wire
from tests.model_servers.player import played
from tests.model_servers.speech import NotSpoken
from tests.model_servers.wires import WIRES, hear, speak

KINDS = ("anthropic", "openai", "openai-chat")
MODEL = """
[models.{kind}]
provider = "{kind}"
model = "recorded-1"
base_url = "{url}/v1"
patience_seconds = 60
timeout_seconds = 60
price = {{ input = 2, output = 2 }}
can = {{ thinking = {thinking} }}
"""


class RecordedServer(ThreadingHTTPServer):
    """`delay` in seconds before each answer; every `overloaded`-th request is turned down, 0 for none."""

    daemon_threads = True

    def __init__(self, port: int = 0, *, delay: float = 0, overloaded: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.delay = delay
        self.overloaded = overloaded
        self._lock = threading.Lock()
        self._count: Counter[str] = Counter()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def count(self) -> dict[str, int]:
        """`requests` in all: `answered`, `overloaded`, `refused`; for `unheard` answers nobody waited."""
        with self._lock:
            return dict(self._count)

    def counted(self, what: str) -> int:
        with self._lock:
            self._count[what] += 1
            return self._count[what]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet, or the other side waits 40 ms for the second
    server: RecordedServer

    def log_message(self, *told: Any) -> None:
        """Says nothing: tests read the count."""

    def do_GET(self) -> None:
        self._send(200, self.server.count)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        number = self.server.counted("requests")
        wire = self.path.partition("?")[0]
        if self.server.overloaded and number % self.server.overloaded == 0:
            self.server.counted("overloaded")
            self._refuse(wire, 529, "overloaded_error", "Overloaded", **{"retry-after": str(number % 2)})
            return
        try:
            heard = hear(wire, body)
            said = played(heard.question)
        except (NotSpoken, KeyError) as problem:
            self.server.counted("refused")
            self._refuse(wire, 404 if wire not in WIRES else 400, "invalid_request_error", str(problem))
            return
        time.sleep(self.server.delay)
        answer = speak(heard, said, number)
        self.server.counted("answered")  # before it leaves: who was answered may ask for the count
        self._send(200, answer)

    def _refuse(self, wire: str, status: int, kind: str, message: str, **headers: str) -> None:
        error: dict[str, Json] = {"type": kind, "message": message}
        if wire == anthropic_wire.PATH:
            self._send(status, {"type": "error", "error": error}, **headers)
        else:
            self._send(status, {"error": {**error, "code": None, "param": None}}, **headers)

    def _send(self, status: int, body: Json, **headers: str) -> None:
        data = json.dumps(body).encode()
        try:
            self.send_response(status)
            for name, value in {"content-type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            self.server.counted("unheard")  # who asked was killed meanwhile
            self.close_connection = True


@contextmanager
def recorded(port: int = 0, *, delay: float = 0, overloaded: int = 0) -> Iterator[RecordedServer]:
    """The server, answering in threads of this process until the end of the block."""
    server = RecordedServer(port, delay=delay, overloaded=overloaded)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def models_file(place: Path, server: RecordedServer) -> Path:
    """A models file with a model for each API, called as its provider, that the server plays."""
    parts = (
        MODEL.format(kind=kind, url=server.url, thinking=str(kind != "openai-chat").lower()) for kind in KINDS
    )
    place.write_text("".join(parts))
    return place


def main() -> None:
    parser = argparse.ArgumentParser(description="A model server that plays a competent model.")
    parser.add_argument("port", type=int)
    parser.add_argument("--delay", type=float, default=0)
    parser.add_argument("--overloaded", type=int, default=0, help="every n-th request; 0 for none")
    told = parser.parse_args()
    RecordedServer(told.port, delay=told.delay, overloaded=told.overloaded).serve_forever()


if __name__ == "__main__":
    main()
