"""The order of the files in a run of all: those that take longest come first.

Files are handed out to processes that run side by side. One that takes minutes and starts last keeps a
single process at work while the others have nothing left. `scripts/test` loads this as a plugin.
"""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent

# About half a minute and more each on two cores, the dearest first.
DEAR = (
    "test_harbor_agreement.py",
    "browser/test_main_job.py",
    "lineages/test_model_evolutions.py",
    "lineages/test_model_kills.py",
    "lineages/test_workers.py",
    "lineages/test_loops.py",
    "agents/test_depth.py",
    "lineages/test_verify.py",
    "lineages/test_cli.py",
    "gates/test_adversary.py",
    "agents/test_growth.py",
    "browser/test_compare.py",
    "browser/test_pages.py",
    "gates/test_wrong_solution.py",
    "sandboxes/contract/test_room.py",
    "sandboxes/test_trial.py",
    "sandboxes/test_trial_units.py",
    "sandboxes/test_sharing.py",
    "lineages/test_audits.py",
    "lineages/test_campaigns.py",
    "lineages/test_reports.py",
    "agents/test_operators.py",
    "sandboxes/contract/test_commands.py",
    "gates/test_regrade.py",
    "gates/test_leaks.py",
    "test_seeds.py",
)


def rank(path: Path) -> int:
    """Where the file stands among the dear ones; behind them all if it is none."""
    name = path.relative_to(HERE).as_posix() if path.is_relative_to(HERE) else ""
    return DEAR.index(name) if name in DEAR else len(DEAR)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    gone = [name for name in DEAR if not (HERE / name).is_file()]
    if gone:
        raise pytest.UsageError(f"tests/dear_first.py names {', '.join(gone)}, which is not there")
    items.sort(key=lambda item: rank(item.path))
