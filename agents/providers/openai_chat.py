"""Chat Completions, for the many servers that speak it: vLLM, SGLang, llama.cpp, gateways, OpenAI itself.

What servers disagree on is in the model's spec: what the limit on the answer is called, whether a temperature
is taken, whether schemas and tools are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agents.models import ModelSpec
from agents.providers.base import (
    Answered,
    Json,
    Question,
    Reply,
    Results,
    Said,
    Stop,
    ToolResult,
    ToolSpec,
    Turn,
)
from agents.providers.forms import OPENAI_TAKES, strict_form
from agents.providers.openai_reading import called, used
from agents.providers.openai_sdk import OpenAIServer
from agents.providers.wire import Received, broken, bytes_of

STOPS: Mapping[str, Stop] = {
    "stop": Stop.END,
    "tool_calls": Stop.TOOLS,
    "function_call": Stop.TOOLS,
    "length": Stop.LENGTH,
    "content_filter": Stop.REFUSAL,
}


class OpenAIChat:
    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._server = OpenAIServer(spec)

    def request_of(self, question: Question) -> bytes:
        return bytes_of(_body(self._spec, question))

    def reply(self, question: Question) -> Reply:
        received = self._server.post("/chat/completions", self.request_of(question))
        return _reply(received, self._spec, room=_room(self._spec, question))


def _body(spec: ModelSpec, question: Question) -> dict[str, Json]:
    body: dict[str, Json] = {
        "model": spec.model,
        spec.output_name: _room(spec, question),
        "messages": list(_messages(question)),
    }
    if question.tools:
        body["tools"] = [_tool(tool) for tool in question.tools]
    if question.schema:
        schema = strict_form(question.schema.form, OPENAI_TAKES)
        form = {"name": question.schema.name, "schema": schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    if question.web_search and spec.can.web_search:
        body["web_search_options"] = {}
    if spec.effort:
        body["reasoning_effort"] = spec.effort
    if spec.can.temperature and spec.temperature is not None:
        body["temperature"] = spec.temperature
    return body


def _room(spec: ModelSpec, question: Question) -> int:
    return min(question.max_output_tokens, spec.max_output_tokens)


def _tool(tool: ToolSpec) -> Json:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    return {"type": "function", "function": function}


def _messages(question: Question) -> Iterator[Json]:
    if question.system:
        yield {"role": "system", "content": question.system}
    for turn in question.turns:
        yield from _of_turn(turn)


def _of_turn(turn: Turn) -> Iterator[Json]:
    match turn:
        case Answered():
            yield _again(turn.content)
        case Said():
            yield {"role": "user", "content": turn.text}
        case Results():
            yield from (_result(result) for result in turn.results)
            if turn.text:
                yield {"role": "user", "content": turn.text}


def _again(message: Mapping[str, Json]) -> Json:
    """The message as it came, reasoning of a compatible server included, without the fields that say nothing.

    Some servers refuse in a request the empty fields that they themselves put into answers.
    """
    said = {key: value for key, value in message.items() if value not in (None, [], {})}
    own = {"role": "assistant"}
    return own | {"content": message.get("content")} | said | own


def _result(result: ToolResult) -> Json:
    text = f"Error: {result.text}" if result.error else result.text
    return {"role": "tool", "tool_call_id": result.id, "content": text}


def _reply(received: Received, spec: ModelSpec, *, room: int) -> Reply:
    choice = _choice(received, spec)
    message = choice["message"]
    refused = str(message.get("refusal") or "")
    calls = tuple(
        called(call.get("id", ""), call.get("function")) for call in _dicts(message.get("tool_calls"))
    )
    stop = Stop.REFUSAL if refused else STOPS.get(str(choice.get("finish_reason")))
    if stop is None:
        what = f"stopped for an unknown reason: {choice.get('finish_reason')!r}"
        raise broken(what, spec, received.raw, received.request_id)
    if stop in (Stop.END, Stop.TOOLS):
        # Some servers say `stop` beside calls.
        stop = Stop.TOOLS if calls else Stop.END
    usage = used(received.body.get("usage"), "prompt_tokens", "completion_tokens")
    if usage and usage.output >= room and stop is not Stop.REFUSAL:
        # Some say `tool_calls` of an answer that ran into the limit after a first whole call.
        stop = Stop.LENGTH
    return Reply(
        text=_text(message.get("content")) or refused,
        calls=calls,
        stop=stop,
        content=message,
        usage=usage,
        raw=received.raw,
        served=str(received.body.get("model", "")),
        request_id=received.request_id,
        seconds=received.seconds,
    )


def _choice(received: Received, spec: ModelSpec) -> Mapping[str, Json]:
    choices = _dicts(received.body.get("choices"))
    if not choices or not isinstance(choices[0].get("message"), dict):
        raise broken("answered a completion without a message", spec, received.raw, received.request_id)
    return choices[0]


def _text(content: Json) -> str:
    """A text, or a list of parts, as some servers send it."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in _dicts(content))
    return content if isinstance(content, str) else ""


def _dicts(value: Json) -> list[Mapping[str, Json]]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []
