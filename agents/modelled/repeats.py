"""Whether a plan was proposed before: told by code, since whoever proposes vouches for its own novelty.

Two plans are the same if their edits say the same words, and near-identical from `NEAR` on: the share of
words that they have in common, of all words that either has (Jaccard, over words counted).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

from agents.plan import Change, PlanDraft

NEAR = 0.9
_WORD = re.compile(r"[^\W_]+")


def repeated(plan: PlanDraft, earlier: Iterable[PlanDraft], *, near: float = NEAR) -> str:
    """Which earlier plan it repeats, in a sentence; "" if it repeats none."""
    mine = signature(plan)
    for number, other in enumerate(earlier, start=1):
        if signature(other) == mine:
            return f"these are the edits of plan {number}, which was turned down: propose another plan"
        score = likeness(plan, other)
        if score >= near:
            return (
                f"plan {number}, which was turned down, has nearly the same edits "
                f"(likeness {score:.2f} of 1): change what they do, not how they are worded"
            )
    return ""


def signature(plan: PlanDraft) -> str:
    """Hex SHA-256 of the edits in small letters, whatever their order and the keys of inserted pairs."""
    lines = sorted(" ".join(_words(change)) for change in plan.changes)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def likeness(one: PlanDraft, other: PlanDraft) -> float:
    """From 0, no word in common, to 1."""
    ours, theirs = _counted(one), _counted(other)
    union = (ours | theirs).total()
    return (ours & theirs).total() / union if union else 1.0


def _counted(plan: PlanDraft) -> Counter[str]:
    return Counter(word for change in plan.changes for word in _words(change))


def _words(change: Change) -> list[str]:
    pair = change.pair
    told = (pair.scenario, pair.skill, pair.tool, pair.target, pair.key if change.kind == "replace" else "")
    return [change.kind, *_WORD.findall(" ".join(told).casefold())]
