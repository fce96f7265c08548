"""Stopping, forking, and what happens when a worker dies."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sandboxes.base import Backend, Image, Sandbox
from sandboxes.errors import SandboxError
from sandboxes.files import TaskFile
from tests.sandboxes.conftest import DOCKER_HOST, INSTANCE, LIMITS
from tests.sandboxes.contract.test_commands import sh

WORKER = """
import sys
from pathlib import Path
from sandboxes.backends import open_backend
from sandboxes.base import Limits
from sandboxes.files import TaskFile
name, instance, folder, host, token, seconds = sys.argv[1:]
backend = open_backend(name, instance=instance, folder=Path(folder), docker_host=host)
image = backend.build({"Dockerfile": TaskFile.text("FROM debian:bookworm-slim\\n")}, timeout=120)
with backend.open(image, Limits(), labels={"token": token}) as box:
    box.exec(["true"], timeout=60)
    print("ready", flush=True)
    box.exec(["sh", "-c", f"setsid sleep {seconds} & sleep {seconds}"], timeout=600)
"""


def processes(argument: str) -> list[int]:
    """Processes of the machine with this argument; an engine elsewhere has none here."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if argument.encode() in (process / "cmdline").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def eventually(condition: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def test_stop_ends_processes_and_keeps_files(box: Sandbox) -> None:
    sh(box, "(while :; do echo x >> /app/beats; sleep 0.02; done) >/dev/null 2>&1 & sleep 0.2")
    box.stop()
    beats = box.read_files(["/app"])["/app/beats"].data
    time.sleep(0.2)
    assert beats and box.read_files(["/app/beats"])["/app/beats"].data == beats


def test_stop_can_be_called_twice_and_before_any_command(backend: Backend, image: Image) -> None:
    with backend.open(image, LIMITS, labels={"test": "stop"}) as box:
        box.stop()
        box.stop()
        assert list(box.read_files(["/app/seed.txt"])) == ["/app/seed.txt"]


def test_stop_ends_a_command_of_another_thread(box: Sandbox) -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            box.exec(["sleep", "60"], timeout=50)
        except SandboxError as error:
            errors.append(error)

    busy = threading.Thread(target=work)
    busy.start()
    time.sleep(0.7)
    box.stop()
    busy.join(20)
    assert not busy.is_alive() and errors


def test_files_can_be_written_after_stop(box: Sandbox) -> None:
    sh(box, "rm -rf /tests; ln -s /etc /tests")
    box.stop()
    box.write_files({"f": TaskFile(b"1")}, "/tests")
    assert sh(box, "cat /tests/f; test ! -L /tests") == b"1"


def test_a_fork_has_the_files_and_no_processes(backend: Backend, box: Sandbox) -> None:
    sh(
        box,
        "echo mine > /app/f; rm /app/seed.txt; echo tool > /usr/local/bin/t; rm /usr/bin/perl; "
        "mkdir -p /usr/share/doc; chmod 700 /app; ln -s f /app/l",
    )
    sh(box, "sleep 60.6061 >/dev/null 2>&1 &")
    with backend.fork(box, LIMITS, labels={"test": "fork"}) as fork:
        seen = sh(fork, "cat l /usr/local/bin/t; ls /app; ls /usr/bin/perl 2>/dev/null; stat -c %a /app")
        made = b"" if backend.provisional else b"made-by-run\n"
        assert seen == b"mine\ntool\nf\nl\n" + made + b"700\n"
        assert b"60.6061" not in sh(fork, "cat /proc/[0-9]*/cmdline")
    assert not processes("60.6061")


def test_a_fork_keeps_the_images_settings(backend: Backend, box: Sandbox) -> None:
    with backend.fork(box, LIMITS, labels={"test": "fork"}) as fork:
        assert fork.image == box.image
        assert sh(fork, "pwd; echo $GREETING") == b"/app\ngood morning\n"


def test_a_fork_changes_nothing_in_its_origin(backend: Backend, box: Sandbox) -> None:
    with backend.fork(box, LIMITS, labels={"test": "fork"}) as fork:
        sh(fork, "echo changed > /app/seed.txt; echo > /usr/local/bin/t")
    assert sh(box, "cat /app/seed.txt; test ! -e /usr/local/bin/t") == b"a seed\n"


def test_a_sandbox_is_gone_when_its_context_ends(backend: Backend, image: Image) -> None:
    with backend.open(image, LIMITS, labels={"test": "gone"}) as box:
        sh(box, "true")
    assert backend.sweep(lambda labels: False) == 0
    with pytest.raises(SandboxError):
        box.exec(["true"], timeout=60)


def test_a_sandbox_is_gone_when_its_context_fails(backend: Backend, image: Image) -> None:
    with pytest.raises(ZeroDivisionError), backend.open(image, LIMITS, labels={"test": "gone"}):
        raise ZeroDivisionError
    assert backend.sweep(lambda labels: False) == 0


def test_what_a_killed_worker_leaves_is_swept(backend: Backend, trees: Path) -> None:
    token, seconds = secrets.token_hex(8), f"300.{secrets.randbelow(10**9)}"
    folder = str(trees / "installation")
    command = [sys.executable, "-c", WORKER, backend.name, INSTANCE, folder, DOCKER_HOST, token, seconds]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert worker.stdout is not None and worker.stdout.readline() == b"ready\n"
        assert eventually(lambda: bool(processes(seconds)) or backend.name == "docker")
    finally:
        os.kill(worker.pid, signal.SIGKILL)
        worker.communicate()
    assert backend.sweep(lambda labels: labels.get("token") == token) == 0
    assert backend.sweep(lambda labels: labels.get("token") != token) == 1
    assert eventually(lambda: not processes(seconds))
    assert backend.sweep(lambda labels: False) == 0


def test_sweep_ends_one_whose_worker_is_alive_and_leaves_others_alone(backend: Backend, image: Image) -> None:
    with (
        backend.open(image, LIMITS, labels={"token": "stale"}) as stale,
        backend.open(image, LIMITS, labels={"token": "live", "more": "a b=c"}) as live,
    ):
        seen: list[dict[str, str]] = []
        sh(stale, "true")
        sh(live, "true")
        assert backend.sweep(lambda labels: bool(seen.append(dict(labels))) or labels["token"] == "live") == 1
        assert {"token": "live", "more": "a b=c"} in seen
        assert sh(live, "cat seed.txt") == b"a seed\n"
        with pytest.raises(SandboxError):
            stale.exec(["true"], timeout=60)


def test_sweep_ends_a_command_that_still_runs(backend: Backend, image: Image) -> None:
    errors: list[BaseException] = []
    with backend.open(image, LIMITS, labels={"token": "stale"}) as box:

        def work() -> None:
            try:
                box.exec(["sleep", "60.0707"], timeout=50)
            except SandboxError as error:
                errors.append(error)

        busy = threading.Thread(target=work)
        busy.start()
        time.sleep(0.7)
        assert backend.sweep(lambda labels: False) == 1
        busy.join(20)
    assert errors and eventually(lambda: not processes("60.0707"))


def test_sweep_leaves_another_installation_alone(
    backend: Backend, image: Image, make_backend: Callable[..., Backend]
) -> None:
    other = make_backend(backend.name, "-other")
    with backend.open(image, LIMITS, labels={"token": "x"}) as box:
        sh(box, "true")
        assert other.sweep(lambda labels: False) == 0
        assert sh(box, "cat seed.txt") == b"a seed\n"


def test_sandboxes_can_be_used_from_several_threads(backend: Backend, image: Image) -> None:
    outputs: list[bytes] = []

    def work(number: int) -> None:
        with backend.open(image, LIMITS, labels={"thread": str(number)}) as box:
            outputs.append(sh(box, f"echo {number}"))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outputs) == [b"0\n", b"1\n", b"2\n", b"3\n"]


def test_the_backend_says_what_it_is(backend: Backend) -> None:
    backend.check()
    assert backend.identity().startswith(f"{backend.name} ")
    assert backend.identity() == backend.identity()
    assert backend.provisional == (backend.name == "bubblewrap")
