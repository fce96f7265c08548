"""Questions and replies as bytes, so that what a model said is given back exactly as it was."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from agents.providers.base import (
    Answered,
    Json,
    Question,
    Reply,
    Said,
    Stop,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
)


def question_json(question: Question) -> dict[str, Json]:
    """The whole question: `system`, `turns`, `tools`, `schema`, `max_output_tokens`, `web_search`.

    A turn is `{"said"}`, `{"answered", "text", "calls"}` or `{"results", "text"}`.
    """
    form = question.schema
    return {
        "system": question.system,
        "turns": [_turn(turn) for turn in question.turns],
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
            for tool in question.tools
        ],
        "schema": {"name": form.name, "form": dict(form.form)} if form else None,
        "max_output_tokens": question.max_output_tokens,
        "web_search": question.web_search,
    }


def written(value: Json) -> bytes:
    """As JSON in ASCII, where also a half surrogate survives."""
    return json.dumps(value, sort_keys=True, default=_plain).encode()


def digest(question: Question) -> str:
    """Of what is asked; the room for the answer is not a part of that."""
    asked = question_json(question)
    del asked["max_output_tokens"]
    return hashlib.sha256(written(asked)).hexdigest()


def packed(reply: Reply) -> bytes:
    """`raw` stands in it as text where it is UTF-8, as it mostly is, so that the blob can be read."""
    usage = reply.usage
    return written(
        {
            "text": reply.text,
            "calls": [_call(call) for call in reply.calls],
            "stop": reply.stop,
            "content": reply.content,
            "usage": _usage(usage) if usage else None,
            "served": reply.served,
            "request_id": reply.request_id,
            "seconds": reply.seconds,
            **_raw(reply.raw),
        }
    )


def unpacked(data: bytes) -> Reply:
    """The reply that was packed, equal to it."""
    kept = json.loads(data)
    return Reply(
        text=kept["text"],
        calls=tuple(ToolCall(**call) for call in kept["calls"]),
        stop=Stop(kept["stop"]),
        content=kept["content"],
        usage=Usage(**kept["usage"]) if kept["usage"] else None,
        raw=kept["raw"].encode() if "raw" in kept else base64.b64decode(kept["raw_base64"]),
        served=kept["served"],
        request_id=kept["request_id"],
        seconds=kept["seconds"],
    )


def _turn(turn: Turn) -> dict[str, Json]:
    if isinstance(turn, Said):
        return {"said": turn.text}
    if isinstance(turn, Answered):
        return {
            "answered": turn.content,
            "text": turn.text,
            "calls": [_call(call) for call in turn.calls],
        }
    return {"results": [_result(result) for result in turn.results], "text": turn.text}


def _call(call: ToolCall) -> dict[str, Json]:
    return {"id": call.id, "name": call.name, "arguments": call.arguments, "written": call.written}


def _result(result: ToolResult) -> dict[str, Json]:
    return {"id": result.id, "text": result.text, "error": result.error, "cut": result.cut}


def _usage(usage: Usage) -> dict[str, Json]:
    return {
        "input": usage.input,
        "output": usage.output,
        "cached": usage.cached,
        "cache_written": usage.cache_written,
        "thinking": usage.thinking,
    }


def _raw(raw: bytes) -> dict[str, str]:
    try:
        return {"raw": raw.decode()}
    except UnicodeDecodeError:
        return {"raw_base64": base64.b64encode(raw).decode()}


def _plain(value: Any) -> Json:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON")
