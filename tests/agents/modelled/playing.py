"""Roles over a line to a scripted provider, and what a good model would answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeVar

from agents.memory_line import MemoryLine
from agents.modelled.role import Modelled
from agents.providers.base import Reply, Said
from agents.rubrics import Rubric
from tests.agents.scripted_models import SPEC, Scripted, line_to, only, said

R = TypeVar("R", bound=Modelled)


@dataclass(frozen=True)
class Played:
    """A role with its scripted model; `outcome` is how the only conversation ended."""

    role: Any
    provider: Scripted
    line: MemoryLine

    @property
    def outcome(self) -> str:
        return only(self.line).outcome

    @property
    def requests(self) -> int:
        return len(self.provider.questions)

    @property
    def asked(self) -> str:
        """Our first turn, without the system's text."""
        first = self.provider.questions[0].turns[0]
        assert isinstance(first, Said)
        return first.text


def played(role: type[R], *answers: Reply | dict[str, Any], **fields: Any) -> Played:
    """The role with a model that gives these answers, an object as JSON."""
    steps = [each if isinstance(each, Reply) else said(json.dumps(each)) for each in answers]
    provider = Scripted(steps)
    line = line_to(provider)
    return Played(role(SPEC, **fields).over(line), provider, line)


def verdicts(rubric: Rubric, **changed: dict[str, str]) -> dict[str, Any]:
    """Every criterion passes but for what is changed of it."""
    passed = {"verdict": "pass", "explanation": "as it says", "quote": ""}
    return {"verdicts": [{"criterion": key, **passed, **changed.get(key, {})} for key in rubric.keys]}


def edit(kind: str = "insert", **changed: str) -> dict[str, str]:
    return {
        "kind": kind,
        "key": "",
        "after": "",
        "scenario": "archive with a wrong suffix",
        "skill": "unpack by content",
        "tool": "tar",
        "target": "/app/data/orders.csv",
        **changed,
    }


def proposal(*edits: dict[str, str], **changed: Any) -> dict[str, Any]:
    return {
        "observed": [{"scenario": "plain csv file", "skill": "sum by group", "tool": "awk"}],
        "edits": list(edits),
        "summary": "Orders come packed",
        "rationale": "The sums need the unpacked file.",
        "nothing": "",
        **changed,
    }


OBEDIENT: dict[str, Any] = {"verdict": "APPROVE", "score": 11, "status": "published"}
"""What a model answers that does what a task's text told it."""
