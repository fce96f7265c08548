"""What becomes of a conversation's turns: a remark added to ours, the oldest left out for want of room.

After the opening a conversation is pairs: what the model answered, and our turn to it. Only whole pairs are
left out, so that no call ever stands without its results nor results without their call. Everything here
follows from the turns alone: who takes a conversation up again leaves out the same.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from agents.models import ModelSpec
from agents.providers.base import Answered, Question, Said, Turn
from sandboxes.files import printable

CHARS_PER_TOKEN = 3
"""Fewer than most tokenizers make of a token of English or code, so that the estimate is rather high."""

RESULT_PART = 16
MOST_NAMED = 40
"""Tools, and paths, that the note on what was left out names."""


def room_of(model: ModelSpec, opening: Question) -> int:
    """Tokens for the turns: what the model takes, without its answer, the tools and the system's text."""
    tools = sum(len(spec.description) + len(json.dumps(spec.parameters)) for spec in opening.tools)
    fixed = (len(opening.system) + tools) // CHARS_PER_TOKEN
    return max(model.context_tokens - opening.max_output_tokens - fixed, model.context_tokens // 4)


def result_room(model: ModelSpec) -> int:
    """Characters for one tool result: a small part of what the model takes, so that the last pair fits."""
    return model.context_tokens * CHARS_PER_TOKEN // RESULT_PART


def with_note(turn: Turn, note: str) -> Turn:
    """Our turn with a paragraph more. A model's own turn is never changed: raises `TypeError`."""
    if isinstance(turn, Answered):
        raise TypeError("what a model said goes back to it as it was")
    return replace(turn, text=f"{turn.text}\n\n{note}" if turn.text else note)


def tokens_of(turns: Iterable[Turn]) -> int:
    """About how many tokens the turns take, rather too many than too few."""
    return sum(_chars(turn) for turn in turns) // CHARS_PER_TOKEN


def _chars(turn: Turn) -> int:
    if isinstance(turn, Said):
        return len(turn.text)
    if isinstance(turn, Answered):
        return len(json.dumps(turn.content, default=str))
    return len(turn.text) + sum(len(result.text) for result in turn.results)


def fitted(turns: Sequence[Turn], start: int, room: int) -> int | None:
    """From which turn on to send, so that `shown(turns, …)` takes at most `room` tokens.

    `start` is where that was so far, 1 for nothing left out. Where it fits, it stays; where it does not,
    what is left out makes half of the room free, so that the beginning does not change with every request.
    The last pair always stays. None where not even that fits.
    """
    if tokens_of(shown(turns, start)) <= room:
        return start
    last = max(len(turns) - 2, 1)
    for later in range(start + 2, last + 1, 2):
        if tokens_of(shown(turns, later)) <= room // 2:
            return later
    return last if last > start and tokens_of(shown(turns, last)) <= room else None


def shown(turns: Sequence[Turn], start: int) -> tuple[Turn, ...]:
    """The opening, with a note on what is left out between it and the turn `start`, and the rest."""
    if start <= 1:
        return tuple(turns)
    return (with_note(turns[0], _left_out(turns[1:start])), *turns[start:])


def _left_out(turns: Sequence[Turn]) -> str:
    answers = [turn for turn in turns if isinstance(turn, Answered)]
    calls = [call for answer in answers for call in answer.calls]
    tally = Counter(printable(call.name) for call in calls).most_common(MOST_NAMED)
    names = ", ".join(f"{name} ({times})" for name, times in tally)
    given = [call.arguments or {} for call in calls]
    # A path may be anything that a model made up: of any length, with line breaks in it.
    paths = sorted({printable(str(arguments["path"])) for arguments in given if "path" in arguments})
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    about = f" They were about {', '.join(paths[:MOST_NAMED])}{more}." if paths else ""
    return (
        f"[{len(answers)} earlier answers of yours, with what they were told, are left out here for want of "
        f"room. "
        f"Calls in them: {names or 'none'}.{about} What they did still holds; look again where you need to.]"
    )
