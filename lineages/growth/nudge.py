"""Telling a worker that an evolution can go on."""

from __future__ import annotations

from django.db.models import Case, DateTimeField, When
from django.db.models.functions import Now

from lineages import messages
from lineages.growth.models import Evolution
from lineages.growth.steps import STEPS
from lineages.messages import SANDBOXES


def nudge(evolution: Evolution, *, swept: bool = False) -> None:
    """On the queue of what the next step waits for; nothing where no step is due.

    A model that builds tries its work in a sandbox, so every step of its evolutions may open one.
    """
    step = STEPS.get(evolution.status)
    if step:
        queue = SANDBOXES if evolution.recipe.cast else step.queue
        messages.send("advance", evolution.pk, queue=queue, swept=swept)


def wake(evolution: Evolution) -> None:
    """Go on at once with one that was put off: what it waited for is there.

    One that a worker holds just now is marked instead: its step may be about to be put off for just that,
    and then is not (`loops.advance`).
    """
    mark = Case(When(lease_token="", then=None), default=Now(), output_field=DateTimeField())
    Evolution.objects.filter(pk=evolution.pk).update(retry_at=mark)
    nudge(evolution)


def wake_waiting() -> None:
    """Go on with every evolution that was put off, whatever it waited for: it looks for itself again.

    Also with those at work: what they are about to wait for may be there by now.
    """
    able = Evolution.objects.filter(status__in=STEPS, paused_at=None)
    waiting = able.exclude(waiting_for="", lease_token="")
    for evolution in waiting.select_related("recipe"):
        wake(evolution)
