"""What a lost message or a dead worker left behind."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from lineages.growth import campaigns, jobs
from lineages.growth.jobs import collect
from lineages.growth.models import Evolution
from lineages.growth.nudge import nudge
from lineages.library import audits, machine
from lineages.library.models import Audit, Job
from sandboxes.errors import SandboxError

log = logging.getLogger(__name__)

FORGOTTEN_SECONDS = 600
MOST = 500
"""Nudges a sweep; the rest is found by the next one."""


def sweep() -> None:
    """Nudge all work that is free, and tidy up."""
    for evolution in Evolution.objects.filter(Evolution.claimable()).order_by("status_since")[:MOST]:
        nudge(evolution, swept=True)
    for job in Job.objects.filter(Job.claimable()).order_by("pk")[:MOST]:
        jobs.nudge(job, swept=True)
    campaigns.turn_all()
    if collect.due():
        jobs.nudge(Job.objects.create(job_kind=collect.KIND, subject="blobs", status=Job.Status.QUEUED))
    tidy()
    machine.trim()


def tidy() -> None:
    """End what nobody holds or waits for: audits, and sandboxes on this machine."""
    for audit in Audit.objects.filter(Audit.claimable(), _forgotten()).exclude(pk__in=_wanted())[:MOST]:
        audits.abandon(audit, "nobody came back to it")
    try:
        removed = machine.backend().sweep(machine.is_live)
    except SandboxError as problem:
        log.warning("sandboxes were not swept: %s", problem)
    else:
        if removed:
            log.info("ended %s sandboxes that nobody holds", removed)


def _forgotten() -> Q:
    return Q(status_since__lt=Now() - timedelta(seconds=FORGOTTEN_SECONDS))


def _wanted() -> QuerySet[Audit, Any]:
    """Unfinished audits that an open evolution or a queued job will come back to."""
    open_ones = ~Q(candidates__attempt__evolution__status__in=Evolution.ENDED)
    of_evolution = Audit.objects.filter(open_ones, candidates__isnull=False)
    of_job = Job.objects.filter(status=Job.Status.QUEUED, audit__isnull=False).values("audit")
    return Audit.objects.filter(Q(pk__in=of_evolution) | Q(pk__in=of_job)).values("pk")
