"""Who plays the roles, by the names that people and recipes use.

An author is `offline`, or the name of a team or of a model in models.toml; a recipe pins the models of its
roles as its `cast`, so that a team that changes later changes no evolution that has begun.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings

from agents.authors import author, is_author, model_author
from agents.casting import Cast
from agents.models import JUDGING, ModelsError, Role
from agents.roles import AgentsError, Author


class NoSuchAuthor(AgentsError):
    """There is no author, team or model of that name; the message names those that there are."""


@dataclass(frozen=True, slots=True)
class Maker:
    """Somebody whose work is in a lineage. Only an author without a model is `trusted`."""

    name: str
    trusted: bool


def cast_of(name: str, *, judge: str = "", alone: bool = False) -> Cast | None:
    """The models of the author of that name; None for one without a model.

    `judge` names the model that reviews in place of the team's; `alone` has one model play every role (the
    paper's self-improvement setting). Raises `NoSuchAuthor`, and `ModelsError` where these do not fit.
    """
    if is_author(name):
        if judge or alone:
            raise ModelsError(f"{name} has no model: a judge is chosen for a model or a team")
        return None
    book, team = settings.MODELS, settings.MODELS.team(name)
    if team is None:
        known = ", ".join(["offline", *sorted(book.teams), *sorted(book.models)])
        raise NoSuchAuthor(
            f"there is no author called {name!r}; there is: {known} (teams and models stand in models.toml)"
        )
    cast = Cast.of(team, book)
    if alone:
        return _alone(cast, judge)
    return Cast({**cast.models, **dict.fromkeys(JUDGING, book.model(judge).name)}) if judge else cast


def _alone(cast: Cast, judge: str) -> Cast:
    if judge:
        raise ModelsError("self-improvement has one model for every role, so it takes no judge")
    return Cast(dict.fromkeys(Role, cast.model_of(Role.MODIFIER)))


def author_of(name: str, cast: str) -> Author:
    """The author that a recipe names, with the models that it pins.

    Raises `AgentsError` where the author or one of the models is not there any more.
    """
    if not cast:
        return named(name)
    try:
        return model_author(Cast.read(cast), settings.MODELS, name=name)
    except ModelsError as problem:
        raise NoSuchAuthor(str(problem)) from problem


def named(name: str) -> Author:
    """The author of that name with the models that it has today. Raises `NoSuchAuthor`."""
    cast = cast_of(name)
    return author(name) if cast is None else author_of(name, cast.text)


def makers(names: Iterable[str]) -> list[Maker]:
    """What is known of these authors, those among them too that are not there any more."""
    return [Maker(name, is_author(name) and author(name).trusted) for name in names]


def author_choices() -> list[tuple[str, str]]:
    """The authors that a form offers: the one without a model first, then teams, then single models."""
    book = settings.MODELS
    teams = [(name, f"{name} – a team of models") for name in sorted(book.teams)]
    return [("offline", "offline – operators instead of a model, at no cost"), *teams, *_models()]


def judge_choices() -> list[tuple[str, str]]:
    return [("", "whom the author names"), *_models()]


def _models() -> list[tuple[str, str]]:
    return [(name, f"{name} – {spec.model}") for name, spec in sorted(settings.MODELS.models.items())]


def warnings(cast: str) -> tuple[str, ...]:
    """What is allowed but to be known of the models that a recipe pins."""
    try:
        return Cast.read(cast).warnings_in(settings.MODELS) if cast else ()
    except ModelsError as problem:
        return (f"a model of this recipe is gone: {problem}",)
