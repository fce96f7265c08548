"""Blobs that nothing refers to any more: seen as orphans first, removed when they stayed so.

The wait is what makes it safe: whoever stores the same content meanwhile takes the mark away again
(`blobs.keep`), and what a transaction has stored but not referred to yet is younger than the wait. Files
without a row, which a transaction that did not come through leaves behind, are orphans too.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, ForeignKey, OuterRef, Q
from django.db.models.functions import Now

from lineages.library import blobs
from lineages.library.models import Blob

MOST = 10_000
"""Blobs that one collection removes; the next one goes on."""
TICK = 100


def collect(tick: Callable[[], None] = lambda: None) -> tuple[int, int]:
    """Mark new orphans and remove old ones; returns how many were removed and their bytes.

    `tick` is called again and again, to keep a lease alive.
    """
    wait = timedelta(hours=settings.ORPHAN_HOURS)
    _mark(wait, tick)
    old = list(Blob.objects.filter(orphan_since__lt=Now() - wait).values_list("pk", "size")[:MOST])
    removed = []
    for done, (digest, size) in enumerate(old):
        if not done % TICK:
            tick()
        if _remove(digest, wait):
            removed.append(size)
    return len(removed), sum(removed)


def _mark(wait: timedelta, tick: Callable[[], None]) -> None:
    used_again = Blob.objects.filter(_referred(), orphan_since__isnull=False)
    for digest in list(used_again.values_list("pk", flat=True)):
        # One row a transaction: whoever keeps many contents holds their rows in another order.
        Blob.objects.filter(pk=digest).update(orphan_since=None)
    Blob.objects.filter(~_referred(), orphan_since=None).update(orphan_since=Now())
    for found in blobs.files(left_for=wait):
        tick()
        known = set(Blob.objects.filter(pk__in=list(found)).values_list("pk", flat=True))
        strays = {digest: size for digest, size in found.items() if digest not in known}
        rows = [Blob(digest=digest, size=size, orphan_since=Now()) for digest, size in strays.items()]
        Blob.objects.bulk_create(rows, ignore_conflicts=True)


def _remove(digest: str, wait: timedelta) -> bool:
    with transaction.atomic():
        # Ours before it goes: Django deletes by the key alone, also what was kept meanwhile.
        orphan = Blob.objects.filter(~_referred(), pk=digest, orphan_since__lt=Now() - wait)
        if not orphan.update(orphan_since=F("orphan_since")):
            return False
        Blob.objects.filter(pk=digest).delete()
        blobs.remove(digest)
    return True


def _referred() -> Q:
    """Whether any foreign key of any model leads to the blob; a new one counts by itself."""
    found = Q(pk__in=[])
    for relation in Blob._meta.get_fields(include_hidden=True):
        field = getattr(relation, "field", None)
        if isinstance(field, ForeignKey):
            rows = field.model._default_manager.filter(**{field.name: OuterRef("pk")})
            found |= Q(Exists(rows))
    return found
