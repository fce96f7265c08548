"""The line over which a role speaks with its model: stored turn by turn, so that it can be taken up again.

A role opens a `Conversation` and asks; who implements it (`lineages.library.ledger`) stores every request
before it is sent and every answer before it is read, keeps to budgets and limits, and hands back what was
answered before at no cost. So a role whose worker was killed says all of it again and only the last
request is really made. Roles run in threads without a database; an implementation knows how to get at it.

    Waits            not an error: there is no answer yet, and nothing was lost. Ask again later.
    ModelTrouble     the model answered, and the answer is no use; it is not asked again. Ends the attempt.
      ├─ Refused     it refused
      ├─ CutOff      it ran out of room, again, and nothing of it was used
      ├─ NotUsable   no answer in the form asked for, after the repairs that are allowed
      ├─ NoProgress  the same call over and over, or nothing changed
      └─ OutOfBounds a limit of the conversation: turns, tokens, money or seconds
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from agents.models import ModelSpec, Role
from agents.providers.base import Question, Reply, ToolResult
from agents.roles import AgentsError
from sandboxes.base import ExecResult


class Waits(Exception):
    """No answer yet: a person was asked, a model is paused, a budget is spent. `reason` is for a list.

    `seconds` is after how long it is worth asking again. `forever` is True where that helps only after a
    person did something.
    """

    def __init__(self, reason: str, *, seconds: float, forever: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.seconds = seconds
        self.forever = forever


class ModelTrouble(AgentsError):
    outcome = "failed"


class Refused(ModelTrouble):
    outcome = "refused"


class CutOff(ModelTrouble):
    outcome = "cut_off"


class NotUsable(ModelTrouble):
    outcome = "not_usable"


class NoProgress(ModelTrouble):
    outcome = "no_progress"


class OutOfBounds(ModelTrouble):
    outcome = "out_of_bounds"


@dataclass(frozen=True, slots=True)
class Spent:
    """What a conversation has used so far.

    `cost` in US dollars; what nobody knows the cost of counts with the most that was reserved for it, and
    `cost` is None where not even that is known of a part.
    """

    tokens: int
    cost: Decimal | None
    seconds: float


class Conversation(Protocol):
    """One question of one role, as a list of requests numbered from 0. `model` is who answers."""

    @property
    def model(self) -> ModelSpec: ...

    def ask(self, number: int, question: Question) -> Reply:
        """The answer to request `number`: the stored one, or a new one, stored and paid.

        Makes the retries that the model's patience allows; each is a request of its own in the ledger.
        Raises `Waits`, and `ProviderError` when that patience is at its end or waiting is of no use.
        """

    def results(self, number: int) -> tuple[ToolResult, ...] | None:
        """The results that were stored for the calls of answer `number`; None when there are none yet."""

    def keep_results(
        self,
        number: int,
        results: Sequence[ToolResult],
        commands: Sequence[ExecResult] = (),
    ) -> None:
        """Store them, with the commands that ran for them."""

    def spent(self) -> Spent:
        """What the requests up to the last one that was asked for in this sitting have used.

        Those given back count, with their retries; later ones, stored before a worker was killed, do not: a
        bound that was kept then is kept again.
        """

    def end(self, outcome: str, *, note: str = "") -> None:
        """Say how it ended: `answered`, or the `outcome` of a `ModelTrouble`, with its sentence."""


class Line(Protocol):
    """A role's way to its model, bound to what it works on (an attempt, an audit, a bench)."""

    def open(
        self, role: Role, model: str, *, subject: str, prompt: Mapping[str, str], opening: Question
    ) -> Conversation:
        """The conversation about `subject` ("round 0", "candidate 2", "rubric"), taken up where it stopped.

        It is the same one while role, model, subject and `opening` are: an opening of another content begins
        another. `prompt` has `name` and `digest` of the prompt file.
        """
