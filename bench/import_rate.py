"""How many small tasks a second `manage.py import_tasks` takes in, by the real command.

    python bench/import_rate.py [--tasks 2000] [--runs 2]

Each run has a database and a blob folder of its own (SQLite, in a temporary folder), so that every task is
new. The time of the same command over one task is taken off, since that is how long it takes to start. The
processor time is printed too: on a machine that does other things it says more than the wall.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MANAGE = Path(__file__).resolve().parent.parent / "manage.py"

TASK = {
    "task.toml": '[metadata]\ncategory = "data wrangling"\n\n[agent]\ntimeout_sec = 30\n',
    "instruction.md": "Count the words of /app/{number}.txt into /app/count.txt.\n",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\nRUN echo {number} > {number}.txt\n",
    "solution/solve.sh": "#!/bin/bash\nset -e\nwc -w < /app/{number}.txt > /app/count.txt\n",
    "tests/test.sh": (
        "#!/bin/bash\n[ -s /app/count.txt ] && reward=1 || reward=0\n"
        "echo $reward > /logs/verifier/reward.txt\n"
    ),
}


def make_tasks(folder: Path, count: int) -> Path:
    """`count` tasks of five files, no two with the same content."""
    for number in range(count):
        for path, text in TASK.items():
            place = folder / f"{number // 500:03}" / f"task-{number:05}" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text.replace("{number}", str(number)))
    return folder


def seconds(tasks: Path) -> tuple[float, float]:
    """The wall and the processor time of one import into an empty installation."""
    with tempfile.TemporaryDirectory(prefix="envevo-bench-") as var:
        environment = {
            **os.environ,
            "ENVEVO_VAR": var,
            "ENVEVO_DATABASE_URL": "",
            "ENVEVO_BLOBS": "",
        }
        run = [sys.executable, str(MANAGE)]
        subprocess.run([*run, "migrate", "-v0"], env=environment, check=True)
        started, used = time.monotonic(), _used()
        subprocess.run([*run, "import_tasks", str(tasks)], env=environment, check=True, capture_output=True)
        return time.monotonic() - started, _used() - used


def _used() -> float:
    """Processor seconds of all processes that this one has waited for."""
    times = os.times()
    return times.children_user + times.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=2)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="envevo-tasks-") as folder:
        one = make_tasks(Path(folder) / "one", 1)
        many = make_tasks(Path(folder) / "many", chosen.tasks)
        start = seconds(one)
        for _ in range(chosen.runs):
            wall, used = (whole - first for whole, first in zip(seconds(many), start, strict=True))
            rate = f"{chosen.tasks / wall:.0f} tasks/s, {chosen.tasks / used:.0f} a second of processor time"
            print(f"{chosen.tasks} tasks in {wall:.1f} s: {rate} (start {start[0]:.1f} s)")


if __name__ == "__main__":
    main()
