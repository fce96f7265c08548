"""What a step has in its hands: the evolution under its lease, the recipe, the roles, the parent's task."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Generic, TypeVar

from django.db.models.functions import Now
from pydantic import BaseModel

from agents.authors import author
from agents.plan import Judgement
from agents.roles import AgentsError, Author
from lineages.growth.models import Attempt, Evolution, Recipe, Review, ReviewedCriterion
from lineages.library import audits, blobs
from lineages.library.models import AgentCall
from lineages.library.snapshots import load
from lineages.lifecycle import Lease, beating
from sandboxes.base import ExecResult
from sandboxes.task import Task
from sandboxes.text import clean

T = TypeVar("T")


class Fault(Exception):
    """An infrastructure error inside a step: it is tried again later and uses up no budget of a model."""


@dataclass
class Answered(Generic[T]):
    """What a role said or refused with: not stored yet, so that it is stored with what follows from it."""

    role: str
    author: str
    input_digest: str
    started_at: datetime
    seconds: float
    value: T | None
    refusal: AgentsError | None
    commands: tuple[ExecResult, ...]

    def save(self, attempt: Attempt) -> AgentCall:
        call = AgentCall.objects.create(
            role=self.role,
            author=self.author,
            attempt=attempt,
            outcome="refused" if self.refusal else "answered",
            error=clean(str(self.refusal or "")),
            input_digest=self.input_digest,
            output_id=self._kept(),
            started_at=self.started_at,
            seconds=self.seconds,
        )
        audits.store_commands(self.commands, call=call)
        return call

    def _kept(self) -> str | None:
        if not isinstance(self.value, BaseModel):
            return None
        return blobs.keep_one(self.value.model_dump_json().encode())


@dataclass
class Work:
    """One step's view of an evolution. Everything is read under the lease and written through it."""

    lease: Lease
    evolution: Evolution
    commands: list[ExecResult] = field(default_factory=list)
    """Commands that ran for the role being asked; `ask` takes them."""

    @cached_property
    def recipe(self) -> Recipe:
        return self.evolution.recipe

    @cached_property
    def author(self) -> Author:
        return author(self.recipe.author)

    @cached_property
    def parent(self) -> Task:
        return load(self.evolution.parent.snapshot)

    def attempt(self) -> Attempt | None:
        """The open attempt."""
        return self.evolution.attempts.filter(outcome=Attempt.Outcome.OPEN).first()

    def ask(self, role: str, question: Callable[[], T], *, about: str) -> Answered[T]:
        """Ask a role in a thread and keep the lease alive. Refusals are answers, other errors are raised."""
        started_at, clock = datetime.now(UTC), time.monotonic()
        value, refusal = None, None
        with ThreadPoolExecutor(max_workers=1) as pool:
            (done,) = beating([pool.submit(question)], self.lease)
        try:
            value = done.result()
        except AgentsError as problem:
            refusal = problem
        commands, self.commands = tuple(self.commands), []
        seconds = time.monotonic() - clock
        return Answered(role, self.author.name, about, started_at, seconds, value, refusal, commands)

    def move(self, to: str, *, reason: str = "") -> None:
        """Ends the step: faults are forgotten, the lease is given back."""
        self.lease.move(to, reason=clean(reason), faults=0, fault="", retry_at=None)


def close(attempt: Attempt, outcome: Attempt.Outcome, reason: str) -> None:
    """Close an attempt, inside the caller's fenced transaction. A closed attempt never reopens."""
    open_one = Attempt.objects.filter(pk=attempt.pk, outcome=Attempt.Outcome.OPEN)
    open_one.update(outcome=outcome, reason=clean(reason), closed_at=Now())


def store_review(
    judgement: Judgement, *, role: str, reviewer: str, call: AgentCall | None, **of: object
) -> Review:
    """A role's judgement as a review with its criteria. `of` is the plan or the candidate."""
    review = Review.objects.create(
        role=role,
        reviewer=reviewer,
        decision=Review.Decision.APPROVE if judgement.accepted else Review.Decision.REJECT,
        comment=clean("; ".join(f"{v.criterion}: {v.explanation}" for v in judgement.failures)),
        call=call,
        **of,
    )
    ReviewedCriterion.objects.bulk_create(
        ReviewedCriterion(
            review=review,
            criterion=verdict.criterion,
            verdict=verdict.verdict,
            explanation=clean(verdict.explanation),
            quote=clean(verdict.quote),
        )
        for verdict in judgement.verdicts
    )
    return review
