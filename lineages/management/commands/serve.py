from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from lineages import embedded_redis, processes
from lineages.management.commands._output import Exit, leave, progress

WORKER = "celery -A envevo_site worker -B -Ofair -Q agents,sandboxes --loglevel INFO".split()
WEB = "gunicorn envevo_site.wsgi --workers 2 --threads 4 --no-control-socket".split()
START_SECONDS = 30
LAST_LINES = 15


class Command(BaseCommand):
    help = "Serve the dashboard and run a worker, with the embedded broker where none is configured."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bind", type=address, default="127.0.0.1:8000", metavar="HOST:PORT")

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("migrate", verbosity=0)
        leave(serve(options["bind"]))


def address(text: str) -> str:
    """An argument of the form HOST:PORT. Raises `ValueError`, which argparse turns into its sentence."""
    host, _, port = text.rpartition(":")
    if not (host and port.isdecimal() and 0 < int(port) < 65536):
        raise ValueError(text)
    return text


def serve(bind: str) -> Exit:
    """Run broker, worker and web until one of them ends or a signal comes; then end all of them.

    What they say goes to files in the var folder's `logs`.
    """
    if taken(bind):
        return Exit.MACHINE
    watched: dict[str, subprocess.Popen[bytes]] = {}
    with contextlib.ExitStack() as stack:
        stack.enter_context(_terminated_as_interrupt())
        if settings.EMBEDDED_BROKER:
            broker = stack.enter_context(embedded_redis.running(settings.EMBEDDED_BROKER))
            watched |= {"redis": broker} if broker else {}
        concurrency = ("--concurrency", str(settings.SLOTS))
        watched["worker"] = stack.enter_context(_process("worker", *WORKER, *concurrency))
        watched["web"] = stack.enter_context(_process("web", *WEB, "--bind", bind))
        with contextlib.suppress(KeyboardInterrupt):
            return _watch(watched, bind)
    return Exit.WELL


def taken(bind: str) -> bool:
    """Whether something answers there already, which is then said."""
    if not _answers(bind):
        return False
    progress(f"something answers at {bind} already: stop it, or use --bind HOST:PORT (make: BIND=)")
    return True


def _watch(processes: dict[str, subprocess.Popen[bytes]], bind: str) -> Exit:
    """Say when the address answers; end when a process does."""
    answered = False
    deadline = time.monotonic() + START_SECONDS
    while True:
        for name, process in processes.items():
            if process.poll() is not None:
                progress(f"the {name} process ended, exit {process.returncode}:\n{_last_words(name)}")
                return Exit.MACHINE
        if not answered and (answered := _answers(bind)):
            progress(
                f"serving at http://{bind} with a worker, logs in {_log('web').parent}; Ctrl-C ends both"
            )
        if not answered and time.monotonic() > deadline:
            progress(f"nothing answers at {bind} after {START_SECONDS} s:\n{_last_words('web')}")
            return Exit.MACHINE
        time.sleep(0.2)


def _answers(bind: str) -> bool:
    host, _, port = bind.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=1):
            return True
    except OSError:
        return False


def _log(name: str) -> Path:
    return Path(settings.VAR) / "logs" / f"{name}.log"


def _last_words(name: str) -> str:
    if not _log(name).exists():
        return ""
    return "\n".join(_log(name).read_text(errors="replace").splitlines()[-LAST_LINES:])


@contextlib.contextmanager
def _process(name: str, module: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    _log(name).parent.mkdir(parents=True, exist_ok=True)
    with (
        _log(name).open("ab") as log,
        processes.running([sys.executable, "-m", module, *arguments], output=log) as process,
    ):
        yield process


@contextlib.contextmanager
def _terminated_as_interrupt() -> Iterator[None]:
    """SIGTERM ends everything in order, as Ctrl-C does, also where a shell's `&` had interrupts ignored."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
