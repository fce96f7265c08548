"""A JSON schema in the subset that structured answers take.

Anthropic and OpenAI both want every object closed; OpenAI wants every property required. Bounds of numbers,
texts and lists that an API refuses go into the description, where the model still reads them: the answer is
checked against the whole schema later by who asked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from agents.providers.base import Json

NUMBERS = "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf".split()
LENGTHS = "minItems maxItems".split()
OTHERS = "minLength maxLength pattern format uniqueItems minProperties maxProperties".split()
BOUNDS = frozenset((*NUMBERS, *LENGTHS, *OTHERS))
OPENAI_TAKES = frozenset((*NUMBERS, *LENGTHS))
LEFT_OUT = ("title", "default", "examples", "discriminator")


def strict_form(schema: Mapping[str, Json], takes: Collection[str] = ()) -> dict[str, Json]:
    """`takes` are the bounds that the API enforces, which stay as they are."""
    form: dict[str, Json] = {}
    bounds = []
    for word, value in schema.items():
        if word in BOUNDS and word not in takes:
            bounds.append(f"{word} {value}")
        elif word in ("properties", "$defs", "definitions"):
            form[word] = {name: strict_form(part, takes) for name, part in value.items()}
        elif word not in LEFT_OUT:
            form["anyOf" if word == "oneOf" else word] = _part(value, takes)
    if bounds:
        form["description"] = f"{form.get('description', '')} ({', '.join(bounds)})".strip()
    if form.get("type") == "object":
        form |= {"additionalProperties": False, "required": list(form.get("properties", {}))}
    return form


def _part(value: Json, takes: Collection[str]) -> Json:
    if isinstance(value, Mapping):
        return strict_form(value, takes)
    if isinstance(value, list):
        return [_part(part, takes) for part in value]
    return value
