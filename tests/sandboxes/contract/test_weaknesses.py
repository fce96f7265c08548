"""The table of known weaknesses is about checks that exist."""

from __future__ import annotations

import re
from pathlib import Path

from tests.sandboxes.contract.weaknesses import KNOWN_WEAKNESSES, WITHOUT_CONTROL_GROUPS


def test_every_weakness_names_a_check() -> None:
    text = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    checks = set(re.findall(r"^def test_(\w+)", text, re.MULTILINE))
    listed = [*KNOWN_WEAKNESSES, *WITHOUT_CONTROL_GROUPS]
    assert {check for _, check in listed} <= checks
    assert {backend for backend, _ in listed} <= {"docker", "bubblewrap"}
