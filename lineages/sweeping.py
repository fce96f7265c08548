"""What a lost message or a dead worker left behind."""

from __future__ import annotations

import logging

from lineages.growth import jobs
from lineages.growth.models import Evolution
from lineages.growth.nudge import nudge
from lineages.library import machine
from lineages.library.models import Job
from sandboxes.errors import SandboxError

log = logging.getLogger(__name__)

MOST = 500
"""Nudges a sweep; the rest is found by the next one."""


def sweep() -> None:
    """Nudge all work that is free, and end sandboxes whose lease nobody holds."""
    for evolution in Evolution.objects.filter(Evolution.claimable()).order_by("status_since")[:MOST]:
        nudge(evolution, swept=True)
    for job in Job.objects.filter(Job.claimable()).order_by("pk")[:MOST]:
        jobs.nudge(job, swept=True)
    try:
        removed = machine.backend().sweep(machine.is_live)
    except SandboxError as problem:
        log.warning("sandboxes were not swept: %s", problem)
    else:
        if removed:
            log.info("ended %s sandboxes that nobody holds", removed)
