"""Marks the checks that `KNOWN_WEAKNESSES` lists: they have to fail, strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sandboxes.contract.weaknesses import KNOWN_WEAKNESSES

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and HERE in item.path.parents and hasattr(item, "callspec"):
            check = item.originalname.removeprefix("test_")
            reason = KNOWN_WEAKNESSES.get((item.callspec.params.get("backend"), check))
            if reason:
                item.add_marker(pytest.mark.xfail(strict=True, reason=reason))
