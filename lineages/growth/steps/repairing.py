"""repairing: the modifier repairs the candidate on what its gates, or a person, found."""

from __future__ import annotations

from lineages.growth.models import Review
from lineages.growth.steps.building import build
from lineages.growth.work import Fault, Work


def run(work: Work) -> None:
    """Ends in `verifying` with the next candidate, or in `drafting` when the modifier has no repair left."""
    attempt = work.attempt()
    last = attempt.candidate if attempt else None
    if last is None:
        raise Fault("there is no candidate to repair")
    asked = last.reviews.filter(decision=Review.Decision.CHANGES, superseded_by=None).order_by("-id").first()
    build(work, revision=last.n + 1, wish=asked.comment if asked else "")
