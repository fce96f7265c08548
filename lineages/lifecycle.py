"""The one writer of status, and the leases that fence every step.

A row that is worked on in steps (an evolution, an audit, a job) is a `Leased`. A worker *claims* it,
which puts a token and a deadline on it; everything the worker then writes happens inside
`Lease.writing()`, whose first statement renews the lease under that token. Once another worker holds
the row, or somebody cancelled it, that statement touches no row and the write raises `LeaseLost`
before anything is stored. The deadline is judged by the database's clock, never by a worker's.

    LifecycleError
      ├─ Stale        the row is no longer in the state the caller saw; nothing was written
      ├─ LeaseLost    the lease is somebody else's, or nobody's; nothing was written
      └─ Busy         what this step needs is being worked on elsewhere; try again in a moment
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models, transaction
from django.db.models import Case, F, Q, When
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now


class LifecycleError(Exception):
    """A change of state that did not happen."""


class Stale(LifecycleError):
    """The row has moved on since the caller looked at it."""


class LeaseLost(LifecycleError):
    """This worker no longer holds the row."""


class Busy(LifecycleError):
    """Another worker is at something that this step needs."""


class Leased(models.Model):
    """A row with a status, worked on by one claim at a time.

    `version` rises by one with each move; a page sends back the one it was drawn from. `takeovers` counts
    the claims of this status that ended without a word, their workers dead; a move sets it back to 0.
    `waiting_for` says in words what a row that is put off until `retry_at` waits for; the next claim and
    every move forget it.
    """

    TRANSITIONS: ClassVar[dict[str, frozenset[str]]] = {}
    WORKABLE: ClassVar[frozenset[str]] = frozenset()

    status = models.CharField(max_length=20)
    version = models.PositiveIntegerField(default=0)
    status_since = models.DateTimeField(db_default=Now())
    paused_at = models.DateTimeField(null=True, blank=True)
    lease_token = models.CharField(max_length=32, blank=True, default="")
    lease_until = models.DateTimeField(null=True, blank=True)
    retry_at = models.DateTimeField(null=True, blank=True)
    takeovers = models.PositiveSmallIntegerField(default=0)
    waiting_for = models.CharField(max_length=200, blank=True, default="", db_default="")

    class Meta:
        abstract = True

    @classmethod
    def claimable(cls) -> Q:
        """Rows with work to do that nobody holds, by the database's clock."""
        free = Q(lease_token="") | Q(lease_until__lt=Now())
        due = Q(retry_at=None) | Q(retry_at__lt=Now())
        return free & due & Q(status__in=cls.WORKABLE, paused_at__isnull=True)

    @classmethod
    def still_held(cls, token: str) -> bool:
        """Whether a lease with this token runs now."""
        held = Q(lease_token=token, lease_until__gte=Now())
        return bool(token) and cls._default_manager.filter(held).exists()

    @property
    def kind(self) -> str:
        return self._meta.model_name or ""

    def history(self) -> models.QuerySet[Move]:
        """The row's moves, oldest first."""
        return Move.objects.filter(kind=self.kind, row=self.pk).order_by("id")

    @property
    def last_reason(self) -> str:
        """The sentence that came with the newest move."""
        newest = self.history().last()
        return newest.reason if newest else ""


class Move(models.Model):
    """One change of status, of any `Leased` row. Append-only."""

    kind = models.CharField(max_length=20)
    row = models.PositiveBigIntegerField()
    from_status = models.CharField(max_length=20)
    to_status = models.CharField(max_length=20)
    reason = models.TextField(blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["kind", "row", "id"])]


def move(
    row: Leased, to: str, *, token: str = "", reason: str = "", by: User | None = None, **fields: Any
) -> None:
    """Change the row's status, or raise `Stale` and write nothing.

    Succeeds only while the row still has the status and version of `row` and is held under `token`
    (empty: held by nobody whose lease still runs). Ends the lease, sets `fields` with it, leaves a
    `Move`. A transition that the row's class does not allow is a `ValueError`.
    """
    if to not in row.TRANSITIONS.get(row.status, frozenset()):
        raise ValueError(f"{row.kind} {row.pk} cannot go from {row.status} to {to}")
    held = Q(lease_token=token) if token else Q(lease_token="") | Q(lease_until__lt=Now())
    with transaction.atomic():
        seen = type(row)._default_manager.filter(held, pk=row.pk, status=row.status, version=row.version)
        changed = seen.update(**{**_FRESH, **fields}, status=to, version=F("version") + 1, status_since=Now())
        if not changed:
            raise Stale(f"{row.kind} {row.pk} is no longer {row.status} as it was (version {row.version})")
        Move.objects.create(
            kind=row.kind, row=row.pk, from_status=row.status, to_status=to, reason=reason, by=by
        )
    row.refresh_from_db()


_FRESH: dict[str, Any] = {
    "lease_token": "",
    "lease_until": None,
    "retry_at": None,
    "takeovers": 0,
    "waiting_for": "",
}
"""What a move leaves behind, whatever the row was before."""


def cancel(row: Leased, to: str, *, reason: str, by: User | None = None) -> None:
    """Move a row out of a worker's hands: like `move`, whoever holds it. The holder's next write fails.

    Raises `Stale` when the row has ended meanwhile.
    """
    row.refresh_from_db()
    if to not in row.TRANSITIONS.get(row.status, frozenset()):
        raise Stale(f"{row.kind} {row.pk} is already {row.status}")
    move(row, to, token=row.lease_token, reason=reason, by=by)


class Lease:
    """A claim that this process holds on one row."""

    def __init__(self, row: Leased, token: str) -> None:
        self.row = row
        self.token = token

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction that is fenced by the lease. Raises `LeaseLost` before anything is written."""
        with transaction.atomic():
            self.beat()
            yield

    def beat(self) -> None:
        """Renew the lease, or raise `LeaseLost`."""
        held = type(self.row)._default_manager.filter(pk=self.row.pk, lease_token=self.token)
        if not held.update(lease_until=_deadline()):
            raise LeaseLost(f"{self.row.kind} {self.row.pk} is no longer held by this worker")

    def move(self, to: str, *, reason: str = "", **fields: Any) -> None:
        move(self.row, to, token=self.token, reason=reason, **fields)

    def release(self) -> None:
        """Give the row back without a move; harmless when it is no longer ours."""
        held = type(self.row)._default_manager.filter(pk=self.row.pk, lease_token=self.token)
        held.update(lease_token="", lease_until=None)


def later(lease: Lease, wait: timedelta, **fields: Any) -> None:
    """Leave the row where it is, to be claimed again after `wait`. Raises `LeaseLost`."""
    due = models.ExpressionWrapper(Now() + wait, output_field=models.DateTimeField())
    with lease.writing():
        type(lease.row)._default_manager.filter(pk=lease.row.pk).update(retry_at=due, **fields)


def claim(row: Leased) -> Lease | None:
    """Take the row for this worker, or None when there is nothing to do or somebody else holds it."""
    token = uuid.uuid4().hex
    free = type(row)._default_manager.filter(type(row).claimable(), pk=row.pk)
    silent = Case(When(lease_token="", then=F("takeovers")), default=F("takeovers") + 1)
    if not free.update(lease_token=token, lease_until=_deadline(), takeovers=silent, waiting_for=""):
        return None
    row.refresh_from_db()
    return Lease(row, token)


def _deadline() -> models.ExpressionWrapper[CombinedExpression]:
    ahead = Now() + timedelta(seconds=settings.LEASE_SECONDS)
    return models.ExpressionWrapper(ahead, output_field=models.DateTimeField())
