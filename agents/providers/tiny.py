"""The one tiny call by which `doctor` finds out whether a model can be used as `models.toml` describes it."""

from __future__ import annotations

import json

from agents.models import ModelSpec
from agents.providers.base import Provider, Question, Reply, Said, Schema, Stop, ToolSpec
from agents.providers.errors import NotTaken, ProviderError

ROOM = 2_000
"""Tokens: a model that reasons before it answers needs more than the answer is long."""
FORM = {"type": "object", "properties": {"ready": {"type": "boolean"}}, "required": ["ready"]}

HINTS = {
    "max_completion_tokens": 'output_name = "max_tokens" or the other way round',
    "max_tokens": 'output_name = "max_completion_tokens" or the other way round',
    "temperature": "can.temperature = false",
    "response_format": "can.schema = false",
    "output_config": "can.schema = false, or no effort",
    "json_schema": "can.schema = false",
    "effort": 'effort = ""',
    "thinking": "can.thinking = false",
    "encrypted": "can.thinking = false",
    "tool": "can.tools = false",
}
"""What the refused parameter's name says about the line to change. The first that fits is shown."""


def tiny_call(provider: Provider, spec: ModelSpec) -> str:
    """ "" when the model answered as its line says it can; else a sentence: what is wrong and what to set.

    Makes one request. It asks for a schema where the model is said to take one, else for a tool call, else
    for text, so of schema and tools only the first is tried.
    """
    try:
        reply = provider.reply(_question(spec))
    except NotTaken as error:
        return f"{error}{_hint(str(error))}"
    except ProviderError as error:
        return str(error)
    return _judged(reply, spec)


def _question(spec: ModelSpec) -> Question:
    ask = "Say that you are ready."
    schema = Schema("ready", FORM) if spec.can.schema_ else None
    tools = (ToolSpec("ready", "Call this to say whether you are ready.", FORM),)
    return Question(
        system="This is a test of the connection. Answer as shortly as you can.",
        turns=(Said(ask if schema or not spec.can.tools else f"{ask} Call the tool for it."),),
        max_output_tokens=min(ROOM, spec.max_output_tokens),
        schema=schema,
        tools=tools if spec.can.tools and not schema else (),
    )


def _judged(reply: Reply, spec: ModelSpec) -> str:
    where = f"models.{spec.name}"
    if reply.stop is Stop.LENGTH:
        return f"{spec.name} used up {ROOM} tokens on a one-word answer; lower {where}.effort."
    if reply.stop is Stop.REFUSAL:
        return f"{spec.name} refused to say that it is ready; use another model."
    if spec.can.schema_ and not _ready(reply.text):
        return f"{spec.name} did not keep to a JSON schema; set {where}.can.schema = false."
    if spec.can.tools and not spec.can.schema_ and not reply.calls:
        return f"{spec.name} did not call a tool that it was told to call; set {where}.can.tools = false."
    return ""


def _ready(text: str) -> bool:
    try:
        answer = json.loads(text)
    except ValueError:
        return False
    return isinstance(answer, dict) and isinstance(answer.get("ready"), bool)


def _hint(message: str) -> str:
    for sign, line in HINTS.items():
        if sign in message.lower():
            return f" Perhaps {line}."
    return ""
