"""Tests that fetch what they need while they run: in a sandbox without a network they come to no verdict.

A solver's words must not bring this about. So a tool counts only where the tests' own scripts call it, their
own output holds that tool's own complaint, and what the solver handed over does not hold the same line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sandboxes.base import ExecResult
from sandboxes.task import Task

MAX_LINE = 2000  # characters of a line that are looked at

_UNRESOLVED = (
    r"could(?:n'?t| not) (?:resolve|connect)|temporary failure (?:in name resolution|resolving)"
    r"|name or service not known|network is unreachable|failed to lookup address|dns (?:error|lookup)"
    r"|failed to connect|unable to connect"
)


@dataclass(frozen=True, slots=True)
class _Tool:
    """`call` is how a script calls it, `complaint` a line of its own about the network."""

    name: str
    call: re.Pattern[str]
    complaint: re.Pattern[str]
    names_host: bool = False


def _tool(name: str, call: str, complaint: str, *, names_host: bool = False) -> _Tool:
    ignoring = re.IGNORECASE
    return _Tool(name, re.compile(rf"(?<![\w./-]){call}"), re.compile(complaint, ignoring), names_host)


_FLAGS = r"\s+(?:-\S+\s+)*"
_TOOLS = (
    _tool("curl", r"curl\b", rf"curl: \(\d+\) .*(?:{_UNRESOLVED})", names_host=True),
    _tool(
        "wget",
        r"wget\b",
        rf"wget: (?:unable to resolve|bad address)|^resolving .*(?:{_UNRESOLVED})|^connecting .*unreachable",
        names_host=True,
    ),
    _tool(
        "apt",
        rf"apt(?:-get)?{_FLAGS}(?:update|install|upgrade)\b",
        rf"^(?:[EW]: |Err:).*(?:{_UNRESOLVED})|^\s+(?:temporary failure resolving|could not connect to)",
    ),
    _tool(
        "pip",
        rf"pip[\d.]*{_FLAGS}(?:install|download)\b",
        r"pip\._vendor.*(?:NewConnectionError|NameResolutionError|new connection|ConnectTimeout)",
    ),
    _tool(
        "uv",
        rf"(?:uvx|uv{_FLAGS}(?:run|pip|tool|sync|add|python))\b",
        rf"(?:error|cause|failed to (?:fetch|download)).*(?:{_UNRESOLVED}|error sending request)",
    ),
    _tool(
        "npm",
        r"(?:npm\s+(?:i|install|ci|exec)|npx|yarn|pnpm)\b",
        r"(?:npm|yarn|pnpm|error).*(?:EAI_AGAIN|ENOTFOUND|ENETUNREACH)",
    ),
    _tool(
        "git",
        rf"git{_FLAGS}(?:clone|fetch|pull|submodule)\b",
        rf"^(?:fatal: unable to access|ssh: ).*(?:{_UNRESOLVED})",
    ),
    _tool(
        "apk",
        rf"apk{_FLAGS}(?:add|update|upgrade)\b",
        r"^(?:ERROR|WARNING): .*(?:temporary error|DNS|network|try again later)",
    ),
    _tool(
        "dnf",
        rf"(?:dnf|microdnf|yum){_FLAGS}(?:install|update|upgrade|makecache)\b",
        rf"(?:curl error|error:|cannot).*(?:{_UNRESOLVED}|mirrorlist)",
    ),
    _tool(
        "cargo",
        r"cargo\s+(?:\S+\s+)?(?:install|fetch|build|test|run)\b",
        rf"spurious network error|^\s+\[6\] .*(?:{_UNRESOLVED})",
    ),
    _tool(
        "go",
        r"go\s+(?:install|get|mod|test|run|build)\b",
        r"dial tcp.*(?:lookup|unreachable)",
    ),
    _tool(
        "gem",
        r"(?:gem|bundle)\s+install\b",
        rf"(?:error:|could not (?:fetch|reach)|socketerror).*(?:{_UNRESOLVED}|getaddrinfo|host)",
    ),
    _tool(
        "conda",
        r"(?:conda|mamba|micromamba)\s+(?:install|create|env|update)\b",
        r"CondaHTTPError|CondaConnectionError|could not resolve host",
    ),
)

_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_HOST = re.compile(r"\b(?:https?|ftp)://(?:[^/@\s\"']*@)?([\w.-]+)", re.IGNORECASE)
_OWN = re.compile(r"\blocalhost\b|\b127\.\d|::1\b|\b0\.0\.0\.0\b", re.IGNORECASE)
_PRIVATE = (
    ".local",
    ".internal",
    ".localhost",
    ".localdomain",
    ".test",
    ".invalid",
    ".lan",
    ".home",
    ".corp",
)
_ADDRESS = re.compile(r"[\d.]+")


def wanted_network(task: Task, done: ExecResult, handed: Sequence[bytes]) -> str:
    """The tool by which the tests wanted something from the network and did not get it, "" where none.

    `done` is the tests' own command, `handed` the files that came from the solver.
    """
    script = _COMMENT.sub("", "\n".join(_scripts(task)))
    tools = [tool for tool in _TOOLS if tool.call.search(script)]
    hosts = {host.lower() for host in _HOST.findall(script) if _public(host.lower())}
    for line in _lines(done) if tools else ():
        for tool in tools:
            if _complains(tool, line, hosts) and not any(line.encode() in data for data in handed):
                return tool.name
    return ""


def _complains(tool: _Tool, line: str, hosts: set[str]) -> bool:
    if not tool.complaint.search(line) or _OWN.search(line):
        return False
    return not tool.names_host or any(host in line.lower() for host in hosts)


def _scripts(task: Task) -> Iterator[str]:
    for path, file in task.under("tests").items():
        script = path.endswith((".sh", ".bash", ".py")) or path.startswith("units/")
        if script or file.data.startswith(b"#!"):
            yield file.data.decode("utf-8", "replace")


def _lines(done: ExecResult) -> Iterator[str]:
    for stream in (done.stdout, done.stderr):
        for line in stream.decode("utf-8", "replace").splitlines():
            yield line[:MAX_LINE]


def _public(host: str) -> bool:
    """A name that the internet would know: a task's own services have others, or addresses."""
    return "." in host.strip(".") and not host.endswith(_PRIVATE) and not _ADDRESS.fullmatch(host)
