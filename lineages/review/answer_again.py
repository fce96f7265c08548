"""What a person answered to the request before, as the beginning of the next answer.

A role asks again where its own rules were broken, and wants the whole object: nobody should type it twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agents.providers.base import Json
from lineages.library import transcript
from lineages.library.calls import AgentCall
from lineages.library.views import stored


def last_answer(call: AgentCall) -> Mapping[str, Json]:
    """The object that the newest request before this one was answered with; empty where there is none."""
    before = AgentCall.objects.filter(
        conversation=call.conversation_id, number__lt=call.number, received_body__isnull=False
    )
    newest = before.order_by("-number", "-again").first() if call.conversation_id else None
    answer = transcript.answered(stored(str(newest.received_body_id))) if newest else None
    try:
        found = json.loads(answer.text) if answer else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def in_fields(answer: Mapping[str, Json]) -> dict[str, Any]:
    """The same, by the names of the fields of a `SchemaForm` or a `RubricForm`."""
    return dict(_fields(answer))


def _fields(answer: Mapping[str, Json]) -> Iterator[tuple[str, Any]]:
    for name, value in answer.items():
        rows = [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
        for at, row in enumerate(rows):
            criterion = row.get("criterion") if name == "verdicts" else None
            for key, cell in row.items():
                yield f"{name}-{at}-{key}", _typed(cell)
                if criterion:
                    yield f"{key}-{criterion}", _typed(cell)
        if not rows:
            yield name, _typed(value)


def _typed(value: Json) -> Any:
    """A list of texts is typed as lines."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "\n".join(map(str, value))
    return value
