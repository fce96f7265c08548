"""How each of the three APIs says an answer and an error, and where it puts what was said before.

Written from the APIs' documentation and kept apart from `agents/providers`, so that a mistake there is not
made twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = Any
USAGE = {"read": 1000, "cached": 5000, "written": 40, "answered": 500, "thought": 20}
"""Tokens of every answer: 6040 of input in all, of which 5000 were cached and 40 written to the cache."""


@dataclass(frozen=True)
class Answer:
    """`stop` is one of end, tools, length, refusal; `usage` None leaves it out."""

    text: str = ""
    calls: Sequence[tuple[str, Json]] = ()
    stop: str = "end"
    thinking: str = ""
    signature: str = ""
    usage: Mapping[str, Json] | None = None
    model: str = ""
    cut_arguments: bool = False


class Messages:
    path = "/v1/messages"

    def answer(self, answer: Answer, number: int) -> Json:
        content: list[Json] = []
        if answer.thinking:
            content.append({"type": "thinking", "thinking": answer.thinking, "signature": answer.signature})
        if answer.text:
            content.append({"type": "text", "text": answer.text})
        for index, (name, arguments) in enumerate(answer.calls):
            call = {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": name, "input": arguments}
            content.append(call)
        stops = {"end": "end_turn", "tools": "tool_use", "length": "max_tokens", "refusal": "refusal"}
        body = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": answer.model}
        body |= {"content": content, "stop_reason": stops.get(answer.stop, answer.stop)}
        return body | {"stop_sequence": None} | self._usage(answer.usage)

    def _usage(self, usage: Mapping[str, Json] | None) -> Json:
        if usage is None:
            return {}
        counts = {
            "input_tokens": usage["read"],
            "cache_read_input_tokens": usage["cached"],
            "cache_creation_input_tokens": usage["written"],
            "output_tokens": usage["answered"],
            "output_tokens_details": {"thinking_tokens": usage["thought"]},
        }
        return {"usage": counts}

    def error(self, kind: str, message: str) -> Json:
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}

    def said(self, body: Json) -> list[Json]:
        """What of earlier answers the request brings back."""
        return [turn["content"] for turn in body["messages"] if turn["role"] == "assistant"]

    def content(self, sent: Json) -> Json:
        return sent["content"]

    def unanswered(self, body: Json) -> set[str]:
        blocks = [
            block
            for turn in body["messages"]
            for block in turn["content"]
            if isinstance(turn["content"], list)
        ]
        asked = {block["id"] for block in blocks if block["type"] == "tool_use"}
        return asked - {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}


class Responses:
    path = "/v1/responses"

    def answer(self, answer: Answer, number: int) -> Json:
        output: list[Json] = []
        if answer.thinking:
            reasoning = {"type": "reasoning", "id": f"rs_{number}", "summary": []}
            output.append(reasoning | {"encrypted_content": answer.thinking + answer.signature})
        if answer.text or answer.stop == "refusal":
            part = (
                {"type": "refusal", "refusal": "I cannot help with that."}
                if answer.stop == "refusal"
                else {"type": "output_text", "text": answer.text, "annotations": []}
            )
            message = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed"}
            output.append(message | {"content": [part]})
        output += [self._call(call, number, index, answer) for index, call in enumerate(answer.calls)]
        body = {"id": f"resp_{number}", "object": "response", "model": answer.model, "output": output}
        return body | self._status(answer.stop) | self._usage(answer.usage)

    def _call(self, call: tuple[str, Json], number: int, index: int, answer: Answer) -> Json:
        arguments = json.dumps(call[1])[: -5 if answer.cut_arguments else None]
        ids = {"id": f"fc_{number}_{index}", "call_id": f"call_{number}_{index}"}
        return {"type": "function_call", **ids, "name": call[0], "arguments": arguments}

    def _status(self, stop: str) -> Json:
        if stop == "length":
            return {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
        known = stop in ("end", "tools", "refusal")
        return {"status": "completed" if known else stop, "incomplete_details": None}

    def _usage(self, usage: Mapping[str, Json] | None) -> Json:
        if usage is None:
            return {"usage": None}
        counts = {
            "input_tokens": _sum(usage),
            "input_tokens_details": {
                "cached_tokens": usage["cached"],
                "cache_write_tokens": usage["written"],
            },
            "output_tokens": usage["answered"],
            "output_tokens_details": {"reasoning_tokens": usage["thought"]},
        }
        return {"usage": counts}

    def error(self, kind: str, message: str) -> Json:
        return _openai_error(kind, message)

    def said(self, body: Json) -> list[Json]:
        items = [item for item in body["input"] if item.get("type") in ("reasoning", "function_call")]
        return [items] if items else []

    def content(self, sent: Json) -> Json:
        return sent["output"]

    def unanswered(self, body: Json) -> set[str]:
        asked = {item["call_id"] for item in body["input"] if item.get("type") == "function_call"}
        results = [item for item in body["input"] if item.get("type") == "function_call_output"]
        return asked - {item["call_id"] for item in results}


class Chat:
    path = "/v1/chat/completions"

    def answer(self, answer: Answer, number: int) -> Json:
        message: Json = {"role": "assistant", "content": answer.text or None}
        if answer.thinking:
            message["reasoning_content"] = answer.thinking + answer.signature
        if answer.stop == "refusal":
            message["refusal"] = "I cannot help with that."
        if answer.calls:
            message["tool_calls"] = [
                self._call(call, number, index, answer) for index, call in enumerate(answer.calls)
            ]
        stops = {"end": "stop", "tools": "tool_calls", "length": "length", "refusal": "stop"}
        choice = {"index": 0, "message": message, "finish_reason": stops.get(answer.stop, answer.stop)}
        body = {"id": f"chatcmpl-{number}", "object": "chat.completion", "model": answer.model}
        return body | {"choices": [choice]} | self._usage(answer.usage)

    def _call(self, call: tuple[str, Json], number: int, index: int, answer: Answer) -> Json:
        arguments = json.dumps(call[1])[: -5 if answer.cut_arguments else None]
        function = {"name": call[0], "arguments": arguments}
        return {"id": f"call_{number}_{index}", "type": "function", "function": function}

    def _usage(self, usage: Mapping[str, Json] | None) -> Json:
        if usage is None:
            return {}
        counts = {
            "prompt_tokens": _sum(usage),
            "prompt_tokens_details": {
                "cached_tokens": usage["cached"],
                "cache_write_tokens": usage["written"],
            },
            "completion_tokens": usage["answered"],
            "completion_tokens_details": {"reasoning_tokens": usage["thought"]},
        }
        return {"usage": counts}

    def error(self, kind: str, message: str) -> Json:
        return _openai_error(kind, message)

    def said(self, body: Json) -> list[Json]:
        return [turn for turn in body["messages"] if turn["role"] == "assistant"]

    def content(self, sent: Json) -> Json:
        return sent["choices"][0]["message"]

    def unanswered(self, body: Json) -> set[str]:
        asked = {call["id"] for turn in self.said(body) for call in turn.get("tool_calls", [])}
        return asked - {turn["tool_call_id"] for turn in body["messages"] if turn["role"] == "tool"}


Dialect = Messages | Responses | Chat
DIALECTS: tuple[Dialect, ...] = (Messages(), Responses(), Chat())


def _openai_error(kind: str, message: str) -> Json:
    return {"error": {"message": message, "type": kind, "param": None, "code": kind}}


def _sum(usage: Mapping[str, Json]) -> Json:
    parts = [usage["read"], usage["cached"], usage["written"]]
    return sum(parts) if all(isinstance(part, int) for part in parts) else usage["read"]
