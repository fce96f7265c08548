"""OpenAI's Responses API. Nothing is kept at the server: each request carries the whole conversation.

So reasoning comes back encrypted and is replayed as it came. Docs: developers.openai.com/api/docs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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
from agents.providers.errors import Overloaded
from agents.providers.forms import OPENAI_TAKES, strict_form
from agents.providers.mapping import place
from agents.providers.openai_reading import called, used
from agents.providers.openai_sdk import OpenAIServer
from agents.providers.wire import Received, broken, bytes_of


class OpenAIResponses:
    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._server = OpenAIServer(spec)

    def request_of(self, question: Question) -> bytes:
        return bytes_of(_body(self._spec, question))

    def reply(self, question: Question) -> Reply:
        received = self._server.post("/responses", self.request_of(question))
        return _reply(received, self._spec, room=_room(self._spec, question))


def _body(spec: ModelSpec, question: Question) -> dict[str, Json]:
    body: dict[str, Json] = {
        "model": spec.model,
        "store": False,
        "max_output_tokens": _room(spec, question),
        "input": list(_items(question.turns)),
    }
    if question.system:
        body["instructions"] = question.system
    if tools := _tools(spec, question):
        body["tools"] = tools
    if question.schema:
        schema = strict_form(question.schema.form, OPENAI_TAKES)
        form = {"name": question.schema.name, "schema": schema, "strict": True}
        body["text"] = {"format": {"type": "json_schema", **form}}
    if spec.can.thinking:
        # A model that does not reason refuses to be asked for this.
        body["include"] = ["reasoning.encrypted_content"]
    if spec.effort:
        body["reasoning"] = {"effort": spec.effort}
    if spec.can.temperature and spec.temperature is not None:
        body["temperature"] = spec.temperature
    return body


def _room(spec: ModelSpec, question: Question) -> int:
    return min(question.max_output_tokens, spec.max_output_tokens)


def _tools(spec: ModelSpec, question: Question) -> list[Json]:
    tools = [_tool(tool) for tool in question.tools]
    if question.web_search and spec.can.web_search:
        tools.append({"type": "web_search"})
    return tools


def _tool(tool: ToolSpec) -> Json:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
        # Strict tools would need every argument, also those that may be left out.
        "strict": False,
    }


def _items(turns: Sequence[Turn]) -> Iterator[Json]:
    for turn in turns:
        match turn:
            case Answered():
                yield from turn.content
            case Said():
                yield _said(turn.text)
            case Results():
                yield from (_result(result) for result in turn.results)
                if turn.text:
                    yield _said(turn.text)


def _said(text: str) -> Json:
    return {"role": "user", "content": text}


def _result(result: ToolResult) -> Json:
    text = f"Error: {result.text}" if result.error else result.text
    return {"type": "function_call_output", "call_id": result.id, "output": text}


def _reply(received: Received, spec: ModelSpec, *, room: int) -> Reply:
    body = received.body
    output = body.get("output")
    if body.get("status") == "failed":
        raise _failed(received, spec)
    if not isinstance(output, list) or not all(isinstance(item, dict) for item in output):
        raise broken("answered a response without output", spec, received.raw, received.request_id)
    calls = tuple(
        called(item.get("call_id", ""), item) for item in output if item.get("type") == "function_call"
    )
    stop = _stop(received, spec)
    if stop is Stop.END and calls:
        stop = Stop.TOOLS
    usage = used(body.get("usage"), "input_tokens", "output_tokens")
    if usage and usage.output >= room and stop is not Stop.REFUSAL:
        # llama.cpp calls an answer completed that ran into the limit.
        stop = Stop.LENGTH
    texts, refusals = _texts(output, "output_text", "text"), _texts(output, "refusal", "refusal")
    return Reply(
        text="".join(texts or refusals),
        calls=calls,
        stop=Stop.REFUSAL if refusals else stop,
        content=output,
        usage=usage,
        raw=received.raw,
        served=str(body.get("model", "")),
        request_id=received.request_id,
        seconds=received.seconds,
    )


def _failed(received: Received, spec: ModelSpec) -> Exception:
    error = received.body.get("error")
    code, words = (
        (error.get("code"), str(error.get("message"))) if isinstance(error, dict) else (None, "no reason")
    )
    if code == "rate_limit_exceeded":
        return Overloaded(
            f"{place(spec)} takes no more requests for now: {words}",
            raw=received.raw,
            request_id=received.request_id,
        )
    return broken(f"failed to answer: {words}", spec, received.raw, received.request_id)


def _stop(received: Received, spec: ModelSpec) -> Stop:
    status = received.body.get("status")
    details = received.body.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    if status == "incomplete":
        return Stop.REFUSAL if reason == "content_filter" else Stop.LENGTH
    if status != "completed":
        what = f"answered a response that is not complete: {status!r}"
        raise broken(what, spec, received.raw, received.request_id)
    return Stop.END


def _texts(output: Sequence[Mapping[str, Json]], kind: str, key: str) -> list[str]:
    return [
        str(part.get(key, ""))
        for item in output
        if item.get("type") == "message" and isinstance(item.get("content"), list)
        for part in item["content"]
        if isinstance(part, dict) and part.get("type") == kind
    ]
