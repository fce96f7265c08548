"""Cutting what is whole into pieces at random places."""

from __future__ import annotations

from random import Random
from typing import TypeVar

Whole = TypeVar("Whole", bytes, list[bytes])


def pieces(whole: Whole, count: int, rng: Random) -> list[Whole]:
    """`count` pieces, none of them empty; fewer where there is not enough to cut."""
    places: list[int] = sorted(rng.sample(range(1, len(whole)), min(count, len(whole)) - 1))
    return [whole[start:end] for start, end in zip([0, *places], [*places, len(whole)], strict=True)]
