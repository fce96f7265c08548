"""A planted seed and a scripted author, on the bubblewrap backend or none at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.scripted import SCRIPTS, Script
from lineages.growth import loops
from lineages.growth.evolving import RecipeSettings, start
from lineages.growth.models import Evolution
from lineages.library import importing
from lineages.library.models import Environment
from lineages.library.sources import Source
from sandboxes.intake import Intake
from tests.tasks import words


@pytest.fixture
def script() -> Iterator[Script]:
    """The answers of the author called `scripted`, fresh for each test."""
    before, SCRIPTS["scripted"] = SCRIPTS["scripted"], Script()
    yield SCRIPTS["scripted"]
    SCRIPTS["scripted"] = before


@pytest.fixture
def seed() -> Environment:
    task = words()
    found = Source(Path("tests"), "words", lambda: Intake(task, (), task.source_digest))
    (planted,) = importing.take_in([found])
    assert isinstance(planted, importing.Imported)
    return planted.environment


def begin(seed: Environment, *, generations: int = 1, **settings: object) -> Evolution:
    """An evolution by the scripted author, judged by the cheapest gates that a judge is among."""
    chosen = RecipeSettings(**{"author": "scripted", "profile": "paper", **settings})
    return start(seed, chosen, generations=generations)


def grow(evolution: Evolution) -> Evolution:
    """Drive it in this process until it ends or waits for a person."""
    return loops.drive(evolution, tell=lambda _: None)
