"""Skill: the lines of an input follow from operations on delivered sets of rows."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar

from agents.offline.operator import Hidden, Obstacle, Variant
from agents.plan import Direction

ROWS = """A row is the number of a line in the file, in seven digits, a tab, and the line. Every list is
sorted by byte value and has no row twice.
"""


@dataclass(frozen=True)
class LineSets(Obstacle):
    name: ClassVar[str] = "line_sets"
    direction: ClassVar[Direction] = Direction.SKILL
    text_only: ClassVar[bool] = True
    tools: ClassVar[frozenset[str]] = frozenset("awk comm cut join sha256sum sort".split())
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("expression", "evaluate an expression over sets of rows", "comm"),
        Variant("majority", "keep the rows that two of three copies have", "comm"),
        Variant("withdrawn", "join rows with their corrections and drop withdrawn ones", "join"),
        Variant("batches", "bring a set of rows up to date batch by batch", "comm"),
    )

    def hide(self, data: bytes, variant: Variant, rng: Random) -> Hidden:
        shape = {
            "expression": _expression,
            "majority": _majority,
            "withdrawn": _withdrawn,
            "batches": _batches,
        }[variant.name]
        return shape(data.splitlines(keepends=True), rng)


def _row(number: int, line: bytes) -> bytes:
    return b"%07d\t%s" % (number, line)


def _rows(lines: list[bytes]) -> list[bytes]:
    return [_row(number, line) for number, line in enumerate(lines, start=1)]


def _foreign(lines: list[bytes], count: int, rng: Random) -> list[bytes]:
    """Different rows that look like those of the file and are none of them."""
    known, made = set(_rows(lines)), dict[bytes, None]()
    while len(made) < count:
        row = _row(rng.randint(1, len(lines) + count + 9), rng.choice(lines))
        made |= {} if row in known else {row: None}
    return list(made)


def _list(*groups: list[bytes]) -> bytes:
    # A newline ends a row, so it has no weight of its own: an empty line comes before one with a tab.
    rows = {row for group in groups for row in group}
    ordered: list[bytes] = sorted(rows, key=lambda row: row[:-1])
    return b"".join(ordered)


def _halves(rows: list[bytes], rng: Random) -> tuple[list[bytes], list[bytes]]:
    """Two parts of the rows, neither of them empty."""
    mixed = rng.sample(rows, len(rows))
    cut = rng.randint(1, len(mixed) - 1)
    return mixed[:cut], mixed[cut:]


def _expression(lines: list[bytes], rng: Random) -> Hidden:
    both, only = _halves(_rows(lines), rng)
    # A and B have no foreign row in common, and D has all those of C.
    one, two, three, four = (rng.randint(4, 15) for _ in range(4))
    foreign = _foreign(lines, one + two + three + four, rng)
    ours, theirs = foreign[: one + two], foreign[one + two :]
    noise = [ours[:one], ours[one:], theirs[:three], theirs]
    names = [f"{number:04x}.list" for number in rng.sample(range(1 << 16), 4)]
    sets = [[*both, *noise[0]], [*both, *noise[1]], [*only, *noise[2]], noise[3]]
    files = {name: _list(rows) for name, rows in zip(names, sets, strict=True)}
    sets_text = "".join(f"{letter} {name}\n" for letter, name in zip("ABCD", names, strict=True))
    return Hidden(
        files={**files, "sets.txt": sets_text.encode()},
        how=f"""{ROWS}`sets.txt` says which list is A, B, C and D. The rows of the file are those that A and B
have in common, together with those of C that D does not have. Sorted, and without number and tab, they
are the file.""",
        restore=r"""
list() { awk -v set="$1" '$1 == set { print $2 }' "$IN/sets.txt"; }
cd "$IN"
comm -12 "$(list A)" "$(list B)" > "$WORK/both"
comm -23 "$(list C)" "$(list D)" > "$WORK/only"
sort -m "$WORK/both" "$WORK/only" > "$WORK/rows"
cut -f2- "$WORK/rows" > "$WORK/whole"
for set in A B C D; do
    echo "$set $(comm -23 "$(list "$set")" "$WORK/rows" | wc -l)"
done > "$WORK/report"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""four lines from A to D: the letter, a space, and how many rows of that list are not
rows of the file.""",
        report="\n".join(f"{name} {len(rows)}" for name, rows in zip("ABCD", noise, strict=True)),
    )


def _majority(lines: list[bytes], rng: Random) -> Hidden:
    rows = _rows(lines)
    foreign = _foreign(lines, 24, rng)
    # Every row is missing in one copy at most, and in each copy one row at least.
    lacking = [rng.choice((0, 1, 2, 3)) for _ in rows]
    for copy, at in enumerate(rng.sample(range(len(rows)), 3)):
        lacking[at] = copy
    names = [f"copy-{number:04x}" for number in rng.sample(range(1 << 16), 3)]
    files, report = dict[str, bytes](), []
    for copy, name in enumerate(names):
        kept = [row for row, without in zip(rows, lacking, strict=True) if without != copy]
        wrong = foreign[copy * 8 : copy * 8 + rng.randint(3, 8)]
        files[name] = _list(kept, wrong)
        report.append(f"{name} {len(rows) - len(kept)} {len(wrong)}")
    return Hidden(
        files=files,
        how=f"""{ROWS}There are three copies of the rows of the file. Each lacks some of them, and has some
that do not belong there. The rows that at least two copies have are those of the file. Sorted, and
without number and tab, they are the file.""",
        restore=r"""
cd "$IN"
set -- copy-*
comm -12 "$1" "$2" > "$WORK/first"
comm -12 "$1" "$3" > "$WORK/second"
comm -12 "$2" "$3" > "$WORK/third"
sort -mu "$WORK/first" "$WORK/second" "$WORK/third" > "$WORK/rows"
cut -f2- "$WORK/rows" > "$WORK/whole"
for copy in "$@"; do
    echo "$copy $(comm -13 "$copy" "$WORK/rows" | wc -l) $(comm -23 "$copy" "$WORK/rows" | wc -l)"
done > "$WORK/report"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""one line for each copy, sorted by its name: the name, how many rows of the file it
lacks, and how many of its rows do not belong there, with single spaces.""",
        report="\n".join(sorted(report)),
    )


def _withdrawn(lines: list[bytes], rng: Random) -> Hidden:
    foreign = rng.randint(4, 9)
    ids = [f"{number:06x}" for number in sorted(rng.sample(range(1 << 24), len(lines) + foreign))]
    gone = set(rng.sample(ids, foreign))
    kept = dict(zip([name for name in ids if name not in gone], lines, strict=True))
    fixed = set(rng.sample(list(kept), max(1, len(lines) // 6)))
    # A corrected row holds another line at first.
    rows, corrections = [], []
    for name in ids:
        line = kept.get(name, b"")
        if name in gone or name in fixed:
            other = rng.choice(lines)
            line = other if other != line else b"void " + line
        rows.append(b"%s\t%s" % (name.encode(), line))
        if name in fixed:
            corrections.append(b"%s\t%s" % (name.encode(), kept[name]))
    withdrawn = rng.sample(sorted(gone), foreign)
    rng.shuffle(rows)
    rng.shuffle(corrections)
    return Hidden(
        files={
            "rows.tsv": b"".join(rows),
            "corrections.tsv": b"".join(corrections),
            "withdrawn.txt": "".join(f"{name}\n" for name in withdrawn).encode(),
        },
        how="""`rows.tsv` has rows of an id of six hex digits, a tab, and a line, in no order. Rows whose id
is in `withdrawn.txt` do not count. `corrections.tsv` has such rows too: where it has an id, its line stands
in the place of the one in `rows.tsv`. The lines sorted by their ids are the file.""",
        restore=r"""
tab=$(printf '\t')
sort "$IN/withdrawn.txt" > "$WORK/withdrawn"
sort -t "$tab" -k1,1 "$IN/corrections.tsv" > "$WORK/corrections"
sort -t "$tab" -k1,1 "$IN/rows.tsv" > "$WORK/all"
# Rows that only one side has keep all that follows their id.
join -t "$tab" -v 1 "$WORK/all" "$WORK/withdrawn" > "$WORK/live"
join -t "$tab" -v 1 "$WORK/live" "$WORK/corrections" > "$WORK/right"
sort -t "$tab" -k1,1 "$WORK/right" "$WORK/corrections" | cut -f2- > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cut -f1 "$WORK/corrections" > "$REPORT"
echo "withdrawn $(wc -l < "$WORK/withdrawn")" >> "$REPORT"
""",
        report_rule="""the ids of the corrected lines, sorted, one a line; then a line `withdrawn N` with the
number of ids that do not count.""",
        report="\n".join([*sorted(fixed), f"withdrawn {len(gone)}"]),
    )


def _batches(lines: list[bytes], rng: Random) -> Hidden:
    rows, rounds = _rows(lines), rng.randint(3, 5)
    foreign = _foreign(lines, 8 * rounds, rng)
    # Backwards from the file: what a batch added was not there before, what it took away was.
    state, files, report = set(rows), dict[str, bytes](), []
    for number in range(rounds, 0, -1):
        report.append(f"{number} {len(state)}")
        added = set(rng.sample(sorted(state), rng.randint(1, max(1, len(state) // 3))))
        taken = set(foreign[(number - 1) * 8 : (number - 1) * 8 + rng.randint(2, 8)])
        files[f"batch-{number}/added"] = _list(list(added))
        files[f"batch-{number}/taken"] = _list(list(taken))
        state = state - added | taken
    files["start"] = _list(list(state))
    return Hidden(
        files=files,
        how=f"""{ROWS}`start` is the oldest list. The batches `batch-1`, `batch-2` and so on bring it up to
date in this order: each takes the rows of its list `taken` away, and then adds those of its list `added`.
What is there after the last batch, sorted, and without number and tab, is the file.""",
        restore=r"""
cp "$IN/start" "$WORK/rows"
number=1
while [ -d "$IN/batch-$number" ]; do
    comm -23 "$WORK/rows" "$IN/batch-$number/taken" > "$WORK/left"
    sort -mu "$WORK/left" "$IN/batch-$number/added" > "$WORK/rows"
    echo "$number $(wc -l < "$WORK/rows")"
    number=$((number + 1))
done > "$WORK/report"
cut -f2- "$WORK/rows" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""one line for each batch in order: its number, a space, and how many rows there are
after it.""",
        report="\n".join(report[::-1]),
    )


OPERATOR = LineSets()
