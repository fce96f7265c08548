"""A difference made fit for a page: each line escaped, in syntax colours, with the words that changed marked.

Like `rendering`, this trusts nothing: every character that hides or reorders others is written out, and lines
are cut. What is not coloured or not marked for its size is said in `notes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from html import escape
from itertools import groupby
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from pygments.lexer import Lexer
from pygments.lexers import TextLexer
from pygments.token import STANDARD_TYPES

from lineages.library import differing
from lineages.library.comparing import Change
from lineages.library.differences import Difference
from lineages.library.rendering import CODE_BYTES, LINE_CHARACTERS, lexer_for, visible

PAGE_CHARACTERS = 200_000
"""How much one page colours."""
PAGE_STEPS = 1_000_000
"""What one page spends on finding the words that changed within lines."""

UNMARKED = "Changed words are not marked everywhere: lines are too long, or too many changed together."

Piece = tuple[str, str]
"""A style class, and text of it."""


@dataclass(slots=True)
class Ink:
    """What a page may still colour, in characters, and mark, in steps."""

    characters: int = PAGE_CHARACTERS
    marking: differing.Budget = field(default_factory=lambda: differing.Budget(PAGE_STEPS))


@dataclass(frozen=True, slots=True)
class Line:
    """One line of one side. `id` names it in the address of the page."""

    number: int
    id: str
    html: SafeString


@dataclass(frozen=True, slots=True)
class Pair:
    """What stands side by side: `kind` is same, changed (one is the other's new form), or differs."""

    kind: str
    left: Line | None
    right: Line | None

    @property
    def tone(self) -> str:
        """The colour of a unified row: del, add, or none."""
        return "" if self.kind == "same" else "del" if self.left else "add"


@dataclass(frozen=True, slots=True)
class Stretch:
    """A hunk to draw, after `skipped` unchanged lines."""

    skipped: int
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    """One changed file as it is drawn."""

    change: Change
    difference: Difference
    view: str
    stretches: tuple[Stretch, ...]
    notes: tuple[str, ...]


def draw(difference: Difference, ink: Ink, view: str) -> Drawn:
    """The file's lines as HTML. `view` is split, or unified, which puts what was taken away before what came;
    a file that is on one side only is never split."""
    change = difference.change
    view = view if change.before and change.after else "unified"
    left = _Side(change.old_path or change.path, f"{change.anchor}:L", difference.left, ink)
    right = _Side(change.path, f"{change.anchor}:R", difference.right, ink)
    sheet = _Sheet(left, right, ink.marking, unified=view == "unified")
    stretches = tuple(Stretch(hunk.skipped, tuple(sheet.pairs(hunk.rows))) for hunk in difference.hunks)
    return Drawn(change, difference, view, stretches, (*difference.notes, *sheet.remarks()))


class _Side:
    """The lines of one side. `plain` says why they have no colours, where a lexer knows their language; `cut`
    is set once one of those that were drawn was too long."""

    def __init__(self, path: str, anchor: str, lines: Sequence[str], ink: Ink) -> None:
        self.anchor = anchor
        self.whole = lines
        self.texts = [visible(line[:LINE_CHARACTERS]) for line in lines]
        self.pieces, self.plain = _coloured(path, self.texts, ink)
        self.cut = False

    def line(self, at: int, marks: differing.Ranges = ()) -> Line:
        html = _html(_marked(self.pieces[at], marks))
        if len(self.whole[at]) > LINE_CHARACTERS:
            self.cut = True
            rest = len(self.whole[at]) - LINE_CHARACTERS
            html = format_html('{}<span class="rest"> … {} more characters</span>', html, f"{rest:,}")
        return Line(at + 1, f"{self.anchor}{at + 1}", html)


class _Sheet:
    """Both sides, as they are put together; `unmarked` once words that changed were not looked for."""

    def __init__(self, left: _Side, right: _Side, marking: differing.Budget, *, unified: bool) -> None:
        self._left, self._right = left, right
        self._marking = marking
        self._unified = unified
        self._unmarked = False

    def pairs(self, rows: Iterable[differing.Row]) -> Iterator[Pair]:
        for same, group in groupby(rows, lambda row: row.same):
            block = list(group)
            self._unmarked |= not same and differing.unpaired(block)
            pairs = [self._pair(row) for row in block]
            if same or not self._unified:
                yield from pairs
            else:
                yield from (replace(pair, right=None) for pair in pairs if pair.left)
                yield from (replace(pair, left=None) for pair in pairs if pair.right)

    def remarks(self) -> Iterator[str]:
        """What is missing from the pairs that were made."""
        if self._left.cut or self._right.cut:
            yield f"Lines are cut at {LINE_CHARACTERS} characters; the download has them whole."
        if plain := self._left.plain or self._right.plain:
            yield plain
        if self._unmarked:
            yield UNMARKED

    def _pair(self, row: differing.Row) -> Pair:
        marks = self._marks(row)
        return Pair(
            "same" if row.same else "changed" if row.alike else "differs",
            None if row.left is None else self._left.line(row.left, marks[0]),
            None if row.right is None else self._right.line(row.right, marks[1]),
        )

    def _marks(self, row: differing.Row) -> tuple[differing.Ranges, differing.Ranges]:
        if not row.alike or row.left is None or row.right is None:
            return (), ()
        try:
            return differing.marks(self._left.texts[row.left], self._right.texts[row.right], self._marking)
        except differing.GivenUp:
            self._unmarked = True
            return (), ()


def _coloured(path: str, texts: Sequence[str], ink: Ink) -> tuple[list[list[Piece]], str]:
    """The pieces of each line; plain, and in a sentence why, where there is too much, or a lexer says other
    than what is there."""
    plain: list[list[Piece]] = [[("", text)] for text in texts]
    lexer = lexer_for(path, texts[0] if texts else "")
    if isinstance(lexer, TextLexer):
        return plain, ""
    characters = sum(map(len, texts)) + len(texts)
    if characters > CODE_BYTES:
        return plain, f"No syntax colours: the file is longer than {CODE_BYTES:,} characters."
    if characters > ink.characters:
        return plain, "No syntax colours: this page colours as much as it can. Alone, the file has them."
    ink.characters -= characters
    lines = _tokens(lexer, "\n".join(texts))[: len(texts)]
    said = ["".join(text for _, text in pieces) for pieces in lines]
    return (
        (lines, "") if said == list(texts) else (plain, "No syntax colours: they would not show all of it.")
    )


def _tokens(lexer: Lexer, text: str) -> list[list[Piece]]:
    """What the lexer says of each line. It reads all of them, since a string may begin far above."""
    lines: list[list[Piece]] = [[]]
    for kind, value in lexer.get_tokens(text):
        style = _style(kind)
        first, *following = value.split("\n")
        lines[-1].append((style, first))
        lines += ([(style, rest)] for rest in following)
    return lines


@cache
def _style(kind: Any) -> str:
    """The class of a token; what a lexer made up has that of the nearest known one above it."""
    return next(STANDARD_TYPES[each] for each in reversed(kind.split()) if each in STANDARD_TYPES)


def _marked(pieces: Iterable[Piece], marks: differing.Ranges) -> Iterator[Piece]:
    """The pieces, cut where a mark begins or ends; what is marked has the class `word` too."""
    edges = [edge for mark in marks for edge in mark]
    passed = place = 0
    for style, text in pieces:
        done = 0
        while passed < len(edges) and edges[passed] < place + len(text):
            yield _inked(style, marked=passed % 2 == 1), text[done : edges[passed] - place]
            done = edges[passed] - place
            passed += 1
        yield _inked(style, marked=passed % 2 == 1), text[done:]
        place += len(text)


def _inked(style: str, *, marked: bool) -> str:
    return f"{style} word".strip() if marked else style


def _html(pieces: Iterable[Piece]) -> SafeString:
    """Escaped; a piece without a style is bare text. Pages have 100,000 of them, hence no `format_html`."""
    parts = (
        f'<span class="{style}">{escape(text)}</span>' if style else escape(text)
        for style, text in pieces
        if text
    )
    return mark_safe("".join(parts))  # noqa: S308 - each text is escaped, and styles are Pygments' own names
