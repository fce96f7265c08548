"""OpenAI Responses, from the server's side."""

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
    NotSpoken,
    Side,
    call_of,
    check_thought,
    function_of,
    question_of,
    signature_of,
    text_of,
)

PATH = "/v1/responses"


def hear(body: Mapping[str, Json]) -> Heard:
    form = (body.get("text") or {}).get("format") or {"type": "text"}
    schema = Schema(form["name"], form["schema"]) if form["type"] == "json_schema" else None
    own = [tool for tool in body.get("tools") or () if tool["type"] == "function"]
    given = body["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    ours = [item for item in items if item.get("role") not in ("system", "developer")]
    told = (text_of(item["content"]) for item in items if item not in ours)
    question = question_of(
        body,
        "\n".join(filter(None, [body.get("instructions"), *told])),
        _of_items(ours),
        tools=tuple(map(function_of, own)),
        schema=schema,
        web_search=len(own) < len(body.get("tools") or ()),
    )
    thinks = "reasoning.encrypted_content" in (body.get("include") or ())
    return Heard(PATH, body["model"], question, thinks)


def _of_items(items: Sequence[Mapping[str, Json]]) -> Iterator[Side]:
    for item in items:
        kind = item.get("type", "message")
        if kind == "message":
            yield item["role"] == "assistant", text_of(item["content"])
        elif kind == "function_call":
            yield True, call_of(item["call_id"], item["name"], item["arguments"])
        elif kind == "function_call_output":
            yield False, ToolResult(item["call_id"], text_of(item["output"]))
        elif kind == "reasoning":
            check_thought("".join(part["text"] for part in item["summary"]), item["encrypted_content"])
        else:
            raise NotSpoken(f"an item of type {kind} is not known here")


def speak(heard: Heard, answer: Answer, number: int) -> dict[str, Json]:
    cut = answer.stop is Stop.LENGTH
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 0,
        "status": "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "instructions": None,
        "metadata": {},
        "model": heard.model,
        "output": list(_output(heard, answer, number)),
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": {
            "input_tokens": answer.usage.input,
            "input_tokens_details": {
                "cached_tokens": answer.usage.cached, "cache_write_tokens": answer.usage.cache_written,
            },
            "output_tokens": answer.usage.output,
            "output_tokens_details": {"reasoning_tokens": answer.usage.thinking or 0},
            "total_tokens": answer.usage.input + answer.usage.output,
        },
    }  # fmt: skip


def _output(heard: Heard, answer: Answer, number: int) -> Iterator[Json]:
    if heard.thinks and answer.thought:
        summary = [{"type": "summary_text", "text": answer.thought}]
        signed = signature_of(answer.thought)
        yield {"id": f"rs_{number}", "type": "reasoning", "summary": summary, "encrypted_content": signed}
    if answer.text:
        part: Json = {"type": "output_text", "text": answer.text, "annotations": []}
        if answer.stop is Stop.REFUSAL:
            part = {"type": "refusal", "refusal": answer.text}
        about = {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed"}
        yield {**about, "content": [part]}
    for call in answer.calls:
        about = {"id": f"fc_{call.id}", "type": "function_call", "call_id": call.id, "status": "completed"}
        yield {**about, "name": call.name, "arguments": call.written}
