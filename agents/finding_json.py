"""The JSON object in what a model wrote, whatever stands around it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from agents.providers.base import Json
from sandboxes.text import clean

T = TypeVar("T", bound=BaseModel)

LONGEST = 2_000_000
"""Characters of an answer that are looked at; more is no answer to anything we ask."""

MOST_DEPTH = 60
"""Of objects and lists in each other; what we ask for has four. Deeper ones would exhaust Python's stack."""

MOST_COMPLAINTS = 12
MOST_NAMED = 100
"""Characters of a field's name, which may be the model's invention."""

# An object that says something begins so; a brace in a sentence does not.
_BEGINS = re.compile(r'\{\s*"')

# Servers that do not take a model's thoughts out of its text leave them before the answer, between these.
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


class NoObject(Exception):
    """The text is not the object asked for; the message tells a model what is wrong with it."""


def _not_json(name: str) -> NoReturn:
    raise NoObject(f"{name} is not JSON; write a number, or leave the field out where that is allowed")


_DECODER = json.JSONDecoder(parse_constant=_not_json)


def read_object(text: str) -> dict[str, Json]:
    """The whole text as a JSON object, else the first one in it. Raises `NoObject`.

    NUL and half surrogates in strings become U+FFFD. An object that is begun and not well formed is an error
    where it stands: nothing inside it, or after it, is taken in its place. Thoughts before it are left out.
    """
    text = _THOUGHTS.sub("", text)
    if not text.strip():
        raise NoObject("the answer is empty")
    if len(text) > LONGEST:
        raise NoObject(f"the answer has {len(text):,} characters; {LONGEST:,} is far more than is needed")
    begin = re.match(r"\s*\{\s*\}\s*\Z", text) or _BEGINS.search(text)
    if begin is None:
        raise NoObject("the answer holds no JSON object")
    found = _decoded(text, text.index("{", begin.start()))
    check_depth(found)
    cleaned: dict[str, Json] = storable(found)
    return cleaned


def _decoded(text: str, start: int) -> Json:
    try:
        return _DECODER.raw_decode(text, start)[0]
    except json.JSONDecodeError as problem:
        near = ascii(text[max(problem.pos - 30, 0) : problem.pos + 30])
        raise NoObject(
            f"this is not well-formed JSON: {problem.msg}, at character {problem.pos:,}, near {near}"
        ) from problem
    except RecursionError as problem:
        raise NoObject("the JSON is nested far too deeply") from problem
    except ValueError as problem:
        raise NoObject(f"a number in the JSON cannot be read: {problem}") from problem


def check_depth(value: Json) -> None:
    """Raises `NoObject` for what is nested more than `MOST_DEPTH` deep."""
    layer = [value]
    for _ in range(MOST_DEPTH):
        layer = [inner for each in layer for inner in _inside(each)]
        if not layer:
            return
    raise NoObject(f"the JSON is nested far too deeply, in more than {MOST_DEPTH} levels")


def _inside(value: Json) -> Iterable[Json]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def storable(value: Json) -> Any:
    """The value with NUL and half surrogates in its strings, keys too, replaced by U+FFFD."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [storable(each) for each in value]
    if isinstance(value, dict):
        return {clean(str(key)): storable(each) for key, each in value.items()}
    return value


def parsed(text: str, form: type[T]) -> T:
    """What the object in the text says, read strictly: no text for a number, no field too many.

    Raises `NoObject`, which lists what is wrong, field by field.
    """
    return fitting(read_object(text), form, strict=True)


def fitting(value: Json, form: type[T], *, strict: bool) -> T:
    """The value as that form; not strictly, a number may be written as text. Raises `NoObject`."""
    try:
        return form.model_validate_json(json.dumps(value, allow_nan=False), strict=strict)
    except ValidationError as problem:
        errors = problem.errors(include_url=False, include_input=False)
        lines = [f"- {_place(error['loc'])}: {error['msg']}" for error in errors[:MOST_COMPLAINTS]]
        more = [f"- and {len(errors) - MOST_COMPLAINTS} more"] if len(errors) > MOST_COMPLAINTS else []
        raise NoObject("\n".join(["the fields are not as asked for:", *lines, *more])) from problem
    except ValueError as problem:
        raise NoObject("a number in it is too large to be one") from problem


def _place(loc: tuple[int | str, ...]) -> str:
    return ".".join(str(part)[:MOST_NAMED] for part in loc) or "the whole"
