"""OpenAI Chat Completions, from the server's side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from agents.providers.base import (
    Json,
    Schema,
    Stop,
    ToolResult,
)
from tests.model_servers.speech import (
    Answer,
    Heard,
    Side,
    call_of,
    function_of,
    question_of,
    text_of,
)

PATH = "/v1/chat/completions"


def hear(body: Mapping[str, Json]) -> Heard:
    form = body.get("response_format") or {"type": "text"}
    named = form["json_schema"] if form["type"] == "json_schema" else None
    ours = [each for each in body["messages"] if each["role"] not in ("system", "developer")]
    system = "\n".join(text_of(each["content"]) for each in body["messages"] if each not in ours)
    functions = [tool["function"] for tool in body.get("tools") or ()]
    question = question_of(
        body,
        system,
        _of_chat(ours),
        tools=tuple(map(function_of, functions)),
        schema=Schema(named["name"], named["schema"]) if named else None,
    )
    return Heard(PATH, body["model"], question)


def _of_chat(messages: Sequence[Mapping[str, Json]]) -> Iterator[Side]:
    for message in messages:
        if message["role"] == "tool":
            yield False, ToolResult(message["tool_call_id"], text_of(message["content"]))
            continue
        model = message["role"] == "assistant"
        yield model, text_of(message.get("content"))
        for call in message.get("tool_calls") or ():
            yield model, call_of(call["id"], call["function"]["name"], call["function"]["arguments"])


def speak(heard: Heard, answer: Answer, number: int) -> dict[str, Json]:
    refused = answer.stop is Stop.REFUSAL
    message: dict[str, Json] = {"role": "assistant", "content": None if refused else answer.text or None}
    message["refusal"] = answer.text if refused else None
    if answer.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.written}}
            for call in answer.calls
        ]
    reason = {
        Stop.END: "stop", Stop.TOOLS: "tool_calls", Stop.LENGTH: "length", Stop.REFUSAL: "content_filter",
    }[answer.stop]  # fmt: skip
    usage = answer.usage
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": heard.model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {
            "prompt_tokens": usage.input,
            "prompt_tokens_details": {"cached_tokens": usage.cached},
            "completion_tokens": usage.output,
            "total_tokens": usage.input + usage.output,
        },
    }
