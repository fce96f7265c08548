"""Tasks for the tests of the offline author: one that every operator can work on, and scripts around it."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from sandboxes.files import TaskFile
from sandboxes.task import Task

CONFIG = """# what is kept: comments, order, unknown keys
version = "1.0"

[task]
name = "envevo-tests/regions" # the name

[metadata]
custom = { a = [1, 2] }

[verifier]
timeout_sec = 30.0
brand_new_key = true

[agent]
timeout_sec = 30.0
"""
INSTRUCTION = """Sum the third column of /app/data/orders.csv for each region (second column) that
/app/regions.txt lists. Write one line `region total` for each, sorted, to /app/totals.txt.
"""
DOCKERFILE = """FROM debian:bookworm-slim
WORKDIR /app
COPY data/ /app/data/
COPY regions.txt ./
"""
SOLVE = """#!/bin/bash
set -euo pipefail
cd /app
sort -u regions.txt | while read -r region; do
  echo "$region $(awk -F, -v r="$region" '$2 == r { s += $3 } END { print s + 0 }' data/orders.csv)"
done > totals.txt
"""
TEST = """#!/bin/bash
mkdir -p /logs/verifier
expected=$(awk -F, '{ s[$2] += $3 } END { for (r in s) print r, s[r] }' /app/data/orders.csv | sort)
reward=0
if [ -n "$expected" ] && [ "$(cat /app/totals.txt 2>/dev/null)" = "$expected" ]; then reward=1; fi
echo "$reward" > /logs/verifier/reward.txt
"""
REGIONS = ("north", "south", "east", "west")
ORDERS = "/app/data/orders.csv"
LIST = "/app/regions.txt"
TOTALS = "/app/totals.txt"


def orders(count: int = 60) -> str:
    rng = Random("orders")
    return "".join(f"{n},{rng.choice(REGIONS)},{rng.randint(1, 99)}\n" for n in range(1, count + 1))


def regions(changes: Mapping[str, str | None] | None = None) -> Task:
    """A shared-mode task with two inputs and one output; `changes` sets or removes files."""
    texts: dict[str, str | None] = {
        "task.toml": CONFIG,
        "instruction.md": INSTRUCTION,
        "environment/Dockerfile": DOCKERFILE,
        "environment/data/orders.csv": orders(),
        "environment/regions.txt": "".join(f"{region}\n" for region in REGIONS * 6),
        "solution/solve.sh": SOLVE,
        "tests/test.sh": TEST,
        **(changes or {}),
    }
    return Task.of(
        {
            path: TaskFile.text(text, executable=path.endswith(".sh"))
            for path, text in texts.items()
            if text is not None
        }
    )


SEPARATE: Mapping[str, str | None] = {
    "task.toml": 'artifacts = ["/app/totals.txt"]\n'
    + CONFIG.replace("brand_new_key", 'environment_mode = "separate"\nbrand_new_key'),
    "tests/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /srv\nCOPY test.sh /tests/test.sh\n"
    "COPY data/ /app/data/\n",
    "tests/data/orders.csv": orders(),
    "tests/data/readme.txt": "What the orders are checked against.\n",
}
"""Changes that make `regions` a task with a verifier of its own."""


def solved_by(script: str) -> Task:
    """A task with some inputs of several kinds, and this solution."""
    return regions(
        {
            "environment/Dockerfile": DOCKERFILE
            + "COPY logs/ logs/\nCOPY config.json /etc/app/config.json\n",
            "environment/logs/a.log": "first\n",
            "environment/logs/b.log": "second\n",
            "environment/config.json": "{}\n",
            "solution/solve.sh": script,
        }
    )
