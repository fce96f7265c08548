"""A branch is an evolution by another recipe than the one its parent was grown by."""

from __future__ import annotations

from dataclasses import dataclass

from agents.casting import Cast
from agents.models import ModelsError
from lineages.growth.models import Evolution, Recipe
from lineages.library.models import Environment

NAMES = {
    "effort": "effort",
    "directions": "directions",
    "approval": "who decides",
    "author": "author",
    "cast": "models",
    "seed": "seed",
    "plan_rounds": "plan rounds",
    "repairs": "repairs",
    "profile": "gates",
    "plan_rubric": "plan rubric",
    "environment_rubric": "environment rubric",
}
DIGEST_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Difference:
    """One setting of two recipes, in words."""

    name: str
    before: str
    after: str


def grown_by(environment: Environment) -> Evolution | None:
    """The evolution that made it; for a seed the newest that grew from it."""
    made = Evolution.objects.filter(child=environment).select_related("recipe").first()
    if made or environment.generation:
        return made
    return environment.evolutions.select_related("recipe").order_by("-pk").first()


def described(recipe: Recipe) -> list[tuple[str, str]]:
    """The settings that a person chooses, with their values."""
    chosen = [(name, _value(recipe, field)) for field, name in NAMES.items() if "rubric" not in field]
    return [(name, value) for name, value in chosen if value]


def differences(before: Recipe, after: Recipe) -> list[Difference]:
    """Empty for two rows of the same settings."""
    pairs = [(name, *_values(before, after, field)) for field, name in NAMES.items()]
    return [Difference(name, old, new) for name, old, new in pairs if old != new]


def _values(before: Recipe, after: Recipe, field: str) -> tuple[str, str]:
    """Of the casts only the roles that differ, where both have models."""
    there, here = (_cast(before), _cast(after)) if field == "cast" else (None, None)
    if there and here:
        return there.unlike(here), here.unlike(there)
    return _value(before, field) or "none", _value(after, field) or "none"


def _value(recipe: Recipe, field: str) -> str:
    if field == "cast":
        cast = _cast(recipe)
        return cast.said if cast else recipe.cast
    value = str(getattr(recipe, field))
    if field.endswith("rubric"):
        return value[:DIGEST_SHOWN]
    return ", ".join(sorted(value.split(","))) if field == "directions" else value


def _cast(recipe: Recipe) -> Cast | None:
    """None for an author without a model, and for a cast of roles that are not these any more."""
    try:
        return Cast.read(recipe.cast) if recipe.cast else None
    except ModelsError:
        return None
