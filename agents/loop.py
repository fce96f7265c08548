"""The agent loop: ask, run the tools that were called, tell what they said, until one of them ends it.

It keeps nothing of its own. Taken up after a killed worker, the stored answers and results come back over
the line, tools that change what they share are run again, and the loop stands where it stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import count
from typing import Any

from agents.calling import Toolbox
from agents.endings import ending, refusal
from agents.line import Conversation, Line, OutOfBounds, Spent
from agents.models import ModelSpec, Role
from agents.prompting import Prompt
from agents.providers.base import Question, Reply, Results, Said, Stop, ToolResult, Turn
from agents.providers.errors import TooLong
from agents.tools.base import Submitted, Tool
from agents.turns import fitted, result_room, room_of, shown, tokens_of, with_note
from agents.watching import Watch

WARNED = 5
HURRY = f"You have {WARNED} answers left. Finish, and hand the work in with one of them."


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one conversation may use. `cost` in US dollars, None for no bound; an unknown cost passes it.

    `seconds` are those of its requests and of its tools; what tools took before a worker was killed is not
    counted again.

    `result_chars` caps each result, at less for a model that reads little; those of one answer together get
    four times that. With `WARNED` requests left the model is told so.
    """

    turns: int = 60
    tokens: int = 2_000_000
    cost: Decimal | None = None
    seconds: float = 7_200.0
    result_chars: int = 20_000

    def warning(self, number: int) -> str:
        return HURRY if number + 1 + WARNED == self.turns else ""

    def check(self, spent: Spent, worked: float = 0.0) -> None:
        """Raises `OutOfBounds`. `worked` is how many seconds the tools took."""
        seconds = spent.seconds + worked
        if spent.tokens >= self.tokens:
            raise OutOfBounds(f"no end after {spent.tokens:,} tokens; the limit is {self.tokens:,}")
        if self.cost is not None and spent.cost is not None and spent.cost >= self.cost:
            raise OutOfBounds(f"no end after {spent.cost} US dollars; the limit is {self.cost}")
        if seconds >= self.seconds:
            raise OutOfBounds(f"no end after {seconds:.0f} seconds; the limit is {self.seconds:.0f}")


def converse(
    line: Line,
    role: Role,
    model: ModelSpec,
    *,
    subject: str,
    prompt: Prompt,
    values: Mapping[str, str],
    tools: Sequence[Tool[Any]],
    bounds: Bounds,
) -> object:
    """What the tool that ended it submitted.

    Raises a `ModelTrouble`, with which the conversation has ended: `Refused`, `CutOff` after two cut answers
    in a row, `NoProgress`, `OutOfBounds`. `Waits`, `ProviderError` and a tool's faults pass through and leave
    it open.
    """
    system, user = prompt.fill(**values)
    box = Toolbox(tools, min(bounds.result_chars, result_room(model)))
    opening = Question(system, (Said(user),), model.max_output_tokens, tools=box.specs)
    conversation = line.open(role, model.name, subject=subject, prompt=prompt.named, opening=opening)
    talk = _Talk(conversation, opening, box, bounds, room_of(model, opening))
    with ending(conversation):
        return talk.run()


@dataclass
class _Talk:
    """`start` is the first of the `turns` after the opening that is still sent."""

    conversation: Conversation
    opening: Question
    box: Toolbox
    bounds: Bounds
    room: int
    watch: Watch = field(default_factory=Watch)
    turns: list[Turn] = field(init=False)
    start: int = 1

    def __post_init__(self) -> None:
        self.turns = list(self.opening.turns)

    def run(self) -> object:
        for number in count():
            try:
                self._step(number)
            except TooLong:
                # A number of its own: who resumes asks this one again, unpaid, and is told the same.
                self.room = tokens_of(shown(self.turns, self.start)) * 2 // 3
            except Submitted as end:
                return end.value
        raise AssertionError("a count has no end")

    def _step(self, number: int) -> None:
        """One request and what follows from its answer."""
        if number >= self.bounds.turns:
            raise OutOfBounds(f"no end after {number} requests, which is the limit")
        stored = self.conversation.results(number)
        if stored is None:
            self.bounds.check(self.conversation.spent(), self.box.seconds)
        reply = self.conversation.ask(number, self._question())
        if reply.stop is Stop.REFUSAL:
            raise refusal(reply)
        if reply.stop is Stop.LENGTH:
            self._remark(self.watch.cut())
        elif reply.calls:
            self._called(number, reply, stored)
        else:
            self._idled(reply)

    def _question(self) -> Question:
        start = fitted(self.turns, self.start, self.room)
        if start is None:
            raise OutOfBounds("what the model has to read does not fit, with all that can be left out gone")
        self.start = start
        return replace(self.opening, turns=shown(self.turns, start))

    def _called(self, number: int, reply: Reply, stored: tuple[ToolResult, ...] | None) -> None:
        remark = self.watch.called(reply.calls) or self.bounds.warning(number)
        if stored is None:
            stored = self.box.run(self.conversation, number, reply.calls)
        else:
            self.box.run_again(reply.calls)
        self.turns += [reply.turn, Results(stored, remark)]

    def _idled(self, reply: Reply) -> None:
        """An empty answer is not sent back: no server takes one."""
        silent = not reply.text.strip()
        remark = self.watch.idle(self.box.names, silent=silent)
        if silent:
            self._remark(remark)
        else:
            self.turns += [reply.turn, Said(remark)]

    def _remark(self, text: str) -> None:
        self.turns[-1] = with_note(self.turns[-1], text)
