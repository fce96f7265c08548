"""Hands on the models of the areas, so that Django finds them; they live in the areas."""

from lineages.growth.models import (
    Attempt,
    Candidate,
    Evolution,
    PairBinding,
    Plan,
    Recipe,
    Review,
    ReviewedCriterion,
)
from lineages.library.models import (
    AgentCall,
    Audit,
    Blob,
    CommandRun,
    Environment,
    GateResult,
    Job,
    Lineage,
    Snapshot,
    SnapshotFile,
)
from lineages.lifecycle import Move

__all__ = [
    "AgentCall",
    "Attempt",
    "Audit",
    "Blob",
    "Candidate",
    "CommandRun",
    "Environment",
    "Evolution",
    "GateResult",
    "Job",
    "Lineage",
    "Move",
    "PairBinding",
    "Plan",
    "Recipe",
    "Review",
    "ReviewedCriterion",
    "Snapshot",
    "SnapshotFile",
]
