"""What the single tests of a verifier said, where it tells them apart."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UnitResult:
    """One test's answer. `name` is the verifier's own for it, unique in one run."""

    name: str
    passed: bool
