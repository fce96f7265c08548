"""How people name an environment: `<lineage>/g<generation>`, `.k` for the k-th, or a digest prefix."""

from __future__ import annotations

from lineages.library.models import Environment

SHORTEST_PREFIX = 6


class NoSuchEnvironment(LookupError):
    """The reference names no environment, or more than one; the message says which."""


def find(reference: str) -> Environment:
    """Raises `NoSuchEnvironment`."""
    slug, slash, place = reference.partition("/")
    if not slash:
        return _by_digest(reference)
    generation, _, k = place.removeprefix("g").partition(".")
    if not (place.startswith("g") and generation.isdecimal() and (k.isdecimal() or not k)):
        raise NoSuchEnvironment(
            f"{reference!r} is not a reference: write <lineage>/g<generation>, e.g. {slug or 'lineage'}/g0"
        )
    found = (
        Environment.objects.select_related("lineage", "snapshot")
        .filter(lineage__slug=slug, generation=int(generation), k=int(k or 1))
        .first()
    )
    if found is None:
        raise NoSuchEnvironment(
            f"there is no environment {reference!r}; `manage.py import_tasks` makes seeds"
        )
    return found


def _by_digest(prefix: str) -> Environment:
    if len(prefix) < SHORTEST_PREFIX or set(prefix) - set("0123456789abcdef"):
        raise NoSuchEnvironment(
            f"{prefix!r} is neither <lineage>/g<generation> nor at least {SHORTEST_PREFIX} digits of a digest"
        )
    found = list(
        Environment.objects.select_related("lineage", "snapshot").filter(snapshot__digest__startswith=prefix)[
            :2
        ]
    )
    if not found:
        raise NoSuchEnvironment(f"no environment's digest begins with {prefix}")
    if len(found) > 1:
        same = len({each.snapshot_id for each in found}) == 1
        advice = "name one of them" if same else "give more digits"
        raise NoSuchEnvironment(f"{prefix} fits more than one environment ({found[0]}, {found[1]}): {advice}")
    return found[0]
