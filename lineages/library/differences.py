"""How the content of a changed file differs, line by line.

Everything is bounded, and whatever is left out is said in `notes`: a file by its bytes and lines, the work
of lining two up by steps, a page by the bytes it reads and the rows it shows. Drawing cuts long lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lineages.library import blobs, differing
from lineages.library.comparing import Change
from lineages.library.models import SnapshotFile

FILE_BYTES = 400_000
FILE_LINES = 20_000
FILE_STEPS = 1_000_000
FILE_ROWS = 500
ONE_SIDED_ROWS = 60
PAGE_BYTES = 4_000_000
PAGE_STEPS = 3_000_000
PAGE_ROWS = 3_000


@dataclass(slots=True)
class Allowance:
    """What one page may still read, line up and show."""

    bytes: int = PAGE_BYTES
    steps: int = PAGE_STEPS
    rows: int = PAGE_ROWS


@dataclass(frozen=True, slots=True)
class Difference:
    """One changed file, its lines where they can be compared, and in words what cannot be seen in them.

    `added` and `removed` count lines, also those that are not shown. `after` unchanged lines follow the last
    hunk; `more` says that opening the file alone shows more of it.
    """

    change: Change
    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    hunks: tuple[differing.Hunk, ...] = ()
    after: int = 0
    added: int = 0
    removed: int = 0
    notes: tuple[str, ...] = ()
    more: bool = False

    @property
    def partial(self) -> bool:
        """Whether lines of the file are not among its rows."""
        return self.more or bool(self.after) or any(hunk.skipped for hunk in self.hunks)


@dataclass(frozen=True, slots=True)
class _Text:
    """A file's lines without their ends."""

    lines: tuple[str, ...]
    ended: bool = True


class _Unreadable(Exception):
    """A file that cannot be compared by lines, and why; `more`: it can be on a page of its own."""

    def __init__(self, note: str, *, more: bool = False) -> None:
        super().__init__(note)
        self.note = note
        self.more = more


def difference(change: Change, allowance: Allowance, *, alone: bool = False) -> Difference:
    """The lines of one changed file, on the page's allowance; `alone` shows the unchanged ones too."""
    notes = list(_beside(change))
    if change.kind in ("renamed", "mode"):
        return Difference(change, notes=tuple(notes))
    try:
        old, new = _texts(change, allowance)
        found = _lined_up(old, new, allowance)
    except _Unreadable as why:
        return Difference(change, notes=(*notes, why.note), more=why.more)
    notes += _endings(change, old, new)
    shown, after = ([differing.Hunk(0, tuple(found))], 0) if alone else differing.hunks(found)
    hunks, left_out = _cut(shown, allowance.rows if alone else min(_most(change), allowance.rows))
    allowance.rows -= sum(len(hunk.rows) for hunk in hunks)
    if left_out:
        notes.append(f"{left_out:,} more lines are not shown.")
    return Difference(
        change,
        old.lines,
        new.lines,
        tuple(hunks),
        0 if left_out else after,
        added=sum(row.right is not None and not row.same for row in found),
        removed=sum(row.left is not None and not row.same for row in found),
        notes=tuple(notes),
        more=bool(left_out) and not alone,
    )


def _beside(change: Change) -> Iterator[str]:
    """What differs beside the content."""
    before, after = change.before, change.after
    if before and after and before.mode != after.mode:
        yield f"Mode {before.mode & 0o777:03o} → {after.mode & 0o777:03o}."
    links = [bool(file.link) for file in (before, after) if file]
    if all(links):
        yield "A symbolic link, shown by its target."
    elif any(links):
        yield f"The {'left' if links[0] else 'right'} one is a symbolic link, shown by its target."
    if change.kind == "renamed":
        yield "The content is the same."


def _texts(change: Change, allowance: Allowance) -> tuple[_Text, _Text]:
    """Both sides. Raises `_Unreadable`."""
    sizes = change.sizes
    grown = _grown(change, *sizes)
    if max(sizes) > FILE_BYTES:
        raise _Unreadable(f"Too large to compare here: {grown} bytes.")
    if sum(sizes) > allowance.bytes or not allowance.rows:
        raise _Unreadable("Not compared here: this page shows as much as it can.", more=True)
    allowance.bytes -= sum(sizes)
    old, new = (_stored(file) for file in (change.before, change.after))
    if b"\0" in old[:8192] or b"\0" in new[:8192]:
        raise _Unreadable(f"Binary, {grown} bytes.")
    texts = _text(old), _text(new)
    if max(len(text.lines) for text in texts) > FILE_LINES:
        lines = _grown(change, *(len(text.lines) for text in texts))
        raise _Unreadable(f"Too large to compare here: {lines} lines.")
    return texts


def _grown(change: Change, old: int, new: int) -> str:
    """Two counts, or one where the file is on one side only."""
    counts = [f"{count:,}" for file, count in ((change.before, old), (change.after, new)) if file]
    return " → ".join(counts)


def _stored(file: SnapshotFile | None) -> bytes:
    if file is None:
        return b""
    if file.link:
        return f"→ {file.link}\n".encode()
    try:
        return blobs.read(file.blob_id)
    except blobs.BlobLost as lost:
        raise _Unreadable("Its stored content is lost: restore the blob folder from a backup.") from lost


def _text(data: bytes) -> _Text:
    """Only a line feed ends a line: not a carriage return, not U+2028."""
    lines = data.decode("utf-8", errors="backslashreplace").split("\n")
    return _Text(tuple(lines[:-1])) if not lines[-1] else _Text(tuple(lines), ended=False)


def _lined_up(old: _Text, new: _Text, allowance: Allowance) -> list[differing.Row]:
    """Raises `_Unreadable`."""
    budget = differing.Budget(min(FILE_STEPS, allowance.steps))
    given = budget.left
    try:
        return differing.rows(old.lines, new.lines, budget)
    except differing.GivenUp as long:
        lines = f"{len(old.lines):,} → {len(new.lines):,} lines"
        raise _Unreadable(f"Too different to be lined up here: {lines}.", more=given < FILE_STEPS) from long
    finally:
        allowance.steps -= given - max(budget.left, 0)


def _endings(change: Change, old: _Text, new: _Text) -> Iterator[str]:
    """What the lines alone do not tell."""
    if old.lines and new.lines and old.ended != new.ended:
        yield f"Only the {'right' if new.ended else 'left'} one ends with a line feed."
    if old.lines == new.lines:
        if any(file and file.link for file in (change.before, change.after)):
            return
        if old.ended == new.ended:
            yield "Only bytes that are not UTF-8 differ." if old.lines else "The file is empty."
    elif [line.rstrip("\r") for line in old.lines] == [line.rstrip("\r") for line in new.lines]:
        yield "Only line ends differ."


def _most(change: Change) -> int:
    """How many rows a file may have beside others; one that is on one side only is known by its beginning."""
    return FILE_ROWS if change.before and change.after else ONE_SIDED_ROWS


def _cut(shown: list[differing.Hunk], most: int) -> tuple[list[differing.Hunk], int]:
    """The first `most` rows, and how many were left out."""
    kept: list[differing.Hunk] = []
    room = most
    for hunk in shown:
        if room > 0:
            kept.append(differing.Hunk(hunk.skipped, hunk.rows[:room]))
        room -= len(hunk.rows)
    return kept, max(0, -room)
