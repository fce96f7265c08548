"""What all roles played by a model have: the model, and a line to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from agents.line import Line
from agents.models import ModelSpec


@dataclass(frozen=True)
class Modelled:
    """A role without a line can be held and named, but not asked."""

    spec: ModelSpec
    line: Line | None = None

    def over(self, line: Line) -> Self:
        return replace(self, line=line)

    @property
    def model(self) -> str:
        return self.spec.name

    @property
    def speaking(self) -> Line:
        """Raises `RuntimeError` for a role that nobody gave a line: a fault of the caller."""
        if self.line is None:
            raise RuntimeError(f"{type(self).__name__} has no line to {self.model}: call over(line) first")
        return self.line
