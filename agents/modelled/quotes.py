"""Quotes of a judge: each has to occur word for word in what was judged, else it is thrown out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agents.quoting import occurs

NOT_FOUND = "(The quote given for this does not occur in what was judged and was thrown out.)"
NONE_GIVEN = "(No quote was given for this, though one was asked for.)"


@dataclass(frozen=True, slots=True)
class Quotes:
    """`texts` are what was judged."""

    texts: tuple[str, ...]

    def holds(self, quote: str) -> bool:
        return bool(quote.strip()) and occurs(quote, self.texts)

    def problems(self, needed: Iterable[tuple[str, str]]) -> list[str]:
        """A sentence for each (name, quote) whose quote is missing or not to be found."""
        return [
            f"{name}: the quote does not occur in what is judged; copy it exactly, or quote another place"
            if quote.strip()
            else f"{name}: this verdict needs a quote from what is judged, the place that it rests on"
            for name, quote in needed
            if not self.holds(quote)
        ]

    def kept(self, explanation: str, quote: str, *, needed: bool) -> tuple[str, str]:
        """The explanation and the quote as they are stored; a quote that does not occur is not."""
        if self.holds(quote):
            return explanation, quote
        if quote.strip():
            return f"{explanation.rstrip()} {NOT_FOUND}".lstrip(), ""
        return (f"{explanation.rstrip()} {NONE_GIVEN}".lstrip() if needed else explanation), ""
