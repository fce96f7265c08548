"""Anthropic's Messages API, and servers that speak it.

The SDK holds the address, the key and the exceptions. The body is ours, so that what is recorded is what was
sent, byte for byte, and parameters that the SDK's own `create` no longer takes (temperature) can be sent to
the models that do. Docs: platform.claude.com/docs/en/api/messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import httpx2
from anthropic import Anthropic, AnthropicError

from agents.models import ModelSpec
from agents.providers.base import (
    Answered,
    Json,
    Question,
    Reply,
    Results,
    Said,
    Stop,
    ToolCall,
    ToolResult,
    ToolSpec,
    Turn,
    Usage,
)
from agents.providers.forms import strict_form
from agents.providers.wire import (
    HEADERS,
    Received,
    broken,
    bytes_of,
    count,
    exchange,
    http_client,
    key_of,
)

HOME = "https://api.anthropic.com"
SEARCHES = 5
"""Web searches that one request may make; each is billed apart from the tokens."""
CACHED = {"type": "ephemeral"}

STOPS: Mapping[str, Stop] = {
    "end_turn": Stop.END,
    "stop_sequence": Stop.END,
    "tool_use": Stop.TOOLS,
    "max_tokens": Stop.LENGTH,
    "model_context_window_exceeded": Stop.LENGTH,
    "pause_turn": Stop.LENGTH,  # of a long search: what there is so far is no whole answer
    "refusal": Stop.REFUSAL,
}


class AnthropicMessages:
    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._client = Anthropic(
            api_key=key_of(spec),
            base_url=(spec.base_url or HOME).removesuffix("/v1"),
            timeout=spec.timeout_seconds,
            max_retries=0,
            default_headers=HEADERS,
            http_client=http_client(spec),
        )

    def request_of(self, question: Question) -> bytes:
        return bytes_of(_body(self._spec, question))

    def reply(self, question: Question) -> Reply:
        content = self.request_of(question)
        received = exchange(
            lambda: self._client.post("/v1/messages", cast_to=httpx2.Response, content=content),
            self._spec,
            foreign=AnthropicError,
            id_header="request-id",
        )
        return _reply(received, self._spec)


def _body(spec: ModelSpec, question: Question) -> dict[str, Json]:
    body: dict[str, Json] = {
        "model": spec.model,
        "max_tokens": min(question.max_output_tokens, spec.max_output_tokens),
        "messages": _messages(question.turns, cache=spec.can.cache),
    }
    if question.system:
        system = {"type": "text", "text": question.system}
        body["system"] = [system | {"cache_control": CACHED}] if spec.can.cache else [system]
    if tools := _tools(spec, question):
        body["tools"] = tools
    if spec.can.thinking:
        body["thinking"] = {"type": "adaptive"}
    if output := _output(spec, question):
        body["output_config"] = output
    if spec.can.temperature and spec.temperature is not None:
        body["temperature"] = spec.temperature
    return body


def _output(spec: ModelSpec, question: Question) -> dict[str, Json]:
    output: dict[str, Json] = {"effort": spec.effort} if spec.effort else {}
    if question.schema:
        output["format"] = {"type": "json_schema", "schema": strict_form(question.schema.form)}
    return output


def _tools(spec: ModelSpec, question: Question) -> list[Json]:
    tools = [_tool(tool) for tool in question.tools]
    if question.web_search and spec.can.web_search:
        tools.append({"type": "web_search_20250305", "name": "web_search", "max_uses": SEARCHES})
    return tools


def _tool(tool: ToolSpec) -> Json:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}


def _messages(turns: Sequence[Turn], *, cache: bool) -> list[Json]:
    """The turns. An empty answer is left out: the API takes none, and joins our turns around it."""
    messages = [
        {"role": "assistant" if isinstance(turn, Answered) else "user", "content": _blocks(turn)}
        for turn in turns
        if not isinstance(turn, Answered) or turn.content
    ]
    if cache and messages[-1]["role"] == "user":
        # Up to here the next request says the same: the whole conversation so far is read from the cache.
        messages[-1]["content"][-1]["cache_control"] = CACHED
    return messages


def _blocks(turn: Turn) -> Json:
    match turn:
        case Answered():
            return turn.content
        case Said():
            return [{"type": "text", "text": turn.text}]
        case Results():
            blocks = [_result(result) for result in turn.results]
            return [*blocks, {"type": "text", "text": turn.text}] if turn.text else blocks


def _result(result: ToolResult) -> Json:
    block: dict[str, Json] = {"type": "tool_result", "tool_use_id": result.id, "content": result.text}
    return block | {"is_error": True} if result.error else block


def _reply(received: Received, spec: ModelSpec) -> Reply:
    body, raw = received.body, received.raw
    content = body.get("content")
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        raise broken("answered a message without content", spec, raw, received.request_id)
    stop = STOPS.get(str(body.get("stop_reason")))
    if stop is None:
        reason = body.get("stop_reason")
        raise broken(f"stopped for an unknown reason: {reason!r}", spec, raw, received.request_id)
    calls = tuple(_call(block) for block in content if block.get("type") == "tool_use")
    if stop in (Stop.END, Stop.TOOLS):
        stop = Stop.TOOLS if calls else Stop.END
    return Reply(
        text="".join(str(block.get("text", "")) for block in content if block.get("type") == "text"),
        calls=calls,
        stop=stop,
        content=content,
        usage=_usage(body.get("usage")),
        raw=raw,
        served=str(body.get("model", "")),
        request_id=received.request_id,
        seconds=received.seconds,
    )


def _call(block: Mapping[str, Json]) -> ToolCall:
    arguments = block.get("input")
    return ToolCall(
        id=str(block.get("id", "")),
        name=str(block.get("name", "")),
        arguments=arguments if isinstance(arguments, dict) else None,
        written="" if isinstance(arguments, dict) else str(arguments),
    )


def _usage(usage: Json) -> Usage | None:
    """The API counts what was read from and written to the cache beside `input_tokens`, not in it."""
    fresh, output = count(usage, "input_tokens"), count(usage, "output_tokens")
    if fresh is None or output is None:
        return None
    cached = count(usage, "cache_read_input_tokens") or 0
    written = count(usage, "cache_creation_input_tokens") or 0
    return Usage(
        input=fresh + cached + written,
        output=output,
        cached=cached,
        cache_written=written,
        thinking=count(usage, "output_tokens_details", "thinking_tokens"),
    )
