"""What OpenAI's two APIs say alike, under other names: a called function, and what a request has used."""

from __future__ import annotations

from agents.providers.base import Json, ToolCall, Usage
from agents.providers.wire import count, object_of


def called(id_: Json, function: Json) -> ToolCall:
    """`function` holds the name and the arguments, these as the text that the model wrote."""
    function = function if isinstance(function, dict) else {}
    written = str(function.get("arguments", ""))
    return ToolCall(str(id_), str(function.get("name", "")), object_of(written), written)


def used(usage: Json, read: str, answered: str) -> Usage | None:
    """`read` and `answered` are what the API calls the tokens in and out; None where it is silent."""
    tokens_in, tokens_out = count(usage, read), count(usage, answered)
    if tokens_in is None or tokens_out is None:
        return None
    return Usage(
        input=tokens_in,
        output=tokens_out,
        cached=count(usage, f"{read}_details", "cached_tokens") or 0,
        cache_written=count(usage, f"{read}_details", "cache_write_tokens") or 0,
        thinking=count(usage, f"{answered}_details", "reasoning_tokens"),
    )
