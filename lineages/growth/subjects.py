"""What an audit of an environment judges: a seed by itself, a child together with its plan and parent."""

from __future__ import annotations

from dataclasses import replace

from agents.rubrics import ENVIRONMENT_RUBRIC

from agents.roles import Author
from lineages.gates.base import Subject
from lineages.growth.models import Candidate
from lineages.library import audits
from lineages.library.models import Environment
from lineages.library.snapshots import load


def of_candidate(candidate: Candidate, author: Author) -> Subject:
    """A candidate with the plan it was built by and the parent it was built on."""
    return replace(
        audits.subject_of(candidate.snapshot, author, ENVIRONMENT_RUBRIC.version),
        parent=load(candidate.attempt.evolution.parent.snapshot),
        plan=candidate.plan.draft,
        bindings=tuple(row.value for row in candidate.bindings.all()),
    )


def of_environment(environment: Environment, author: Author) -> Subject:
    """An accepted environment, judged as the candidate that it was."""
    accepted = Candidate.objects.filter(
        snapshot=environment.snapshot, attempt__evolution__child=environment
    ).first()
    if accepted:
        return of_candidate(accepted, author)
    return audits.subject_of(environment.snapshot, author, ENVIRONMENT_RUBRIC.version)
