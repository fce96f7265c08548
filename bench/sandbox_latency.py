"""How long a sandbox takes to start and a command to run, beside the plain commands: ratios.

python bench/sandbox_latency.py [--runs 20]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from sandboxes.backends import open_backend  # noqa: E402
from sandboxes.base import Limits, Sandbox  # noqa: E402
from sandboxes.files import TaskFile  # noqa: E402

CONTEXT = {"Dockerfile": TaskFile.text("FROM debian:bookworm-slim\nWORKDIR /app\n")}


def median(work: Callable[[], object], runs: int) -> float:
    """Milliseconds."""
    times = []
    for _ in range(runs):
        started = time.monotonic()
        work()
        times.append((time.monotonic() - started) * 1000)
    return statistics.median(times)


def ours(name: str, folder: Path, runs: int) -> tuple[float, float]:
    """Milliseconds to start a sandbox with its first command and end it, and of a further command."""
    backend = open_backend(
        name, instance="bench", folder=folder, docker_host=os.environ.get("DOCKER_HOST", "")
    )
    image = backend.build(CONTEXT, timeout=120)

    def whole() -> None:
        with backend.open(image, Limits(), labels={}) as box:
            run(box)

    def run(box: Sandbox) -> None:
        box.exec(["true"], timeout=20)

    start = median(whole, runs)
    with backend.open(image, Limits(), labels={}) as box:
        run(box)
        return start, median(lambda: run(box), runs)


@contextmanager
def container() -> Iterator[str]:
    name = f"envevo-bench-{uuid.uuid4().hex}"
    call("run", "--detach", "--name", name, "--network=none", "debian:bookworm-slim", "sleep", "infinity")
    try:
        yield name
    finally:
        call("rm", "--force", name)


def call(*words: str) -> None:
    subprocess.run(["docker", *words], check=True, capture_output=True)


def plain(runs: int) -> tuple[float, float]:
    def whole() -> None:
        with container() as name:
            call("exec", name, "true")

    start = median(whole, runs)
    with container() as name:
        return start, median(lambda: call("exec", name, "true"), runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    chosen = parser.parse_args()
    start, execute = plain(chosen.runs)
    print(f"docker commands: start and end {start:.0f} ms, exec {execute:.0f} ms")
    for name in ("docker", "bubblewrap"):
        with tempfile.TemporaryDirectory(prefix="envevo-bench-") as folder:
            a, b = ours(name, Path(folder), chosen.runs)
        print(
            f"{name}: start and end {a:.0f} ms, exec {b:.0f} ms: {a / start:.2f} and {b / execute:.2f} of it"
        )


if __name__ == "__main__":
    main()
