"""How often each criterion was judged, failed, and overruled by a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Count, Q

from agents.plan import Verdict
from lineages.growth.models import ReviewedCriterion
from lineages.library.rubrics import PLAN


@dataclass(frozen=True, slots=True)
class Counted:
    """Of one criterion, over the reviews of roles. `overruled` are failures that a person superseded."""

    judged: int = 0
    failed: int = 0
    overruled: int = 0


def counts(name: str, version: str = "") -> Mapping[str, Counted]:
    """By criterion of that rubric; with `version`, only of work that pins it."""
    of = "plan" if name == PLAN else "candidate"
    rows = ReviewedCriterion.objects.filter(**{f"review__{of}__isnull": False}, review__user=None)
    if version:
        rows = rows.filter(**{f"review__{of}__attempt__evolution__recipe__{name}_rubric": version})
    failed = Q(verdict=Verdict.FAIL)
    found = rows.values("criterion").annotate(
        judged=Count("pk", filter=~Q(verdict=Verdict.NOT_APPLICABLE)),
        failed=Count("pk", filter=failed),
        overruled=Count("pk", filter=failed & Q(review__superseded_by__isnull=False)),
    )
    return {row["criterion"]: Counted(row["judged"], row["failed"], row["overruled"]) for row in found}
