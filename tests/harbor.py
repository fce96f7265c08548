"""Harbor itself, as its users run it: the rewards of its own agents on task folders."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.conftest import HARBOR

LIMIT_SECONDS = 240
AT_ONCE = 2


def reward(task: Path, agent: str, jobs: Path) -> float:
    """What Harbor's `oracle` or `nop` gets for the task at `task`; `jobs` is where Harbor may write."""
    (got,) = rewards(task, agent, jobs).values()
    assert isinstance(got, float), got
    return got


def rewards(path: Path, agent: str, jobs: Path, *, limit: float = LIMIT_SECONDS) -> dict[str, float | str]:
    """By the name of the task's folder, for one task or a folder of many, two at a time.

    Where Harbor gives no reward, the name of its exception. `limit` is in seconds, for all together.
    """
    command = [HARBOR, "run", "-p", path, "-a", agent, "-o", jobs, "-n", AT_ONCE, "-q"]
    ran = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=limit, check=False
    )
    told = [json.loads(result.read_text()) for result in jobs.glob("*/*__*/result.json")]
    assert told, ran.stdout[-2000:] + ran.stderr[-2000:]
    return {Path(each["config"]["task"]["path"]).name: _got(each) for each in told}


def _got(result: Mapping[str, object]) -> float | str:
    failed = result["exception_info"]
    if isinstance(failed, dict):
        return str(failed["exception_type"])
    verified = result["verifier_result"]
    assert isinstance(verified, dict)
    return float(verified["rewards"]["reward"])


def lint(*tasks: Path) -> list[object]:
    """Harbor's own findings on task folders, by its default rules."""
    ran = subprocess.run(
        [str(HARBOR), "lint", *map(str, tasks), "--json"],
        capture_output=True,
        text=True,
        timeout=60 + 2 * len(tasks),
        check=False,
    )
    found: list[object] = json.loads(ran.stdout)
    return found
