"""The forms of structured answers. What a schema cannot say is checked by the role that asks.

Every field is required and nothing else is allowed, which is what every API's strict mode takes.
"""

from __future__ import annotations

from typing import Literal

from agents.plan import Record


class ObservedPair(Record):
    scenario: str
    skill: str
    tool: str


class Edit(Record):
    """`key` is the replaced pair's; `after` the key of the pair that an inserted one comes after."""

    kind: Literal["insert", "replace"]
    key: str
    after: str
    scenario: str
    skill: str
    tool: str
    target: str


class Proposal(Record):
    """`nothing` is empty, or why there is no plan."""

    observed: tuple[ObservedPair, ...]
    edits: tuple[Edit, ...]
    summary: str
    rationale: str
    nothing: str


class GivenVerdict(Record):
    criterion: str
    verdict: Literal["pass", "fail", "not_applicable"]
    explanation: str
    quote: str


class RubricAnswer(Record):
    verdicts: tuple[GivenVerdict, ...]


class FailureAnswer(Record):
    verdict: Literal["too_hard", "broken", "unclear"]
    explanation: str
    quote: str


class GivenEstimate(Record):
    """Probabilities in (0, 1]."""

    key: str
    scenario: float
    skill: float
    reason: str


class Estimates(Record):
    estimates: tuple[GivenEstimate, ...]


class GivenAttack(Record):
    name: str
    script: str
    idea: str


class Attacks(Record):
    attacks: tuple[GivenAttack, ...]
