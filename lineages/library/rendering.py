"""Untrusted text made fit for a page: instructions, files, command output, differences.

Nothing here trusts its input. Markdown is rendered without raw HTML and then cleaned by an allow-list;
everything else is escaped. Every character that shows as nothing or reorders others becomes visible, so
that what a reviewer reads is what is there. Sizes are capped, and what was left out is said in `notes`.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

import nh3
from django.template.defaultfilters import filesizeformat
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound

MARKDOWN_CHARACTERS = 100_000
CODE_LINES = 2_000
CODE_BYTES = 64_000
LINE_CHARACTERS = 600
OUTPUT_HEAD = 150
OUTPUT_TAIL = 150
DIFF_LINES_EACH = 1_500
DIFF_LINES = 400
DIFF_FILES = 60
DIFF_SHORT = 60
_READ_FIRST = ("instruction.md", "task.toml", "solution/", "tests/units/", "tests/", "environment/")

_TAGS = {
    *("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "pre", "code", "em", "strong", "a", "s"),
    *("blockquote", "hr", "br", "table", "thead", "tbody", "tr", "th", "td"),
}
# Default ignorable code points (Unicode, DerivedCoreProperties) that the categories below do not name.
_IGNORABLE = {
    *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2065, 0x3164, 0xFFA0),
    *range(0x180B, 0x1810),
    *range(0xFE00, 0xFE10),
    *range(0xFFF0, 0xFFF9),
    *range(0xE0000, 0xE1000),
}
# Planes 2 to 13 hold ideographs and nothing else, so that they need not be looked through.
_INVISIBLE = {
    code
    for code in chain(range(0x80, 0x20000), range(0xE0000, 0xE1000))
    if code in _IGNORABLE or unicodedata.category(chr(code)) in {"Cc", "Cf", "Zl", "Zp"}
}
_VISIBLE = {
    **{code: f"\\x{code:02x}" for code in [*range(0x20), 0x7F] if chr(code) not in "\t\n\r"},
    0x0D: "\\r",
    **{code: f"⟨U+{code:04X}⟩" for code in _INVISIBLE},
}


@dataclass(frozen=True, slots=True)
class Shown:
    """Text ready for a page; `notes` say in words what is missing from it. Binary data has no `html`."""

    html: SafeString
    lines: int = 0
    notes: tuple[str, ...] = ()
    binary: bool = False


@dataclass(frozen=True, slots=True)
class FileDiff:
    """How one file differs: `lines` are (kind, text) with kind one of add, del, hunk, same, end."""

    path: str
    change: str
    lines: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def short(self) -> bool:
        """Whether it is read at a glance; longer ones start closed."""
        return 0 < len(self.lines) <= DIFF_SHORT


def visible(text: str) -> str:
    """The text with every character that could hide or reorder others written out."""
    return text.translate(_VISIBLE)


def markdown(text: str) -> Shown:
    """CommonMark with tables. Raw HTML shows as text; images are not loaded; only web and mail links live."""
    notes: tuple[str, ...] = ()
    if len(text) > MARKDOWN_CHARACTERS:
        notes = (f"Only the first {MARKDOWN_CHARACTERS:,} of {len(text):,} characters are shown.",)
    rendered = _parser().render(visible(text.replace("\r\n", "\n")[:MARKDOWN_CHARACTERS]))
    clean = nh3.clean(
        rendered,
        tags=_TAGS,
        attributes={"*": set(), "a": {"href"}, "ol": {"start"}},
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
        link_rel="noopener noreferrer nofollow",
    )
    return Shown(mark_safe(clean), text.count("\n") + 1, notes)  # noqa: S308 - cleaned one line above


def code(path: str, data: bytes) -> Shown:
    """A file with syntax classes, line by line; binary data is only named."""
    if b"\0" in data[:8192]:
        return Shown(mark_safe(""), notes=(f"Binary file, {filesizeformat(len(data))}.",), binary=True)
    text, notes = _decoded(data)
    lines, cut = _capped(text.split("\n"), CODE_LINES, 0)
    lexer = lexer_for(path, text.split("\n", 1)[0]) if len(text) <= CODE_BYTES else TextLexer(stripnl=False)
    shown = highlight(visible("\n".join(lines)), lexer, HtmlFormatter(nowrap=True))
    # The formatter ends every element at the end of its line, so that each line stands by itself.
    rows = enumerate(shown.removesuffix("\n").split("\n"), 1)
    numbered = "".join(f'<span class="row" id="L{number}">{line}\n</span>' for number, line in rows)
    return Shown(mark_safe(numbered), len(lines), (*notes, *cut))  # noqa: S308 - the formatter escapes


def output(data: bytes, cut: int = 0) -> Shown:
    """What a command printed: head and tail. `cut` bytes were already dropped when it was stored."""
    text = data.decode("utf-8", errors="replace")
    lines, notes = _capped(text.removesuffix("\n").split("\n"), OUTPUT_HEAD, OUTPUT_TAIL)
    if cut:
        notes = (f"{filesizeformat(cut)} in the middle were not stored.", *notes)
    return Shown(escape(visible("\n".join(lines))), len(lines), notes)


def differences(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[FileDiff]:
    """What a reviewer reads first comes first; both mappings hold only the files that differ."""
    paths = sorted({*before, *after}, key=_reading_order)
    shown = [_file_diff(path, before.get(path), after.get(path)) for path in paths[:DIFF_FILES]]
    if len(paths) > DIFF_FILES:
        shown.append(
            FileDiff("…", "more", notes=(f"{len(paths) - DIFF_FILES} more changed files are not shown.",))
        )
    return shown


def _reading_order(path: str) -> tuple[int, str]:
    rank = next((at for at, start in enumerate(_READ_FIRST) if path.startswith(start)), len(_READ_FIRST))
    return rank + path.startswith("tests/pristine/"), path


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    parser.core.ruler.push("demote_headings", _demote)
    return parser


def _demote(state: StateCore) -> None:
    """The page has its own h1 and h2: the text's headings start at h3. None is more than one level below the
    one before it, whatever the text left out: who listens to a page takes a gap for something missed."""
    above: list[int] = []
    for token in state.tokens:
        if token.type == "heading_open":
            level = int(token.tag[1])
            above = [*(each for each in above if each < level), level]
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, len(above) + 2)}"


def lexer_for(path: str, first_line: str) -> Lexer:
    """By the name, or for a script without a suffix by its first line; plain where nothing fits."""
    script = first_line.startswith("#!") and "sh" in first_line
    try:
        lexer: Lexer = get_lexer_for_filename("script.sh" if script else path, stripnl=False)
    except ClassNotFound:
        lexer = TextLexer(stripnl=False)
    return lexer


def _decoded(data: bytes) -> tuple[str, tuple[str, ...]]:
    notes: list[str] = []
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", errors="replace")
        notes.append("Not UTF-8: bytes that do not decode show as \ufffd.")
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
        notes.append("Lines end in CR LF.")
    return text.removesuffix("\n"), tuple(notes)


def _capped(lines: list[str], head: int, tail: int) -> tuple[list[str], tuple[str, ...]]:
    """The first `head` and last `tail` lines, each at most LINE_CHARACTERS long, and what was left out."""
    notes = []
    left_out = len(lines) - head - tail
    if left_out > 0:
        notes.append(f"{left_out:,} of {len(lines):,} lines are not shown.")
        marker = [f"… {left_out:,} lines …"] if tail else []
        lines = [*lines[:head], *marker, *lines[len(lines) - tail :]]
    if any(len(line) > LINE_CHARACTERS for line in lines):
        notes.append(f"Lines are cut at {LINE_CHARACTERS} characters.")
    return [_short(line) for line in lines], tuple(notes)


def _short(line: str) -> str:
    if len(line) <= LINE_CHARACTERS:
        return line
    return f"{line[:LINE_CHARACTERS]} … {len(line) - LINE_CHARACTERS:,} more characters"


def _file_diff(path: str, before: bytes | None, after: bytes | None) -> FileDiff:
    change = "added" if before is None else "removed" if after is None else "changed"
    old, new = before or b"", after or b""
    if b"\0" in old[:8192] or b"\0" in new[:8192]:
        return FileDiff(
            path, change, notes=(f"Binary: {filesizeformat(len(old))} → {filesizeformat(len(new))}.",)
        )
    if before == after:
        return FileDiff(path, change, notes=("Only the mode or the link differs.",))
    was, now = (_lines(data.decode("utf-8", errors="backslashreplace")) for data in (old, new))
    if max(len(was), len(now)) > DIFF_LINES_EACH or max(len(old), len(new)) > CODE_BYTES:
        return FileDiff(
            path, change, notes=(f"Too large to compare here: {len(was):,} → {len(now):,} lines.",)
        )
    lines = tuple(_kinds(list(difflib.unified_diff(was, now, n=3))[2:]))
    return FileDiff(path, change, lines[:DIFF_LINES], tuple(_remarks(was, now, lines)))


def _lines(text: str) -> list[str]:
    """Each with its own end. Only a line feed ends one: not a carriage return, not U+2028."""
    lines = [f"{line}\n" for line in text.split("\n")]
    return [*lines[:-1], lines[-1].removesuffix("\n")] if lines[-1] != "\n" else lines[:-1]


def _remarks(was: list[str], now: list[str], lines: tuple[tuple[str, str], ...]) -> Iterator[str]:
    """What the lines alone do not tell."""
    if not was and not now:
        yield "The file is empty."
    elif not lines:
        yield "Only bytes that are not UTF-8 differ."
    elif [line.rstrip("\r\n") for line in was] == [line.rstrip("\r\n") for line in now]:
        yield "Only line ends differ."
    if len(lines) > DIFF_LINES:
        yield f"{len(lines) - DIFF_LINES:,} more lines are not shown."


def _kinds(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    names = {"+": "add", "-": "del", "@": "hunk"}
    for line in lines:
        yield names.get(line[:1], "same"), visible(_short(line.removesuffix("\n")))
        if not line.endswith("\n"):
            yield "end", "\\ no newline at end"
