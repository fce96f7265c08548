"""Models that nobody asks for now, and what holds a request back.

A pause with an end is set by a server that is overloaded, so that not every worker finds out for itself; one
without an end by a refusal that only a person can do something about, a wrong key say.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import DateTimeField, ExpressionWrapper
from django.db.models.functions import Now

from lineages.library.calls import ModelPause
from lineages.lifecycle import Stale
from sandboxes.text import clean

logger = logging.getLogger(__name__)

ASK_AGAIN = 300.0
"""Seconds after which work that waits for a person looks again by itself."""
LONGEST = 86_400.0
"""Seconds that a server may ask for; after a day it is asked anyhow."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a request may not leave now, and after how many seconds it may: the words of a `Waits`.

    `reason` stands behind "waits for": what is missing, a colon, and what is known of it.
    """

    reason: str
    seconds: float
    forever: bool = False


def hold(model: str, now: datetime) -> Hold | None:
    """What holds every request to this model back at that time by the database's clock."""
    pause = ModelPause.objects.filter(model=model).first()
    if pause is None:
        return None
    if pause.until is None:
        return Hold(waits_for(pause.reason), ASK_AGAIN, forever=True)
    if pause.until <= now:
        return None
    return Hold(waits_for(pause.reason), (pause.until - now).total_seconds())


def waits_for(reason: str) -> str:
    """As it stands behind "waits for"."""
    return f"a model: {reason}"


def slow_down(model: str, seconds: float, reason: str) -> None:
    """Nobody asks the model for so long, a day at most; never ends a longer pause earlier."""
    ahead = Now() + timedelta(seconds=min(seconds, LONGEST))
    until = ExpressionWrapper(ahead, output_field=DateTimeField())
    said = {"reason": clean(reason), "at": Now()}
    if ModelPause.objects.filter(model=model, until__lt=until).update(until=until, **said):
        return
    if not ModelPause.objects.filter(model=model).exists():
        ModelPause.objects.bulk_create([ModelPause(model=model, until=until, **said)], ignore_conflicts=True)


def close(model: str, problem: str) -> str:
    """Nobody asks the model until a person goes on; returns the sentence that says so."""
    reason = clean(f"{model} is paused until somebody resumes it on the page Models: {problem}")
    ModelPause.objects.bulk_create(
        [ModelPause(model=model, until=None, reason=reason, at=Now())],
        update_conflicts=True,
        unique_fields=["model"],
        update_fields=["until", "reason", "at"],
    )
    return reason


def resume_model(model: str, by: User | None = None) -> None:
    """A person goes on: the model is asked again. Raises `Stale` where it is not paused any more."""
    if not ModelPause.objects.filter(model=model).delete()[0]:
        raise Stale(f"{model} is not paused")
    logger.info("%s is asked again: resumed by %s", model, by.get_username() if by else "the command line")
