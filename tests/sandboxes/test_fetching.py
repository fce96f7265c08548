"""Tests that fall for want of a network are told apart from tests that a solver did not pass."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from sandboxes.base import ExecResult
from sandboxes.fetching import wanted_network
from sandboxes.task import Task
from sandboxes.trial import Solver, Trial, TrialOutcome, nop, oracle
from tests.sandboxes.tasks import with_changes
from tests.sandboxes.test_trial import READY, REWARD, agent, run, run_here, separate, shared

__all__ = ["run", "run_here"]

Run = Callable[[Task, Solver], Trial]
CURL = "curl: (6) Could not resolve host: tools.example.org"


def by(script: str) -> Task:
    return Task.of(with_changes({"tests/test.sh": f"#!/bin/bash\n{script}\n".encode()}))


def printed(stderr: str, stdout: str = "") -> ExecResult:
    return ExecResult(("/tests/test.sh",), 1, stdout.encode(), stderr.encode(), 0, 1.0, datetime.now(UTC))


@pytest.mark.parametrize(
    ("script", "said", "tool"),
    [
        ("curl -LsSf https://tools.example.org/install.sh | sh", CURL, "curl"),
        (
            "U=https://tools.example.org/x; curl -o x $U",
            "curl: (7) Failed to connect to tools.example.org port 443: Couldn't connect to server",
            "curl",
        ),
        (
            "wget https://tools.example.org/x",
            "wget: unable to resolve host address 'tools.example.org'",
            "wget",
        ),
        ("wget -q https://tools.example.org/x", "wget: bad address 'tools.example.org'", "wget"),
        (
            "apt-get update && apt-get install -y curl",
            "  Temporary failure resolving 'mirror.example.org'",
            "apt",
        ),
        (
            "apt-get -qq -y install jq",
            "E: Failed to fetch http://mirror.example.org/jq  Could not resolve 'mirror.example.org'",
            "apt",
        ),
        (
            "python3 -m pip install pytest",
            "WARNING: Retrying after connection broken by 'NewConnectionError('<pip._vendor.urllib3."
            "HTTPSConnection object>: Failed to establish a new connection: [Errno -3]')'",
            "pip",
        ),
        ("uvx -w pytest pytest /tests", "  Caused by: dns error: failed to lookup address information", "uv"),
        (
            "npm ci",
            "npm ERR! request to https://r.example.org failed, reason: getaddrinfo EAI_AGAIN r",
            "npm",
        ),
        (
            "git clone https://g.example.org/x",
            "fatal: unable to access 'https://g.example.org/x/': Could not resolve host: g.example.org",
            "git",
        ),
        (
            "go test ./...",
            "go: x@v1: dial tcp: lookup p.example.org: no such host",
            "go",
        ),
        ("apk add jq", "WARNING: fetching https://a.example.org/x: temporary error (try again later)", "apk"),
    ],
)
def test_the_tool_that_found_no_network_is_named(script: str, said: str, tool: str) -> None:
    assert wanted_network(by(script), printed(f"before\n{said}\nafter\n"), []) == tool
    assert wanted_network(by(script), printed("", f"{said}\n"), []) == tool
    assert wanted_network(by(script), printed("all is well\n"), []) == ""


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("cat /app/log", CURL),
        ("# curl https://tools.example.org/x\ncat /app/log", CURL),
        ("curl https://other.example.org/x", CURL),
        (
            "curl -s http://localhost:8080/",
            "curl: (7) Failed to connect to localhost port 80: Couldn't connect",
        ),
        ("curl http://127.0.0.1:80/", "curl: (7) Failed to connect to 127.0.0.1 port 80: Connection refused"),
        ("curl http://api.internal/", "curl: (6) Could not resolve host: api.internal"),
        ("curl http://api/", "curl: (6) Could not resolve host: api"),
        ("curl http://10.0.0.7/", "curl: (7) Failed to connect to 10.0.0.7 port 80: Network is unreachable"),
        ("pip install x", CURL),
        ("pip install x", "socket.gaierror: [Errno -3] Temporary failure in name resolution"),
        ("/app/bin/git-clone; run-curl https://tools.example.org/", CURL),
        (
            "git log",
            "fatal: unable to access 'https://g.example.org/': Could not resolve host: g.example.org",
        ),
    ],
)
def test_words_of_a_solver_or_about_the_tasks_own_services_do_not_count(script: str, said: str) -> None:
    assert wanted_network(by(script), printed(said), []) == ""


def test_a_line_that_the_solver_handed_over_does_not_count() -> None:
    task = by("curl -LsSf https://tools.example.org/install.sh | sh")
    assert wanted_network(task, printed(CURL), [b"other", f"x\n{CURL}\n".encode()]) == ""


INSTALL = f"""# What a fetching tool says without a network, whichever is in the image.
curl() {{ echo '{CURL}' >&2; return 6; }}
curl -LsSf https://tools.example.org/install.sh | sh
"""


@pytest.mark.parametrize(("mode", "end"), [(shared, f"echo 0 > {REWARD}"), (separate, "exit 1")])
def test_tests_that_fetch_come_to_no_verdict(run: Run, mode: Callable[..., Task], end: str) -> None:
    trial = run(mode(INSTALL + end), oracle)
    assert (trial.outcome, trial.reward) == (TrialOutcome.NETWORK, None)
    assert trial.summary.startswith(
        "The tests came to no verdict: curl in them wanted something from the network, and no sandbox has "
        "one. Have the Dockerfile of the tests put it into the image."
    )


def test_tests_that_can_do_without_what_they_fetch_keep_their_verdict(run_here: Run) -> None:
    task = separate(f"{INSTALL}echo 'ok 1 - a'\n{READY}")
    assert run_here(task, oracle).outcome is TrialOutcome.PASSED
    assert run_here(task, nop).outcome is TrialOutcome.FAILED, "they told what each of them said"


def test_a_solver_that_prints_such_words_has_failed(run_here: Run) -> None:
    forged = agent(f"echo '{CURL}' | tee /app/answer.txt >&2")
    fetches = '[ -n "$NEVER" ] && curl https://tools.example.org/; cat /app/answer.txt >&2\n'
    trial = run_here(separate(fetches + READY), forged)
    assert trial.outcome is TrialOutcome.FAILED and trial.reward is not None and trial.reward.value == 0
