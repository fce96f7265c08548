"""Withdrawing an environment, and freeing what a withdrawal holds back.

A withdrawal marks the environment and everything below it in one transaction, ancestors first, as every
transaction that takes more than one of these rows does. What starts or accepts under one of them takes the
same row first (`evolving.still_free`), so the withdrawal sees it or it sees the withdrawal. The evolutions
are cancelled after that: a worker holds its evolution before it asks for the environment, and the other way
round the two would wait for each other for ever. Should this process die in between, each evolution's next
step ends it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from lineages.growth.evolving import abandon_attempts, abandon_audits, cancel, still_free
from lineages.growth.models import Evolution
from lineages.library.models import Environment, Quarantine
from lineages.lifecycle import Lease, Stale
from lineages.reasons import needed

GONE_ON = frozenset({Evolution.Status.ACCEPTED, Evolution.Status.EXHAUSTED, Evolution.Status.CANCELLED})
"""What a withdrawal does not cancel; a failed evolution could be moved back, so it is."""


class ParentHeld(ValueError):
    """An environment under a withdrawn parent cannot be freed before that one."""


def withdraw(environment: Environment, *, reason: str, by: User) -> list[Environment]:
    """Hold the environment and its descendants back and cancel the evolutions below; returns those held.

    Raises `Stale` when it is withdrawn already, `ReasonNeeded`.
    """
    with transaction.atomic():
        held = hold_back(environment, reason=reason, by=by)
    cancel_below(held, f"{environment} was withdrawn", by=by)
    return held


def hold_back(environment: Environment, *, reason: str, by: User) -> list[Environment]:
    """Mark the subtree, inside the caller's transaction; `cancel_below` has to follow it.

    A descendant that an earlier withdrawal holds back is held for this one too. Raises as `withdraw`.
    """
    reason = needed(reason)
    held, level = [environment], [environment]
    _mark(environment, environment, reason, by)
    while level:
        # Read after the parents' rows are ours: nothing can be accepted under them from here on.
        parents = [each.pk for each in level]
        level = list(Environment.objects.filter(parent__in=parents).select_related("lineage").order_by("pk"))
        for child in level:
            _mark(child, environment, reason, by)
        held += level
    return held


def _mark(environment: Environment, origin: Environment, reason: str, by: User) -> None:
    Environment.objects.filter(pk=environment.pk).update(quarantined=True)
    if environment == origin and _open(environment).filter(origin=origin).exists():
        raise Stale(f"{environment} is already withdrawn")
    _open(environment).get_or_create(
        environment=environment, origin=origin, freed_at=None, defaults={"reason": reason, "by": by}
    )


def cancel_below(held: Iterable[Environment], reason: str, *, by: User | None) -> None:
    """End every evolution under these environments, whoever works on it."""
    parents = [each.pk for each in held]
    while still := list(Evolution.objects.filter(parent__in=parents).exclude(status__in=GONE_ON)):
        for evolution in still:
            with contextlib.suppress(Stale):  # it moved just now: the next round looks again
                cancel(evolution, by=by, reason=reason)


def end(lease: Lease, evolution: Evolution) -> None:
    """The step of an evolution whose parent is withdrawn: it is cancelled. Raises `LeaseLost`."""
    reason = f"{evolution.parent} was withdrawn"
    with lease.writing():
        abandon_attempts(evolution, reason)
        lease.move(Evolution.Status.CANCELLED, reason=reason)
    abandon_audits(evolution, reason)


def free(hold: Quarantine, *, reason: str, by: User) -> bool:
    """End one quarantine; returns whether nothing else holds the environment back now.

    Raises `Stale` when somebody has ended it, `ParentHeld` while the parent is held back, `ReasonNeeded`.
    """
    reason, environment = needed(reason), hold.environment
    with transaction.atomic():
        if environment.parent and not still_free(environment.parent):
            raise ParentHeld(f"{environment.parent} is held back itself: free it first")
        Environment.objects.filter(pk=environment.pk).update(quarantined=True)  # one freeing at a time
        ended = Quarantine.objects.filter(pk=hold.pk, freed_at=None)
        if not ended.update(freed_at=Now(), freed_by=by, freed_reason=reason):
            raise Stale(f"this hold on {environment} has ended already")
        left = _open(environment).exists()
        Environment.objects.filter(pk=environment.pk).update(quarantined=left)
    return not left


def _open(environment: Environment) -> QuerySet[Quarantine]:
    return environment.quarantines.filter(freed_at=None)
