"""The authors there are, by name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

from agents.casting import Cast
from agents.loop import Bounds
from agents.modelled.adversary import ModelAdversary
from agents.modelled.estimator import ModelEstimator
from agents.modelled.failure_judge import ModelFailureJudge
from agents.modelled.modifier import ModelModifier
from agents.modelled.plan_reviewer import ModelPlanReviewer
from agents.modelled.proposer import ModelProposer
from agents.modelled.rubric_verifier import ModelRubricVerifier
from agents.modelled.solver import ModelSolver
from agents.models import JUDGING, Book, ModelSpec, Role
from agents.offline.author import offline_author
from agents.offline.extract import ScriptExtractor
from agents.prompting import prompt
from agents.roles import AgentsError, Author
from agents.scripted import SCRIPTS

HEARD = (*JUDGING, Role.SOLVER, Role.ADVERSARY, Role.FAILURE_JUDGE)
"""Roles whose word or work an audit takes: an answer of a gate hangs on who they are."""

AUTHORS: Mapping[str, Callable[[], Author]] = {"offline": offline_author}


def is_author(name: str) -> bool:
    """Whether an author without a model has that name."""
    return name in SCRIPTS or name in AUTHORS


def author(name: str) -> Author:
    """Raises `AgentsError`, which names those that exist, for any other name.

    Scripted authors exist only where a test has put them.
    """
    if name in SCRIPTS:
        return SCRIPTS[name].author(name)
    if name not in AUTHORS:
        raise AgentsError(f"there is no author called {name!r}; there is: {', '.join(sorted(AUTHORS))}")
    return AUTHORS[name]()


def model_author(cast: Cast, book: Book, *, name: str = "", bounds: Bounds | None = None) -> Author:
    """The author whose roles the cast's models play; without `name` it is called as in the book.

    ξ of a seed is read by code, since what is stored has to be the same whoever reads it; the proposer's own
    reading is part of each of its answers. `bounds` hold for each conversation with tools. Raises
    `agents.models.ModelsError` for a model that the book does not have (any more).
    """
    specs = {role: book.model(cast.model_of(role)) for role in Role}
    bounds = bounds or Bounds()
    return Author(
        name=name or _name_of(cast, book),
        trusted=False,
        extractor=ScriptExtractor(),
        proposer=ModelProposer(specs[Role.PROPOSER]),
        plan_reviewer=ModelPlanReviewer(specs[Role.PLAN_REVIEWER]),
        modifier=ModelModifier(specs[Role.MODIFIER], bounds=bounds),
        rubric_verifier=ModelRubricVerifier(specs[Role.RUBRIC_VERIFIER]),
        version=_version([(role, specs[role]) for role in HEARD]),
        solver=ModelSolver(specs[Role.SOLVER], bounds=bounds),
        adversary=ModelAdversary(specs[Role.ADVERSARY]),
        failure_judge=ModelFailureJudge(specs[Role.FAILURE_JUDGE]),
        estimator=ModelEstimator(specs[Role.ESTIMATOR]),
    )


def _name_of(cast: Cast, book: Book) -> str:
    """The model that plays everything, else the team of that cast, else the cast itself."""
    models = {cast.model_of(role) for role in Role}
    if len(models) == 1:
        return models.pop()
    teams = (name for name, team in sorted(book.teams.items()) if Cast.of(team, book) == cast)
    return next(teams, cast.text)


def _version(judges: list[tuple[Role, ModelSpec]]) -> str:
    """A hash of what the judging roles are: their prompts, and and which model of which server answers."""
    lines = [
        "\0".join((role, prompt(role).digest, spec.provider, spec.base_url, spec.model, spec.effort))
        for role, spec in judges
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
