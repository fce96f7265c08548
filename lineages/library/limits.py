"""How long a request to a model has to wait for the others, by the limits of `models.toml`: arithmetic.

The requests themselves are counted in the ledger, which all workers share.
"""

from __future__ import annotations

from collections.abc import Sequence

from agents.models import ModelSpec

MINUTE = 60.0
LOOK_AGAIN = 1.0
"""Seconds after which it is worth looking whether a request under way has ended."""


def wait(spec: ModelSpec, tokens: int, recent: Sequence[tuple[float, int]], under_way: int) -> float:
    """Seconds until one more request of so many tokens fits; 0 when it does now.

    `recent` holds (age in seconds, tokens) of the requests of the last minute, oldest first. A request that
    is larger by itself than the tokens of a minute goes when it is alone in its minute.
    """
    waits = [0.0]
    if spec.at_once is not None and under_way >= spec.at_once:
        waits.append(LOOK_AGAIN)
    if spec.requests_per_minute is not None and len(recent) >= spec.requests_per_minute:
        waits.append(MINUTE - recent[len(recent) - spec.requests_per_minute][0])
    if spec.tokens_per_minute is not None:
        waits.append(_until_tokens_fit(spec.tokens_per_minute - tokens, recent))
    return max(waits)


def _until_tokens_fit(room: int, recent: Sequence[tuple[float, int]]) -> float:
    used, until = sum(tokens for _, tokens in recent), 0.0
    for age, tokens in recent:
        if used <= room:
            break
        used, until = used - tokens, MINUTE - age
    return until
