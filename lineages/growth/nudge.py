"""Telling a worker that an evolution can go on."""

from __future__ import annotations

from lineages import messages
from lineages.growth.models import Evolution
from lineages.growth.steps import STEPS


def nudge(evolution: Evolution, *, swept: bool = False) -> None:
    """On the queue of what the next step waits for; nothing where no step is due."""
    step = STEPS.get(evolution.status)
    if step:
        messages.send("advance", evolution.pk, queue=step.queue, swept=swept)
