"""Anthropic Messages, from the server's side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from agents.providers.base import (
    Json,
    Schema,
    Stop,
    ToolResult,
    ToolSpec,
)
from tests.model_servers.speech import (
    Answer,
    Heard,
    NotSpoken,
    Side,
    call_of,
    check_thought,
    question_of,
    signature_of,
    text_of,
)

PATH = "/v1/messages"


def hear(body: Mapping[str, Json]) -> Heard:
    if not body["max_tokens"]:
        raise NotSpoken("max_tokens: Field required")
    form = (body.get("output_config") or {}).get("format")
    schema = Schema(form["schema"].get("title", ""), form["schema"]) if form else None
    own = [tool for tool in body.get("tools", ()) if "input_schema" in tool]
    tools = tuple(ToolSpec(each["name"], each.get("description", ""), each["input_schema"]) for each in own)
    question = question_of(
        body,
        text_of(body.get("system")),
        _of_messages(body["messages"]),
        tools=tools,
        schema=schema,
        web_search=len(own) < len(body.get("tools", ())),
    )
    thinks = (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")
    return Heard(PATH, body["model"], question, thinks)


def _of_messages(messages: Sequence[Mapping[str, Json]]) -> Iterator[Side]:
    for message in messages:
        content = message["content"]
        model = message["role"] == "assistant"
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "text":
                yield model, block["text"]
            elif block["type"] == "tool_use":
                yield model, call_of(block["id"], block["name"], block["input"])
            elif block["type"] == "tool_result":
                told = text_of(block.get("content"))
                yield model, ToolResult(block["tool_use_id"], told, bool(block.get("is_error")))
            elif block["type"] == "thinking":
                check_thought(block["thinking"], block["signature"])
            else:
                raise NotSpoken(f"a block of type {block['type']} is not known here")


def speak(heard: Heard, answer: Answer, number: int) -> dict[str, Json]:
    content: list[Json] = []
    if heard.thinks and answer.thought:
        thought = {"thinking": answer.thought, "signature": signature_of(answer.thought)}
        content.append({"type": "thinking", **thought})
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    for call in answer.calls:
        content.append({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
    usage = answer.usage
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": heard.model,
        "content": content,
        "stop_reason": {
            Stop.END: "end_turn", Stop.TOOLS: "tool_use", Stop.LENGTH: "max_tokens", Stop.REFUSAL: "refusal",
        }[answer.stop],
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage.input - usage.cached - usage.cache_written,
            "cache_read_input_tokens": usage.cached,
            "cache_creation_input_tokens": usage.cache_written,
            "output_tokens": usage.output,
        },
    }  # fmt: skip
