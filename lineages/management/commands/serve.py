from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from lineages import embedded_redis
from lineages.management.commands._output import Exit, leave, progress

WORKER = (
    "celery",
    "-A",
    "envevo_site",
    "worker",
    "-B",
    "-Q",
    "agents,sandboxes",
    "--loglevel",
    "WARNING",
    "-Ofair",
)
WEB = ("gunicorn", "envevo_site.wsgi", "--workers", "2", "--threads", "4", "--log-level", "warning")
STOP_SECONDS = 15


class Command(BaseCommand):
    help = (
        "Serve the dashboard and run a worker, with the embedded broker where none is configured."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bind", default="127.0.0.1:8000", metavar="HOST:PORT")

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("migrate", verbosity=0)
        leave(serve(options["bind"]))


def serve(bind: str) -> Exit:
    """Run broker, worker and web until one of them ends or a signal comes; then end all of them."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(_terminated_as_interrupt())
        if settings.EMBEDDED_BROKER:
            stack.enter_context(embedded_redis.running(settings.EMBEDDED_BROKER))
        worker = stack.enter_context(_process(*WORKER, "--concurrency", str(settings.SLOTS)))
        web = stack.enter_context(_process(*WEB, "--bind", bind))
        progress(f"serving at http://{bind} with a worker; Ctrl-C ends both")
        with contextlib.suppress(KeyboardInterrupt):
            return _watch({"worker": worker, "web": web})
    return Exit.WELL


def _watch(processes: dict[str, subprocess.Popen[bytes]]) -> Exit:
    while True:
        for name, process in processes.items():
            if process.poll() is not None:
                progress(f"the {name} process ended by itself (exit {process.returncode}): stopping")
                return Exit.MACHINE
        time.sleep(0.5)


@contextlib.contextmanager
def _process(module: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-m", module, *arguments], start_new_session=True)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()


@contextlib.contextmanager
def _terminated_as_interrupt() -> Iterator[None]:
    """SIGTERM ends everything in order, as Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
