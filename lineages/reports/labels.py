"""What the page and the command of costs call the keys of their lines."""

from __future__ import annotations

from lineages.growth.models import Attempt
from lineages.reports.costs import NO_ATTEMPT, Reason
from lineages.templatetags.pages import gate_title, words

REASONS = (
    ("criterion", "Criteria that plans failed"),
    ("rule", "Rules that plans broke"),
    ("gate", "Gates that candidates failed"),
    ("attempt", "How attempts ended"),
)


def label(table: str, key: str) -> str:
    """Of a line of a table: role, model, direction or outcome."""
    if table in ("direction", "outcome") and key == NO_ATTEMPT:
        return "no attempt (seeds, benches)"
    if table == "outcome":
        return str(Attempt.Outcome(key).label).lower()
    return key if table == "model" else words(key)


def named(reason: Reason) -> str:
    if reason.kind == "attempt":
        return str(Attempt.Outcome(reason.name).label).lower()
    return gate_title(reason.name) if reason.kind == "gate" else reason.name
