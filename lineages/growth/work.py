"""What a step has in its hands: the evolution under its lease, the recipe, the roles, the parent's task."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Generic, TypeVar

from django.conf import settings
from django.db.models.functions import Now
from pydantic import BaseModel

from agents.line import Line, Waits
from agents.plan import Judgement
from agents.roles import AgentsError, Author, Built
from lineages import casting
from lineages.desk import Desk, attended, beating
from lineages.growth.models import Attempt, Evolution, Recipe, Review, ReviewedCriterion
from lineages.library import blobs, recording, rubrics
from lineages.library.calls import AgentCall
from lineages.library.ledger import LedgerLine, Scope
from lineages.library.snapshots import load
from lineages.lifecycle import Lease
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
    problem: BaseException | None
    commands: tuple[ExecResult, ...]
    spoken: bool = False
    """Whether a model plays the role: then the ledger has a row for each request."""

    @property
    def refusal(self) -> str:
        return str(self.problem or "")

    def save(self, attempt: Attempt) -> AgentCall | None:
        """Store the call, inside the caller's fenced transaction.

        A model's requests are rows already: its last one gets what the role made of it. None where the role
        came to its answer without any.
        """
        if self.spoken:
            return self._note(attempt)
        call = AgentCall.objects.create(
            role=self.role,
            author=self.author,
            attempt=attempt,
            outcome=self._outcome(),
            error=clean(self.refusal),
            input_digest=self.input_digest,
            output_id=self._kept(),
            started_at=self.started_at,
            seconds=self.seconds,
        )
        recording.store_commands(self.commands, call=call)
        return call

    def _note(self, attempt: Attempt) -> AgentCall | None:
        last = recording.last_answer(attempt.conversations.filter(role=self.role))
        kept = self._kept()
        if last and kept:
            AgentCall.objects.filter(pk=last.pk).update(output=kept)
        if last and self.commands:
            recording.store_commands(self.commands, call=last, after=last.commands.count())
        return last

    def _outcome(self) -> str:
        if self.problem is None:
            return "answered"
        return "refused" if isinstance(self.problem, AgentsError) else "failed"

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
        """Who plays the roles. Raises `Fault` when the wording that the recipe pins is not kept here."""
        if not rubrics.known(self.recipe.plan_rubric, self.recipe.environment_rubric):
            raise Fault("the rubrics that this evolution pins are not kept here: cancel it and start another")
        return casting.author_of(self.recipe.author, self.recipe.cast)

    @cached_property
    def parent(self) -> Task:
        return load(self.evolution.parent.snapshot)

    def attempt(self) -> Attempt | None:
        """The open attempt."""
        return self.evolution.attempts.filter(outcome=Attempt.Outcome.OPEN).first()

    def ask(self, role: str, question: Callable[[Line], T], *, attempt: Attempt) -> Answered[T]:
        """Ask a role in a thread and keep the lease alive. `question` is handed the line to its model.

        A refusal is an answer, for the caller to store with what follows from it; any other error is
        stored here and raised. Raises `Waits` where there is no answer yet: nothing is stored or lost.
        """
        started_at, clock = datetime.now(UTC), time.monotonic()
        running: set[Future[T]] = set()
        with ThreadPoolExecutor(max_workers=1) as pool, attended(self.lease, running) as desk:
            running.add(pool.submit(question, self._line(desk, attempt)))
            (done,) = beating(running, self.lease, desk=desk)
        problem = done.exception()
        if isinstance(problem, Waits):
            raise problem
        answered = Answered(
            role=role,
            author=self.author.name,
            input_digest=self.parent.digest,
            started_at=started_at,
            seconds=time.monotonic() - clock,
            value=cleaned(done.result()) if problem is None else None,
            problem=problem,
            commands=tuple(self.commands),
            spoken=bool(self.recipe.cast),
        )
        self.commands.clear()
        if problem is not None and not isinstance(problem, AgentsError):
            with self.lease.writing():
                answered.save(attempt)
            raise problem
        return answered

    def _line(self, desk: Desk, attempt: Attempt) -> Line:
        return LedgerLine(desk, settings.MODELS, replace(self.scope(), attempt=attempt.pk))

    def scope(self) -> Scope:
        """What the requests to models are made for."""
        return Scope(
            author=self.author.name,
            input_digest=self.parent.digest,
            evolution=self.evolution.pk,
            lineage=self.evolution.lineage_id,
        )

    def move(self, to: str, *, reason: str = "") -> None:
        """Ends the step: faults are forgotten, the lease is given back."""
        self.lease.move(to, reason=clean(reason), faults=0, fault="")


def cleaned(value: T) -> T:
    """A role's answer as any database can store it: no NUL, no half surrogate in any of its strings."""
    if isinstance(value, BaseModel):
        return type(value).model_validate(_clean_all(value.model_dump(mode="json")))
    if isinstance(value, Built):
        return replace(
            value,
            bindings=tuple(cleaned(binding) for binding in value.bindings),
            composition=cleaned(value.composition),
            notes=clean(value.notes),
        )
    return value


def _clean_all(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {key: _clean_all(inner) for key, inner in value.items()}
    return [_clean_all(inner) for inner in value] if isinstance(value, list) else value


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
