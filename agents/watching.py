"""Whether a conversation still gets anywhere: what is told to a model that does not, and when to stop."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from agents.line import CutOff, NoProgress
from agents.providers.base import ToolCall

SAME_ANSWERS, SILENT_ANSWERS, IDLE_ANSWERS, CUT_ANSWERS = 3, 2, 3, 2
"""How many in a row are too many: the same calls; nothing at all; words without a call; cut ones."""

SAME = "You made the same call three times. Do something else now; the same once more ends your work."
IDLE = "You called no tool, so nothing was done. Call one: {tools}."
CUT = (
    "Your last answer ran out of room before its end, so nothing of it was done. "
    "Go on in smaller pieces: one call, with a shorter text."
)


@dataclass
class Watch:
    """Counts what happens in a row. It follows from the answers alone, so it is the same when resumed."""

    cut_in_row: int = 0
    idle_in_row: int = 0
    same_in_row: int = 0
    nudged: bool = False
    last: frozenset[str] = frozenset()

    def cut(self) -> str:
        """An answer ran out of room: the remark on it. Raises `CutOff` at the second in a row."""
        self.cut_in_row += 1
        if self.cut_in_row >= CUT_ANSWERS:
            raise CutOff(f"{self.cut_in_row} answers in a row ran out of room, and nothing of them was done")
        return CUT

    def idle(self, tools: Sequence[str], *, silent: bool) -> str:
        """An answer called no tool, or was empty (`silent`): the remark. Raises `NoProgress` in the end."""
        self.cut_in_row, self.same_in_row, self.last = 0, 0, frozenset()
        self.idle_in_row += 1
        if self.idle_in_row >= (SILENT_ANSWERS if silent else IDLE_ANSWERS):
            raise NoProgress(f"{self.idle_in_row} answers in a row called no tool")
        return IDLE.format(tools=", ".join(tools))

    def called(self, calls: Sequence[ToolCall]) -> str:
        """An answer called tools: the remark where it is the third with the same calls, else nothing.

        One remark a conversation: raises `NoProgress` where the same goes on, or begins again, after it.
        """
        self.cut_in_row = self.idle_in_row = 0
        made = frozenset(_written(call) for call in calls)
        self.same_in_row = self.same_in_row + 1 if made == self.last else 1
        self.last = made
        if self.same_in_row < SAME_ANSWERS:
            return ""
        if self.nudged:
            raise NoProgress(f"the same call again, after a remark on it: {min(made)[:200]}")
        self.nudged = True
        return SAME


def _written(call: ToolCall) -> str:
    if call.arguments is None:
        return f"{call.name} {call.written}"
    return f"{call.name} {json.dumps(call.arguments, sort_keys=True, default=str)}"
