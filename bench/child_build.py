"""A child's image against the changed layers alone: what the parts that stayed the same add to a build.

    python bench/child_build.py [--task seeds/log-forensics] [--generations 3]

Grows the seed with the offline author, without sandboxes, and builds each child's environment while its
parent's image is in the engine's cache. Beside it stands a build of the child's own layers alone: the same
files, copied onto the parent's image. A ratio near 1 says that everything else came from the cache.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from agents.plan import Effort  # noqa: E402
from sandboxes.backends import open_backend  # noqa: E402
from sandboxes.base import Backend  # noqa: E402
from sandboxes.files import TaskFile  # noqa: E402
from sandboxes.intake import read_folder  # noqa: E402
from sandboxes.task import Task  # noqa: E402
from sandboxes.trial import environment_context  # noqa: E402
from tests.agents.growing import Grown, built, next_plan  # noqa: E402

PARENT = "envevo-bench/parent"


def seconds_alone(parent: Task, child: Task) -> float:
    """The files that the child's context has and its parent's has not, copied onto the parent's image."""
    changed = {
        path: file
        for path, file in environment_context(child).items()
        if environment_context(parent).get(path) != file and path != "Dockerfile"
    }
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), {**changed, "Dockerfile": TaskFile.text(f"FROM {PARENT}\nCOPY . /\n")})
        started = time.monotonic()
        subprocess.run(
            ["docker", "build", "--quiet", "--network=none", "--tag", "envevo-bench/alone", folder],
            check=True, capture_output=True,
        )  # fmt: skip
        return time.monotonic() - started


def write(folder: Path, files: Mapping[str, TaskFile]) -> None:
    for path, file in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--task", type=Path, default=ROOT / "seeds" / "log-forensics")
    parser.add_argument("--generations", type=int, default=3)
    chosen = parser.parse_args()
    address = os.environ.get("DOCKER_HOST", "")
    with tempfile.TemporaryDirectory(prefix="envevo-bench-") as folder:
        backend = open_backend(
            "docker", instance=f"bench{os.getpid()}", folder=Path(folder), docker_host=address
        )
        try:
            compare(backend, chosen)
        finally:
            backend.trim(keep=0, floor=0, unused_for=0)


def compare(backend: Backend, chosen: argparse.Namespace) -> None:
    grown = Grown.seed(read_folder(chosen.task).task)
    image = backend.build(environment_context(grown.task), timeout=300)
    for generation in range(1, chosen.generations + 1):
        plan = next_plan(grown, Effort.HIGH, "bench")
        if plan is None:
            sys.exit(f"no direction led to generation {generation}")
        child, _ = built(grown, plan)
        subprocess.run(["docker", "tag", image.id, PARENT], check=True)
        alone = seconds_alone(grown.task, child.task)
        started = time.monotonic()
        image = backend.build(environment_context(child.task), timeout=300)
        whole = time.monotonic() - started
        print(
            f"generation {generation}: whole build {whole:.2f} s, changed files alone {alone:.2f} s, "
            f"ratio {whole / alone:.2f}"
        )
        grown = child


if __name__ == "__main__":
    main()
