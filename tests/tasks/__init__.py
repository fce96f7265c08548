"""Small tasks that tests use, as values."""

from __future__ import annotations

from sandboxes.files import TaskFile
from sandboxes.task import Task

CONFIG = """schema_version = "1.4"
artifacts = ["/app/out"]

[task]
name = "envevo-tests/words"

[metadata]
category = "general"

[verifier]
environment_mode = "separate"
timeout_sec = 30.0

[agent]
timeout_sec = 30.0

[environment]
memory_mb = 256
"""
SOLVE = '#!/bin/bash\nset -e\nfor part in /solution/parts/*; do bash "$part"; done\n'
TEST = """#!/bin/bash
reward=1
for unit in /tests/units/*; do bash "$unit" || reward=0; done
mkdir -p /logs/verifier
echo "$reward" > /logs/verifier/reward.txt
"""
FIRST_PART = "#!/bin/bash\nmkdir -p /app/out\nprintf ready > /app/out/first\n"
FIRST_UNIT = '#!/bin/bash\n[ "$(cat /app/out/first 2>/dev/null)" = ready ]\n'


def words() -> Task:
    """A separate-mode task that asks for a word in a file."""
    files: dict[str, TaskFile] = {
        "task.toml": TaskFile.text(CONFIG),
        "instruction.md": TaskFile.text("Write the word ready to /app/out/first.\n"),
        "environment/Dockerfile": TaskFile.text("FROM debian:bookworm-slim\nWORKDIR /app\n"),
        "solution/solve.sh": TaskFile.text(SOLVE, executable=True),
        "solution/parts/first.sh": TaskFile.text(FIRST_PART, executable=True),
        "tests/Dockerfile": TaskFile.text("FROM debian:bookworm-slim\nWORKDIR /app\nCOPY . /tests/\n"),
        "tests/test.sh": TaskFile.text(TEST, executable=True),
        "tests/units/first.sh": TaskFile.text(FIRST_UNIT, executable=True),
    }
    return Task.of(files)
