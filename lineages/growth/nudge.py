"""Telling a worker that an evolution can go on."""

from __future__ import annotations

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
    """Go on at once with one that was put off: what it waited for is there."""
    Evolution.objects.filter(pk=evolution.pk).update(retry_at=None)
    nudge(evolution)


def wake_waiting() -> None:
    """Go on with every evolution that was put off, whatever it waited for: it looks for itself again."""
    waiting = Evolution.objects.filter(status__in=STEPS, paused_at=None).exclude(waiting_for="")
    for evolution in waiting.select_related("recipe"):
        wake(evolution)
