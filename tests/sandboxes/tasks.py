"""Small tasks for the tests of this floor, written to a folder or kept as a mapping."""

from __future__ import annotations

from pathlib import Path

from sandboxes.files import TaskFile

TOML = b"""\
schema_version = "1.4"

[task]
name = "case-org/ready"
"""
SOLVE = b"#!/bin/bash\nprintf ready > /app/answer.txt\n"
TEST = b"#!/bin/bash\ngrep -q ready /app/answer.txt && echo 1 > /logs/verifier/reward.txt\n"


def with_changes(changes: dict[str, TaskFile | bytes | None]) -> dict[str, TaskFile]:
    whole: dict[str, TaskFile] = {
        "task.toml": TaskFile(TOML),
        "instruction.md": TaskFile(b"Write ready to /app/answer.txt.\n"),
        "environment/Dockerfile": TaskFile(b"FROM debian:bookworm-slim\nWORKDIR /app\n"),
        "solution/solve.sh": TaskFile(SOLVE, 0o755),
        "tests/test.sh": TaskFile(TEST, 0o755),
    }
    for path, content in changes.items():
        if content is None:
            del whole[path]
        else:
            whole[path] = TaskFile(content) if isinstance(content, bytes) else content
    return whole


def plant(root: Path, changes: dict[str, TaskFile | bytes | None] | None = None) -> Path:
    """Write such a task below `root` and return `root`."""
    for path, file in with_changes(changes or {}).items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if file.link is not None:
            place.symlink_to(file.link)
        else:
            place.write_bytes(file.data)
            place.chmod(file.mode)
    return root
