"""Marks the checks that `KNOWN_WEAKNESSES` lists: they have to fail, strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandboxes.bubblewrap.cgroups import homes
from tests.sandboxes.contract.weaknesses import KNOWN_WEAKNESSES, WITHOUT_CONTROL_GROUPS

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    weaknesses = {**KNOWN_WEAKNESSES, **({} if "memory" in homes() else WITHOUT_CONTROL_GROUPS)}
    for item in items:
        if isinstance(item, pytest.Function) and HERE in item.path.parents and hasattr(item, "callspec"):
            check = item.originalname.removeprefix("test_")
            reason = weaknesses.get((item.callspec.params.get("backend"), check))
            if reason:
                item.add_marker(pytest.mark.xfail(strict=True, reason=reason))
