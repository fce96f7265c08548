"""A JSON schema in the subset that structured answers take, at Anthropic and OpenAI alike.

Both want every object closed; OpenAI wants every property required. Bounds of numbers, texts and lists that
one of them refuses go into the description, where the model still reads them: the answer is checked
against the whole schema later by who asked.
"""

from __future__ import annotations

from collections.abc import Mapping

from agents.providers.base import Json

BOUNDS = (
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format "
    "minItems maxItems uniqueItems minProperties maxProperties"
).split()
LEFT_OUT = ("title", "default", "examples", "discriminator")


def strict_form(schema: Mapping[str, Json]) -> dict[str, Json]:
    form: dict[str, Json] = {}
    bounds = []
    for word, value in schema.items():
        if word in BOUNDS:
            bounds.append(f"{word} {value}")
        elif word in ("properties", "$defs", "definitions"):
            form[word] = {name: strict_form(part) for name, part in value.items()}
        elif word not in LEFT_OUT:
            form["anyOf" if word == "oneOf" else word] = _part(value)
    if bounds:
        form["description"] = f"{form.get('description', '')} ({', '.join(bounds)})".strip()
    if form.get("type") == "object":
        form |= {"additionalProperties": False, "required": list(form.get("properties", {}))}
    return form


def _part(value: Json) -> Json:
    if isinstance(value, Mapping):
        return strict_form(value)
    if isinstance(value, list):
        return [_part(part) for part in value]
    return value
