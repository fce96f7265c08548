"""A line without storage: it makes the calls, keeps the turns in memory, and is gone with its process.

For `doctor`, for benches and for tests. What the ledger does beyond it: rows, budgets, limits, retries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

from agents.line import Spent
from agents.models import ModelSpec, Role
from agents.prices import price
from agents.providers.base import Provider, Question, Reply, ToolResult
from sandboxes.base import ExecResult

OPEN = "open"


@dataclass
class MemoryConversation:
    """`asked` holds every request that was made, `commands` those that ran for its tools."""

    model: ModelSpec
    provider: Provider
    role: Role
    subject: str
    prompt: Mapping[str, str]
    outcome: str = OPEN
    note: str = ""
    asked: list[tuple[int, Question]] = field(default_factory=list)
    replies: dict[int, Reply] = field(default_factory=dict)
    kept: dict[int, tuple[ToolResult, ...]] = field(default_factory=dict)
    commands: list[ExecResult] = field(default_factory=list)
    costs: dict[int, Decimal | None] = field(default_factory=dict)
    reached: int = -1

    def ask(self, number: int, question: Question) -> Reply:
        """As the protocol says, with one try for each request: `ProviderError` comes at once."""
        self.reached = number
        if number not in self.replies:
            self.asked.append((number, question))
            reply = self.replies[number] = self.provider.reply(question)
            self.costs[number] = price(self.model, reply.usage, reply.served, datetime.now(UTC)).cost
        return self.replies[number]

    def results(self, number: int) -> tuple[ToolResult, ...] | None:
        return self.kept.get(number)

    def keep_results(
        self, number: int, results: Sequence[ToolResult], commands: Sequence[ExecResult] = ()
    ) -> None:
        self.kept[number] = tuple(results)
        self.commands += commands

    def spent(self) -> Spent:
        numbers = [number for number in self.replies if number <= self.reached]
        replies = [self.replies[number] for number in numbers]
        tokens = sum(reply.usage.input + reply.usage.output for reply in replies if reply.usage)
        known = [cost for number in numbers if (cost := self.costs[number]) is not None]
        cost = sum(known, Decimal(0)) if len(known) == len(numbers) else None
        return Spent(tokens, cost, sum(reply.seconds for reply in replies))

    def end(self, outcome: str, *, note: str = "") -> None:
        self.outcome, self.note = outcome, note


class MemoryLine:
    """A line to some models: `models` are their specs by name, `providers` who speaks with them."""

    def __init__(
        self,
        models: Mapping[str, ModelSpec],
        providers: Callable[[ModelSpec], Provider],
    ) -> None:
        self._models = models
        self._providers = providers
        self.conversations: dict[tuple[str, ...], MemoryConversation] = {}

    def open(
        self, role: Role, model: str, *, subject: str, prompt: Mapping[str, str], opening: Question
    ) -> MemoryConversation:
        """The conversation, begun anew from its first turn where there is one. Raises `KeyError`."""
        key = (role, model, subject, digest_of(opening))
        if key not in self.conversations:
            spec = self._models[model]
            self.conversations[key] = MemoryConversation(spec, self._providers(spec), role, subject, prompt)
        conversation = self.conversations[key]
        conversation.reached = -1
        return conversation


def digest_of(opening: Question) -> str:
    """Hex SHA-256 of all that the opening says."""
    return hashlib.sha256(repr(opening).encode("utf-8", "surrogatepass")).hexdigest()
