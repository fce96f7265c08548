"""What the played model knows how to add to a task: five dependent steps, each with a tool of its own.

A play is text only, as a model would write it. Every unit makes its file again, in another way, from the
files that the solver left, so that it holds whatever they are; unit 00 judges those themselves.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable
from dataclasses import dataclass

NOTES = "/app/notes"
PACKED = (".gz",)
"""No text: no play reads these."""


@dataclass(frozen=True, slots=True)
class Play:
    """One pair and its parts. `rule` is for the note; in `write` and `check` FILES stands for the inputs.

    `slip` is a wrong piece of the unit and what is right in its place; a play that has one is built wrong
    the first time.
    """

    tool: str
    name: str
    made: str
    scenario: str
    skill: str
    rule: str
    write: str
    check: str
    slip: tuple[str, str] = ("", "")

    @property
    def note_path(self) -> str:
        return f"{NOTES}/{self.name}.md"

    @property
    def requirement(self) -> str:
        return f"Write `{self.made}`, as `{self.note_path}` describes."

    def inputs(self, artifacts: Iterable[str]) -> tuple[str, ...]:
        """The files that it is made from: all text that is handed over already."""
        return tuple(path for path in artifacts if path != self.made and not path.endswith(PACKED))

    def note(self, artifacts: Iterable[str]) -> str:
        listed = "".join(f"- `{path}`\n" for path in self.inputs(artifacts))
        told = f"The finished files, in this order:\n\n{listed}\n`{self.made}`: {self.rule}"
        return f"# {self.name}\n\n{told}\n"

    def step(self, artifacts: Iterable[str]) -> str:
        body = self.write.replace("FILES", " ".join(self.inputs(artifacts))).replace("MADE", self.made)
        return STEP.format(skill=self.skill, folder=posixpath.dirname(self.made), body=body.strip())

    def unit(self, artifacts: Iterable[str], *, slipped: bool = False) -> str:
        body = self.check.replace("FILES", " ".join(self.inputs(artifacts))).replace("MADE", self.made)
        wrong, right = self.slip
        if slipped:
            body = body.replace(right, wrong)
        return UNIT.format(name=self.name, made=self.made, body=body.strip())


STEP = """#!/bin/bash
# To {skill}.
set -euo pipefail
export LC_ALL=C
mkdir -p {folder}
{body}
"""

UNIT = """#!/bin/bash
# Unit {name}: {made} is what its note says. Exits 0 if so.
set -u
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {{ echo "unit {name}: $1" >&2; exit 1; }}
[ -f {made} ] && [ ! -L {made} ] || fail "{made} is no regular file"
{body}
cmp -s "$work/expected" "$work/found" || fail "{made} does not fit the files, or is laid out otherwise"
"""

PLAYS = (
    Play(
        tool="sha256sum",
        name="checksums",
        made="/app/out/checksums.txt",
        scenario="finished files listed in a manifest of checksums",
        skill="list the SHA-256 of every finished file",
        rule="one line for each of them, in that order: its SHA-256 in 64 small hex digits, two spaces,\n"
        "and its path.",
        write="sha256sum FILES > MADE",
        check="""
for file in FILES; do
    echo "$(sha256sum < "$file" | cut -d' ' -f1)  $file"
done > "$work/expected"
cat MADE > "$work/found"
""",
        slip=("cut -d' ' -f2", "cut -d' ' -f1"),
    ),
    Play(
        tool="wc",
        name="sizes",
        made="/app/out/sizes.tsv",
        scenario="change report with a row for each file",
        skill="tabulate lines and bytes with a total",
        rule="a table with tabs between its columns and no header: for each of them, in that order,\n"
        "the number of its newlines, the number of its bytes, and its path. A last row has both sums and\n"
        "the word `total`.",
        write="""
for file in FILES; do
    printf '%s\\t%s\\t%s\\n' "$(wc -l < "$file")" "$(wc -c < "$file")" "$file"
done > MADE
awk -F '\\t' '{ lines += $1; bytes += $2 } END { printf "%d\\t%d\\ttotal\\n", lines, bytes }' MADE >> MADE
""",
        check="""
lines=0 bytes=0
for file in FILES; do
    newlines=$(tr -cd '\\n' < "$file" | wc -c) size=$(stat -c %s "$file")
    lines=$((lines + newlines)) bytes=$((bytes + size))
    printf '%d\\t%d\\t%s\\n' "$newlines" "$size" "$file"
done > "$work/expected"
printf '%d\\t%d\\ttotal\\n' "$lines" "$bytes" >> "$work/expected"
cat MADE > "$work/found"
""",
    ),
    Play(
        tool="gzip",
        name="packed",
        made="/app/out/packed.gz",
        scenario="compressed archive of what was finished",
        skill="compress the finished files into one",
        rule="a gzip file. Unpacked it holds the content of all of them, one after the other, in that order.",
        write="cat FILES | gzip -n > MADE",
        check="""
cat FILES > "$work/expected"
gzip -dc MADE 2> "$work/why" | head -c 50000000 > "$work/found"
[ ! -s "$work/why" ] || fail "MADE is no whole gzip file"
""",
    ),
    Play(
        tool="tac",
        name="newest",
        made="/app/out/newest.txt",
        scenario="edit journal read backwards",
        skill="turn the lines around",
        rule="every line of all of them, the last line of the last file first, the first line of the first\n"
        "file last.",
        write="cat FILES | tac > MADE",
        check="""
cat FILES | awk '{ line[NR] = $0 } END { for (n = NR; n > 0; n--) print line[n] }' > "$work/expected"
cat MADE > "$work/found"
""",
    ),
    Play(
        tool="base64",
        name="letter",
        made="/app/out/letter.txt",
        scenario="encoded text for a mail system that takes letters only",
        skill="encode the finished files as text",
        rule="the content of all of them, one after the other in that order, in Base64 with 76 characters\n"
        "to a line.",
        write="cat FILES | base64 -w 76 > MADE",
        check="""
cat FILES | base64 -w 0 | fold -w 76 > "$work/expected"
[ -z "$(tail -c 1 "$work/expected")" ] || echo >> "$work/expected"
cat MADE > "$work/found"
""",
    ),
)


def next_play(tools: Collection[str]) -> Play | None:
    """The first whose tool is not among these; None when all of them are."""
    return next((play for play in PLAYS if play.tool not in tools), None)


def play_of(tool: str) -> Play | None:
    return next((play for play in PLAYS if play.tool == tool), None)
