"""Starting, stopping and continuing evolutions."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
from dataclasses import asdict, dataclass, fields

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.db.models.functions import Now

from agents.plan import Direction, Effort
from lineages import casting
from lineages.gates import profile as gate_profile
from lineages.growth.models import Attempt, Campaign, Evolution, Recipe, Review
from lineages.library import audits, rubrics
from lineages.library.models import Audit, Environment
from lineages.lifecycle import Move, Stale, move
from lineages.lifecycle import cancel as cancel_row
from sandboxes.text import clean

ALL_DIRECTIONS = tuple(Direction)
MOST_GENERATIONS = 15
"""The paper's cap on a lineage."""
RACES = 5


class CannotStart(Exception):
    """The evolution was not started; the message says what to change."""


@dataclass(frozen=True, slots=True)
class RecipeSettings:
    """What a person chooses. Raises `ValueError` for a word that is not one of the choices."""

    effort: str = Effort.HIGH
    directions: tuple[str, ...] = ALL_DIRECTIONS
    approval: str = Recipe.Approval.AUTO
    author: str = "offline"
    seed: int = 0
    plan_rounds: int = 3
    repairs: int = 3
    profile: str = "standard"
    cast: str = ""
    """The models of the roles; empty: those that the author has today."""

    def recipe(self) -> Recipe:
        """The immutable row of these settings, made once."""
        fields = {
            **{name: value for name, value in asdict(self).items() if name != "cast"},
            "directions": ",".join(dict.fromkeys(Direction(each) for each in self.directions)),
        }
        fields["effort"] = Effort(self.effort)
        fields["approval"] = Recipe.Approval(self.approval)
        cast = self.cast or _cast_today(self.author)
        # Without a model there is nothing to pin, and the recipe is what it was before there were any.
        fields |= {"cast": cast} if cast else {}
        fields["plan_rubric"] = rubrics.today(rubrics.PLAN).version
        fields["environment_rubric"] = rubrics.today(rubrics.ENVIRONMENT).version
        if not fields["directions"]:
            raise ValueError("choose at least one direction")
        gate_profile(self.profile)
        digest = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
        return Recipe.objects.get_or_create(digest=digest, defaults=fields)[0]


def _cast_today(author: str) -> str:
    cast = casting.cast_of(author)
    return cast.text if cast else ""


def with_kept_rubrics(recipe: Recipe) -> Recipe:
    """The recipe, or the same with today's rubrics where the wording that it pins is not kept."""
    if rubrics.known(recipe.plan_rubric, recipe.environment_rubric):
        return recipe
    chosen = {each.name: getattr(recipe, each.name) for each in fields(RecipeSettings)}
    return RecipeSettings(**{**chosen, "directions": tuple(recipe.directions.split(","))}).recipe()


def start(
    parent: Environment,
    settings: RecipeSettings | Recipe,
    *,
    generations: int = 1,
    by: User | None = None,
    campaign: Campaign | None = None,
) -> Evolution:
    """A new evolution from `parent`, and from its child, and so on, for `generations`.

    Raises `CannotStart` when that would pass the cap of 15 generations or the parent is withdrawn,
    `ValueError` for a wrong setting.
    """
    if generations < 1:
        raise CannotStart("ask for at least one generation")
    if parent.generation + generations > MOST_GENERATIONS:
        raise CannotStart(
            f"{generations} more generations than {parent} would pass the cap of {MOST_GENERATIONS}"
        )
    recipe = settings if isinstance(settings, Recipe) else settings.recipe()
    for _ in range(RACES):
        with contextlib.suppress(IntegrityError):  # somebody started one from the same parent just now
            return create(parent, recipe, generations, by=by, campaign=campaign)
    raise CannotStart(f"too many evolutions are being started from {parent} at once: try again")


def continue_from(evolution: Evolution) -> Evolution | None:
    """The next generation's evolution, inside the accepting transaction; None when this was the last."""
    if evolution.generations_left <= 1 or evolution.child is None:
        return None
    left = evolution.generations_left - 1
    return create(
        evolution.child,
        evolution.recipe,
        left,
        by=evolution.started_by,
        previous=evolution,
        campaign=evolution.campaign,
    )


def create(
    parent: Environment,
    recipe: Recipe,
    generations: int,
    *,
    by: User | None,
    previous: Evolution | None = None,
    campaign: Campaign | None = None,
    origin: Review | None = None,
    **fields: str,
) -> Evolution:
    """The row of a new evolution; `fields` are what an `origin`, a person's override, has it start with.

    It is judged by the rubrics that the recipe pins, and by today's where their wording is not kept. Raises
    `CannotStart` for a withdrawn parent, `IntegrityError` when another one took its ordinal.
    """
    with transaction.atomic():
        if not still_free(parent):
            raise CannotStart(f"{parent} is withdrawn: nothing grows from it until a person frees it")
        ordinal = (parent.evolutions.aggregate(last=Max("ordinal"))["last"] or 0) + 1
        return Evolution.objects.create(
            lineage=parent.lineage,
            parent=parent,
            recipe=with_kept_rubrics(recipe),
            ordinal=ordinal,
            generations_left=generations,
            previous=previous,
            campaign=campaign,
            origin=origin,
            # As the row is in this transaction: who paused the parent's step paused the lineage.
            paused_at=previous.paused_at if previous else None,
            started_by=by,
            **{
                "status": Evolution.Status.DRAFTING,
                "direction_order": _order(recipe, parent.snapshot.digest, ordinal),
                **fields,
            },
        )


def still_free(environment: Environment) -> bool:
    """Whether it is not withdrawn, and cannot be until the caller's transaction ends.

    A withdrawal updates the same row first: it waits for this transaction and then sees what it left, or
    this one sees the withdrawal.
    """
    free = Environment.objects.filter(pk=environment.pk, quarantined=False)
    return bool(free.update(quarantined=False))


def _order(recipe: Recipe, parent_digest: str, ordinal: int) -> str:
    """The directions in random order, repeatable from recipe, parent and ordinal (paper, section 4.1)."""
    directions = recipe.directions.split(",")
    random.Random(f"{recipe.seed}:{parent_digest}:{ordinal}").shuffle(directions)
    return ",".join(directions)


def cancel(evolution: Evolution, *, by: User | None, reason: str = "") -> None:
    """End an open evolution, whoever works on it. Raises `Stale` when it has ended already."""
    reason = clean(reason).strip()
    for tries_left in reversed(range(RACES)):
        try:
            _cancel(evolution, by, reason)
            break
        except Stale:  # at an end, or a worker has just taken it or moved it
            if evolution.status in Evolution.ENDED - {Evolution.Status.FAILED} or not tries_left:
                raise
    abandon_audits(evolution, "the evolution was cancelled")


def _cancel(evolution: Evolution, by: User | None, reason: str) -> None:
    with transaction.atomic():
        # The evolution first, as in every worker's transaction: the other way round they deadlock.
        cancel_row(evolution, Evolution.Status.CANCELLED, reason=reason or "cancelled", by=by)
        abandon_attempts(evolution, reason)


def abandon_attempts(evolution: Evolution, reason: str) -> None:
    """Close what is open when an evolution ends, inside the caller's transaction."""
    opened = Attempt.objects.filter(evolution=evolution, outcome=Attempt.Outcome.OPEN)
    opened.update(outcome=Attempt.Outcome.ABANDONED, reason=reason, closed_at=Now())


def abandon_audits(evolution: Evolution, reason: str) -> None:
    """Say of the audits of an ended evolution's candidates that nobody will finish them."""
    for audit in Audit.objects.filter(candidates__attempt__evolution=evolution, status=Audit.Status.QUEUED):
        audits.abandon(audit, reason)


def pause(evolution: Evolution, *, by: User | None) -> None:
    """No further step is claimed; a running step ends first. Raises `Stale` when there is none any more."""
    if evolution.ended:
        raise Stale(f"evolution {evolution.pk} is already {evolution.status}")
    if Evolution.objects.filter(pk=evolution.pk, paused_at=None).update(paused_at=Now()):
        _note(evolution, "paused", by)


def resume(evolution: Evolution, *, by: User | None) -> None:
    """Take work up again where it was. Raises `Stale` when there is none any more."""
    if evolution.ended:
        raise Stale(f"evolution {evolution.pk} is already {evolution.status}")
    if Evolution.objects.filter(pk=evolution.pk, paused_at__isnull=False).update(paused_at=None):
        _note(evolution, "resumed", by)


def _note(evolution: Evolution, what: str, by: User | None) -> None:
    """Pausing is a column, not a status; the history tells of it all the same."""
    evolution.refresh_from_db()
    status = evolution.status
    Move.objects.create(
        kind=evolution.kind, row=evolution.pk, from_status=status, to_status=status, reason=what, by=by
    )


def move_back(evolution: Evolution, *, by: User | None) -> None:
    """Put a failed evolution back where it failed, with its faults forgotten. Raises `Stale`."""
    if evolution.status != Evolution.Status.FAILED:
        raise Stale(f"evolution {evolution.pk} is {evolution.status}, not failed")
    move(evolution, evolution.failed_in, by=by, reason="moved back", faults=0, fault="", failed_in="")
