"""A difference made fit for a page: each line escaped, in syntax colours, with the words that changed marked.

Like `rendering`, this trusts nothing: every character that hides or reorders others is written out, and lines
are cut. A file too long to be coloured is plain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from itertools import groupby
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from pygments.lexer import Lexer
from pygments.token import STANDARD_TYPES

from lineages.library import differing
from lineages.library.comparing import Change
from lineages.library.differences import Difference
from lineages.library.rendering import CODE_BYTES, LINE_CHARACTERS, lexer_for, visible

PAGE_CHARACTERS = 200_000
"""How much one page colours."""

Piece = tuple[str, str]
"""A style class, and text of it."""


@dataclass(slots=True)
class Ink:
    """How many characters a page may still colour."""

    left: int = PAGE_CHARACTERS


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
    stretches = tuple(
        Stretch(hunk.skipped, tuple(_pairs(hunk.rows, left, right, unified=view == "unified")))
        for hunk in difference.hunks
    )
    notes = difference.notes
    if left.cut or right.cut:
        notes = (*notes, f"Lines are cut at {LINE_CHARACTERS} characters; the download has them whole.")
    return Drawn(change, difference, view, stretches, notes)


class _Side:
    """The lines of one side; `cut` once one of those that were drawn was too long."""

    def __init__(self, path: str, anchor: str, lines: Sequence[str], ink: Ink) -> None:
        self.anchor = anchor
        self.whole = lines
        self.texts = [visible(line[:LINE_CHARACTERS]) for line in lines]
        self.pieces = _coloured(path, self.texts, ink)
        self.cut = False

    def line(self, at: int, marks: differing.Ranges = ()) -> Line:
        html = _html(_marked(self.pieces[at], marks))
        if len(self.whole[at]) > LINE_CHARACTERS:
            self.cut = True
            rest = len(self.whole[at]) - LINE_CHARACTERS
            html = format_html('{}<span class="rest"> … {} more characters</span>', html, f"{rest:,}")
        return Line(at + 1, f"{self.anchor}{at + 1}", html)


def _pairs(rows: Iterable[differing.Row], left: _Side, right: _Side, *, unified: bool) -> Iterator[Pair]:
    for same, group in groupby(rows, lambda row: row.same):
        pairs = [_pair(row, left, right) for row in group]
        if same or not unified:
            yield from pairs
        else:
            yield from (replace(pair, right=None) for pair in pairs if pair.left)
            yield from (replace(pair, left=None) for pair in pairs if pair.right)


def _pair(row: differing.Row, left: _Side, right: _Side) -> Pair:
    marks: tuple[differing.Ranges, differing.Ranges] = ((), ())
    if row.alike and row.left is not None and row.right is not None:
        marks = differing.marks(left.texts[row.left], right.texts[row.right])
    return Pair(
        "same" if row.same else "changed" if row.alike else "differs",
        None if row.left is None else left.line(row.left, marks[0]),
        None if row.right is None else right.line(row.right, marks[1]),
    )


def _coloured(path: str, texts: Sequence[str], ink: Ink) -> list[list[Piece]]:
    """The pieces of each line; plain where there is too much, or a lexer says other than what is there."""
    plain: list[list[Piece]] = [[("", text)] for text in texts]
    characters = sum(map(len, texts)) + len(texts)
    if characters > min(CODE_BYTES, ink.left):
        return plain
    ink.left -= characters
    lines = _tokens(lexer_for(path, texts[0] if texts else ""), "\n".join(texts))[: len(texts)]
    said = ["".join(text for _, text in pieces) for pieces in lines]
    return lines if said == list(texts) else plain


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
    place = 0
    for style, text in pieces:
        edges = {edge - place for mark in marks for edge in mark}
        cuts = [0, *sorted(edge for edge in edges if 0 < edge < len(text)), len(text)]
        for start, stop in zip(cuts, cuts[1:], strict=False):
            inside = any(begin <= place + start < end for begin, end in marks)
            yield (f"{style} word".strip() if inside else style), text[start:stop]
        place += len(text)


def _html(pieces: Iterable[Piece]) -> SafeString:
    """Escaped; a piece without a style is bare text. Pages have 100,000 of them, hence no `format_html`."""
    parts = (
        f'<span class="{style}">{escape(text)}</span>' if style else escape(text)
        for style, text in pieces
        if text
    )
    return mark_safe("".join(parts))  # noqa: S308 - each text is escaped, and styles are Pygments' own names
