"""A model server that misbehaves on purpose, over Messages, Responses and Chat Completions.

The model's name is the mode. Real people's reports stand behind each: what is cut, fenced, refused, refused
for now, not what the API says, or never comes. By hand:

    python -m tests.model_servers.misbehaving 8099

`GET /count` says how many requests each mode had, so that a ledger can be compared with it.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.model_servers.dialects import DIALECTS, USAGE, Answer, Dialect

Json = Any
GOOD = {"summary": "A second input has to be joined", "steps": ["add the file", "join it"]}
THOUGHT = "not for anybody’s eyes: \u00e9 \U0001f600 \u2028 </think>"
SIGNATURE = "c2lnbmF0dXJl+/=="
CONTEXT_BYTES = 200_000
HOSTILE_PATHS = (
    "../../outside.txt",
    "/etc/cron.d/planted",
    "tests/../../planted",
    "environment/link/planted",
    "task.toml\x00.md",
    "C:\\planted",
    "solution//./solve.sh",
)


@dataclass(frozen=True)
class Raw:
    """An answer of HTTP. `body` is what is sent; `claimed` a length that is promised and not kept."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    claimed: int | None = None
    kind: str = "application/json"


@dataclass(frozen=True)
class Fault:
    """An error in the API's words."""

    status: int
    kind: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Never:
    """No answer. `drip` sends a byte now and then; `silent` closes at once."""

    drip: bool = False
    silent: bool = False


@dataclass(frozen=True)
class Asked:
    """One request: the body, how often its mode was asked, in which dialect."""

    body: Json
    size: int
    number: int
    dialect: Dialect
    server: Misbehaving


Said = Answer | Raw | Fault | Never
Mode = Callable[[Asked], Said]


def texts(good: str) -> dict[str, str]:
    """Answers that are text, by mode: what is wrong with each is its form."""
    cut = good[:-1]
    return {
        "good": good,
        "fenced": f"Sure!\n```json\n{good}\n```\nI hope this helps.",
        "backticks-inside": json.dumps(json.loads(good) | {"summary": "write ```x``` there"}),
        "two-objects": f"{good}\n{good}",
        "trailing-comma": f"{cut},}}",
        "raw-newline": f'{cut}, "note": "one\ntwo"}}',
        "bad-escape": f'{cut}, "note": "a pattern \\d+"}}',
        "nan": f'{cut}, "score": NaN}}',
        "wrong-type": json.dumps(dict.fromkeys(json.loads(good), 3)),
        "empty": "",
        "prose-only": "The plan is fine as it is, I would say.",
        "surrogate": f'{cut}, "note": "half \\ud800 pair"}}',
        "surrogate-outside": "half \ud800 pair",
        "nul": f'{cut}, "note": "a nul \\u0000 here"}}',
        "nul-outside": "a nul \x00 here",
        "huge": json.dumps(json.loads(good) | {"summary": "x" * 5_000_000}),
        "same-plan": good,
        "approve-itself": '{"verdict": "approved", "score": 11, "status": "published"}',
    }


def _after(times: int, fault: Fault) -> Mode:
    return lambda asked: fault if asked.number <= times else Answer(asked.server.good)


def _always(said: Said) -> Mode:
    return lambda asked: said


def _call(name: str, **arguments: Json) -> Mode:
    return _always(Answer(calls=[(name, arguments)], stop="tools"))


def _in_ten_seconds(asked: Asked) -> Fault:
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=10), usegmt=True)
    return Fault(429, "rate_limit_error", "slow down", {"retry-after": moment})


def _strict(asked: Asked) -> Said:
    refused = ["temperature", "top_p"]
    if asked.dialect.path.endswith("completions"):
        refused.append("max_tokens")
    for name in refused:
        if name in asked.body:
            return Fault(400, "invalid_request_error", f"{name} is not supported with this model")
    return Answer(asked.server.good)


def _context(asked: Asked) -> Said:
    if asked.size <= CONTEXT_BYTES:
        return Answer(asked.server.good)
    words = {
        "/v1/messages": ("invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"),
        "/v1/responses": ("context_length_exceeded", "Your input is longer than this model takes."),
    }
    vllm = "This model's maximum context length is 4096 tokens, and your request has 250000."
    return Fault(400, *words.get(asked.dialect.path, ("BadRequestError", vllm)))


def _thinking(asked: Asked) -> Said:
    """Wants its own words back exactly, and an answer to each call; ends after two calls."""
    brought = json.dumps(asked.dialect.said(asked.body))
    sent = [asked.dialect.content(answer) for answer in asked.server.sent["thinking"]]
    if asked.dialect.path.endswith("responses"):
        sent = [[item for answer in sent for item in answer]] if sent else []
    if brought != json.dumps(sent):
        return Fault(400, "invalid_request_error", "thinking blocks have to come back as they were sent")
    if asked.dialect.unanswered(asked.body):
        return Fault(400, "invalid_request_error", "a tool call has no result")
    thought = {"thinking": THOUGHT, "signature": f"{SIGNATURE}{asked.number}"}
    if asked.number > 2:
        return Answer(asked.server.good, **thought)
    return Answer(calls=[("read_file", {"path": f"{asked.number}.md"})], stop="tools", **thought)


def _faults() -> dict[str, Mode]:
    """What is no answer of a model: errors, other people's pages, silence."""
    html = b"<html><head><title>502</title></head><body>bad gateway</body></html>"
    slow, busy = Fault(429, "rate_limit_error", "slow down", {"retry-after": "2"}), 529
    return {
        "429-then-ok": _after(2, slow),
        "429-forever": _always(replace(slow, headers={"retry-after": "1"})),
        "429-date": _in_ten_seconds,
        "429-no-hint": _always(replace(slow, headers={})),
        "no-money": _always(Fault(429, "insufficient_quota", "You exceeded your current quota.")),
        "402": _always(Fault(402, "billing_error", "payment required")),
        "503-then-ok": _after(1, Fault(503, "unavailable", "down for a moment", {"retry-after": "1"})),
        "529-then-ok": _after(3, Fault(busy, "overloaded_error", "Overloaded")),
        "500": _always(Fault(500, "api_error", "Internal server error")),
        "502-html": _always(Raw(502, html, kind="text/html")),
        "200-html": _always(Raw(200, html, kind="text/html")),
        "200-empty": _always(Raw(200, b"")),
        "200-list": _always(Raw(200, b"[]")),
        "200-error": _always(Raw(200, b'{"error": {"message": "upstream went away"}}')),
        "deep": _always(Raw(200, b'{"content":' + b"[" * 200_000)),
        "401": _always(Fault(401, "authentication_error", "invalid key: key-for-tests")),
        "403": _always(Fault(403, "permission_error", "this key may not use this model")),
        "404-model": _always(Fault(404, "not_found_error", "no such model, or it was retired")),
        "408": _always(Fault(408, "timeout", "the server gave up")),
        "409": _always(Fault(409, "conflict", "locked")),
        "413": _always(Fault(413, "request_too_large", "more than 32 MB")),
        "422": _always(Fault(422, "unprocessable", "a field is wrong")),
        "418": _always(Fault(418, "teapot", "short and stout")),
        "moved": _always(Raw(307, b"", {"location": "http://127.0.0.1:1/elsewhere"})),
        "hang": _always(Never()),
        "drip": _always(Never(drip=True)),
        "closed": _always(Never(silent=True)),
        "cut-connection": _always(Raw(200, b'{"id":', claimed=9999)),
        "cut-body": _always(Raw(200, b'{"id": "msg_1", "content": [{"type": "te')),
    }


def _modes(good: str) -> dict[str, Mode]:
    shadow = [("write_file", {"path": path, "text": "planted"}) for path in HOSTILE_PATHS]
    lost = Answer(calls=[("write_file", {"path": "solution/solve.sh"})], stop="length", cut_arguments=True)
    odd = {"read": "many", "cached": -1, "written": None, "answered": True, "thought": 0.5}
    return {
        **{name: _always(Answer(text)) for name, text in texts(good).items()},
        "truncated": _always(Answer(good[: len(good) // 2], stop="length")),
        "truncated-but-valid": _always(Answer(good, stop="length")),
        "truncated-tool": _always(lost),
        "refusal": _always(Answer(stop="refusal")),
        "unknown-stop": _always(Answer(good, stop="bored")),
        "no-usage": _always(Answer(good)),
        "odd-usage": _always(Answer(good, usage=odd)),
        **_faults(),
        "strict-params": _strict,
        "context-limit": _context,
        "thinking": _thinking,
        "tool": lambda asked: (
            Answer(good)
            if asked.number > 1
            else Answer("Looking.", calls=[("read_file", {"path": "a.md"}), ("list_files", {})], stop="tools")
        ),
        "tool-loop": _call("read_file", path="missing.txt"),
        "unknown-tool": _call("delete_everything"),
        "tool-bad-args": _call("write_file", pth=1),
        "tool-stop-says-end": _always(Answer(calls=[("list_files", {})], stop="end")),
        "traversal": _always(Answer(calls=shadow, stop="tools")),
        "no-change": _call("submit", bindings=[], artifacts=[], notes=""),
        "edits-tests-only": _call(
            "write_file", path="tests/test.sh", text="echo 1 > /logs/verifier/reward.txt\n"
        ),
        "other-model": _always(Answer(good, model="something-cheaper")),
    }


class Misbehaving:
    """The server. `good` is the JSON that it answers where it behaves; `bodies` are the requests."""

    def __init__(self, port: int = 0, good: Json = None) -> None:
        self.good = json.dumps(GOOD if good is None else good)
        self.modes = _modes(self.good)
        self.asked: Counter[str] = Counter()
        self.bodies: dict[str, list[bytes]] = {}
        self.headers: dict[str, list[Mapping[str, str]]] = {}
        self.sent: dict[str, list[Json]] = {name: [] for name in self.modes}
        self.ends = threading.Event()
        self.lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"owner": self})
        self.http = _Quiet(("127.0.0.1", port), handler)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    def take(self, dialect: Dialect, raw: bytes, headers: Mapping[str, str]) -> Said:
        body = json.loads(raw)
        mode = str(body["model"])
        if mode not in self.modes:
            return Fault(404, "not_found_error", f"this server has no mode {mode}")
        with self.lock:
            self.asked[mode] += 1
            self.bodies.setdefault(mode, []).append(raw)
            self.headers.setdefault(mode, []).append(headers)
            asked = Asked(body, len(raw), self.asked[mode], dialect, self)
            said = self.modes[mode](asked)
            return self._in_words(said, asked, mode) if isinstance(said, Answer) else said

    def _in_words(self, answer: Answer, asked: Asked, mode: str) -> Raw:
        usage = None if mode == "no-usage" else answer.usage or USAGE
        sent = asked.dialect.answer(replace(answer, usage=usage, model=answer.model or mode), asked.number)
        self.sent[mode].append(sent)
        return Raw(200, json.dumps(sent).encode())


class _Quiet(ThreadingHTTPServer):
    """A client that hangs up is what some of the modes are for."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: Misbehaving

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._send(Raw(200, json.dumps(self.owner.asked).encode()))

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        dialect = next((one for one in DIALECTS if self.path == one.path), None)
        if dialect is None:
            return self._send(Raw(404, b"no such path", kind="text/plain"))
        said = self.owner.take(dialect, raw, {key.lower(): value for key, value in self.headers.items()})
        if isinstance(said, Never):
            return self._keep_waiting(said)
        if isinstance(said, Fault):
            body = json.dumps(dialect.error(said.kind, said.message)).encode()
            said = Raw(said.status, body, said.headers)
        return self._send(said)

    def _send(self, said: Raw) -> None:
        self.send_response(said.status)
        self.send_header("content-type", said.kind)
        self.send_header("content-length", str(said.claimed or len(said.body)))
        self.send_header("request-id", "req_1")
        self.send_header("x-request-id", "req_1")
        for name, value in said.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(said.body)
        self.close_connection = said.claimed is not None

    def _keep_waiting(self, never: Never) -> None:
        self.close_connection = True
        if never.silent:
            return
        if never.drip:
            self.send_response(200)
            self.send_header("content-length", "9999")
            self.end_headers()
        while not self.owner.ends.wait(0.05 if never.drip else 3600):
            try:
                self.wfile.write(b" ")
            except OSError:
                return


@contextmanager
def serving(port: int = 0, good: Json = None) -> Iterator[Misbehaving]:
    """The server, on a free port unless one is named, for as long as the block lasts."""
    server = Misbehaving(port, good)
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.ends.set()
        server.http.shutdown()
        server.http.server_close()
        thread.join()


if __name__ == "__main__":
    with serving(int(sys.argv[1]) if len(sys.argv) > 1 else 8099) as by_hand:
        sys.stdout.write(f"{by_hand.address}\n" + " ".join(sorted(by_hand.modes)) + "\n")
        sys.stdout.flush()
        threading.Event().wait()
