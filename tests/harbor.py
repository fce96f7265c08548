"""Harbor itself, as its users run it: the rewards of its own agents on a task folder."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.conftest import HARBOR

LIMIT_SECONDS = 240


def reward(task: Path, agent: str, jobs: Path) -> float:
    """What Harbor's `oracle` or `nop` gets for the task at `task`; `jobs` is where Harbor may write."""
    command = [HARBOR, "run", "-p", task, "-a", agent, "-o", jobs, "-n", "1", "-q"]
    ran = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )
    (result,) = jobs.glob("*/*__*/result.json")
    told = json.loads(result.read_text())
    assert told["exception_info"] is None, f"{told['exception_info']}\n{ran.stdout[-2000:]}"
    return float(told["verifier_result"]["rewards"]["reward"])


def lint(task: Path) -> list[object]:
    """Harbor's own findings on a task folder, by its default rules."""
    ran = subprocess.run(
        [str(HARBOR), "lint", str(task), "--json"], capture_output=True, text=True, timeout=60, check=False
    )
    found: list[object] = json.loads(ran.stdout)
    return found
