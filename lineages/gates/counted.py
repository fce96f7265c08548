"""Words of a shell script with limits: `a=$a$a` thirty times is a gigabyte. No gate."""

from __future__ import annotations

from tree_sitter import Node

from agents.offline.words import Words

MOST_CHARACTERS = 8 << 20
MOST_ITEMS = 100_000
LONGEST_SUBSCRIPT = 200
"""Python makes no number of a text of thousands of digits."""


class Endless(Exception):
    """There is more to walk than an honest script has."""


class CountedWords(Words):
    """Raises `Endless` where all that variables gave together passes the limits."""

    _characters = _items = 0

    def items(self, node: Node) -> list[str | None] | None:
        found = super().items(node)
        self._items += len(found or ())
        if self._items > MOST_ITEMS:
            raise Endless
        return found

    def _element(self, word: str) -> str | None:
        return super()._element(word) if len(word) <= LONGEST_SUBSCRIPT else None

    def _expansion(self, node: Node) -> str | None:
        value = super()._expansion(node)
        self._characters += len(value or "")
        if self._characters > MOST_CHARACTERS:
            raise Endless
        return value
