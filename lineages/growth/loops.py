"""The two loops, one step at a time: claim, do the step of the status, say what may go on next.

This is one of the two places with a broad `except`: whatever a step raises becomes a fault of that
evolution, recorded once, tried again later, and at last shown to an operator.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F
from django.db.models.functions import Now

from agents.line import Waits
from lineages.growth import evolving, withdrawing
from lineages.growth.models import Evolution
from lineages.growth.steps import STEPS
from lineages.growth.work import Work
from lineages.library.machine import NotNow
from lineages.lifecycle import Busy, Lease, LifecycleError, claim, later
from sandboxes.text import clean

log = logging.getLogger(__name__)

IDLE_SECONDS = 0.2
LONGEST_REASON = 200
PATIENCE = timedelta(seconds=60)
"""How long `drive` stays with an evolution that was put off."""


def advance(evolution_id: int) -> list[Evolution]:
    """Do one step of the evolution, if it is free; returns the evolutions that can go on now."""
    evolution = Evolution.objects.select_related("recipe", "lineage", "parent__snapshot").get(pk=evolution_id)
    lease, before, woken = claim(evolution), evolution.version, False
    if lease is None:
        return []
    claimed_at = _claimed_at(evolution)
    try:
        _step(lease, evolution)
    except Busy as elsewhere:
        log.info("evolution %s: %s", evolution_id, elsewhere)
        _put_off(lease, settings.LEASE_BEAT_SECONDS)
    except NotNow as machine:
        log.warning("evolution %s waits for %s", evolution_id, machine.waits_for)
        _put_off(lease, machine.seconds, waiting_for=machine.waits_for)
    except Waits as wait:
        log.info("evolution %s waits for %s", evolution_id, wait)
        woken = _await(lease, wait, claimed_at)
    except LifecycleError as lost:
        log.info("evolution %s: %s", evolution_id, lost)
    except Exception as problem:
        log.exception("evolution %s: a step failed in %s", evolution_id, evolution.status)
        _record(lease, evolution, problem)
    finally:
        lease.release()
    return [evolution] if woken else _ready(evolution, before)


def _claimed_at(evolution: Evolution) -> datetime:
    """When it was claimed just now, by the database's clock."""
    assert evolution.lease_until is not None, "it is claimed"
    return evolution.lease_until - timedelta(seconds=settings.LEASE_SECONDS)


def _step(lease: Lease, evolution: Evolution) -> None:
    if evolution.parent.quarantined:  # withdrawn, and whoever withdrew it died before cancelling this
        withdrawing.end(lease, evolution)
    elif evolution.takeovers > settings.FAULT_RETRIES:
        _give_up(lease, evolution, f"its worker died {evolution.takeovers} times in this step")
    else:
        STEPS[evolution.status].run(Work(lease, evolution))


def _ready(evolution: Evolution, before: int) -> list[Evolution]:
    """The evolution itself, if it has moved since that version and can go on, and its successor."""
    evolution.refresh_from_db()
    successor = Evolution.objects.filter(previous=evolution).first()
    able = [evolution] if evolution.version > before and evolution.status in STEPS else []
    return able + ([successor] if successor and successor.status in STEPS else [])


def drive(evolution: Evolution, *, tell: Callable[[Evolution], None]) -> Evolution:
    """Advance in this process until a person has to decide or the last successor ends; returns that one.

    `tell` hears of each change of status, and of what it has to wait for. Where a worker holds the
    evolution, this waits for it. It also leaves one that was put off for longer than `PATIENCE`, because its
    model is paused, a budget is spent or its work may not run here: `waiting_for` says what a person has
    to do.
    """
    seen: tuple[int, str] | None = None
    while True:
        evolution.refresh_from_db()
        if (evolution.version, evolution.waiting_for) != seen:
            seen = (evolution.version, evolution.waiting_for)
            tell(evolution)
        if evolution.status == Evolution.Status.ACCEPTED:
            successor = Evolution.objects.filter(previous=evolution).first()
            if successor is None:
                return evolution
            evolution, seen = successor, None
        elif (
            evolution.ended
            or evolution.waits_for_person
            or evolution.paused_at
            or _put_off_for_long(evolution)
        ):
            return evolution
        elif not advance(evolution.pk):
            time.sleep(IDLE_SECONDS)


def _put_off_for_long(evolution: Evolution) -> bool:
    far = Evolution.objects.filter(pk=evolution.pk, retry_at__gt=Now() + PATIENCE)
    return bool(evolution.waiting_for) and far.exists()


def _await(lease: Lease, wait: Waits, since: datetime) -> bool:
    """Put it off for what it waits for; True where somebody woke it since then: it is due at once."""
    try:
        with lease.writing():
            woken = Evolution.objects.filter(pk=lease.row.pk, retry_at__gt=since).exists()
            reason = "" if woken else _short(clean(wait.reason))
            later(lease, timedelta(seconds=0 if woken else wait.seconds), waiting_for=reason)
    except LifecycleError as lost:
        log.info("%s %s: not ours to put off: %s", lease.row.kind, lease.row.pk, lost)
        return False
    return woken


def _short(reason: str) -> str:
    return reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 1]}…"


def _put_off(lease: Lease, seconds: float, **fields: str) -> None:
    try:
        later(lease, timedelta(seconds=seconds), **fields)
    except LifecycleError as lost:
        log.info("%s %s: not ours to put off: %s", lease.row.kind, lease.row.pk, lost)


def _record(lease: Lease, evolution: Evolution, problem: Exception) -> None:
    """Count the fault, and try again later or give up for an operator to look."""
    text = clean(f"{type(problem).__name__}: {problem}")
    try:
        if evolution.faults >= settings.FAULT_RETRIES:
            _give_up(lease, evolution, text)
        else:
            wait = timedelta(seconds=settings.FAULT_BACKOFF_SECONDS * 2**evolution.faults)
            later(lease, wait, faults=F("faults") + 1, fault=text)
    except LifecycleError as lost:
        log.info("evolution %s: the fault is not ours to record: %s", evolution.pk, lost)


def _give_up(lease: Lease, evolution: Evolution, text: str) -> None:
    """To `failed`, remembering from where; an operator may move it back."""
    lease.move(Evolution.Status.FAILED, reason=text, fault=text, failed_in=evolution.status)
    evolving.abandon_audits(evolution, text)
