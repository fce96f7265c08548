"""Scenario: an input arrives as parts whose names say nothing about their order."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import ClassVar

from agents.offline.operator import Hidden, Obstacle, Variant
from agents.plan import Direction


@dataclass(frozen=True)
class ShuffledParts(Obstacle):
    name: ClassVar[str] = "shuffled_parts"
    direction: ClassVar[Direction] = Direction.SCENARIO
    tools: ClassVar[frozenset[str]] = frozenset({"awk", "cat", "cut", "head", "sha256sum", "sort", "tail"})
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("by_position", "file cut into parts, shuffled, with a manifest of positions", "sha256sum"),
        Variant("by_header", "file cut into parts, shuffled, each with a header line of its own", "head"),
        Variant("by_successor", "file cut into parts, each naming the checksum of the next", "sha256sum"),
        Variant("by_revision", "file cut into parts, some of them superseded by a later revision", "sort"),
    )

    def hide(self, data: bytes, variant: Variant, rng: Random) -> Hidden:
        parts = _cut(data, rng)
        names = _names(len(parts), rng)
        shape = {
            "by_position": _by_position,
            "by_header": _by_header,
            "by_successor": _by_successor,
            "by_revision": _by_revision,
        }[variant.name]
        return shape(parts, names, rng)


def _names(count: int, rng: Random) -> list[str]:
    """Names whose order is not that of the parts: `cat *.part` is not the file."""
    while True:
        names = [f"{rng.getrandbits(32):08x}.part" for _ in range(count)]
        if names != sorted(names):
            return names


def _cut(data: bytes, rng: Random) -> list[bytes]:
    """Four to seven pieces of at least one byte, no two alike (an order told by checksums must be one
    order)."""
    while True:
        cuts = sorted(rng.sample(range(1, len(data)), rng.randint(3, 6)))
        parts = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        if len(set(parts)) == len(parts):
            return parts


def _digest(part: bytes) -> str:
    return sha256(part).hexdigest()


def _shuffled(lines: list[str], rng: Random) -> bytes:
    rng.shuffle(lines)
    return ("\n".join(lines) + "\n").encode()


def _by_position(parts: list[bytes], names: list[str], rng: Random) -> Hidden:
    rows = [f"{names[at]}\t{at + 1}\t{_digest(part)}" for at, part in enumerate(parts)]
    return Hidden(
        files={**dict(zip(names, parts, strict=True)), "manifest.tsv": _shuffled(rows, rng)},
        how="""The file was cut into parts with random names. `manifest.tsv` has a row for each part, in no
particular order, with three tab separated columns: name, position (counted from 1) and SHA-256.
Joined in order of position the parts are the file.""",
        restore="""
# The manifest, by position; every part is checked before it is used.
sort -t "$(printf '\\t')" -k2,2n "$IN/manifest.tsv" > "$WORK/order"
awk -F'\\t' '{ print $3 "  " $1 }' "$WORK/order" > "$WORK/sums"
(cd "$IN" && sha256sum --quiet -c "$WORK/sums")
: > "$WORK/whole"
while IFS="$(printf '\\t')" read -r name position sum; do
    cat "$IN/$name" >> "$WORK/whole"
    echo "$position $name $(wc -c < "$IN/$name")"
done < "$WORK/order" > "$WORK/report"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule=(
            "one line for each part in order of position: position, name and size in bytes, one space "
            "between."
        ),
        report="\n".join(f"{at + 1} {names[at]} {len(part)}" for at, part in enumerate(parts)),
    )


def _by_header(parts: list[bytes], names: list[str], rng: Random) -> Hidden:
    total = len(parts)
    files = {
        names[at]: f"part {at + 1} of {total}, {len(part)} bytes, sha256 {_digest(part)}\n".encode() + part
        for at, part in enumerate(parts)
    }
    return Hidden(
        files=files,
        how="""The file was cut into parts with random names. The first line of each `.part` file is a
header that does not belong to the file: `part K of N, B bytes, sha256 S`, where K counts from 1 and B
and S are size and SHA-256 of what follows the header. Joined in order of K, without their headers, the
parts are the file.""",
        restore="""
# Headers tell the order; what follows a header is the part.
for part in "$IN"/*.part; do
    number=$(head -n 1 "$part" | cut -d' ' -f2)
    echo "$number $part"
done | sort -n > "$WORK/order"
: > "$WORK/whole"
while read -r number part; do
    tail -n +2 "$part" > "$WORK/body"
    sum=$(sha256sum < "$WORK/body" | cut -d' ' -f1)
    [ "$sum" = "$(head -n 1 "$part" | awk '{ print $NF }')" ]
    cat "$WORK/body" >> "$WORK/whole"
    echo "$sum $(basename "$part")"
done < "$WORK/order" > "$WORK/report"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""one line for each part in order: the SHA-256 of the part without its header, a
space, and the name of the part's file.""",
        report="\n".join(f"{_digest(part)} {names[at]}" for at, part in enumerate(parts)),
    )


def _by_successor(parts: list[bytes], names: list[str], rng: Random) -> Hidden:
    following = [_digest(part) for part in parts[1:]] + ["end"]
    rows = [f"{names[at]}\t{following[at]}" for at in range(len(parts))]
    return Hidden(
        files={**dict(zip(names, parts, strict=True)), "links.tsv": _shuffled(rows, rng)},
        how="""The file was cut into parts with random names. `links.tsv` has a row for each part: its
name, a tab, and the SHA-256 of the part that follows it, or the word `end` for the last one. The first
part is the one that follows no other. Joined along these links the parts are the file.""",
        restore="""
# Name and checksum of every part, then the links between checksums.
for part in "$IN"/*.part; do
    echo "$(sha256sum < "$part" | cut -d' ' -f1) $(basename "$part")"
done > "$WORK/sums"
awk '
    NR == FNR { name[$1] = $2; sum[$2] = $1; next }
    { after[sum[$1]] = $2; followed[$2] = 1 }
    END {
        for (at in after) if (!(at in followed)) break
        while (at != "end") { print name[at]; at = after[at] }
    }
' "$WORK/sums" "$IN/links.tsv" > "$WORK/order"
while read -r name; do cat "$IN/$name"; done < "$WORK/order" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cat "$WORK/order" > "$REPORT"
""",
        report_rule="the names of the parts in order from first to last, one a line.",
        report="\n".join(names),
    )


def _by_revision(parts: list[bytes], names: list[str], rng: Random) -> Hidden:
    rows, files, stale = [], dict[str, bytes](), []
    replaced = set(rng.sample(range(len(parts)), 2))
    for at, part in enumerate(parts):
        revision = rng.randint(1, 4)
        if at in replaced:
            old = f"{rng.getrandbits(32):08x}.part"
            files[old] = bytes(reversed(part)) + b"?"
            rows.append(f"{old}\t{at + 1}\t{revision}\t{_digest(files[old])}")
            stale.append(old)
            revision += rng.randint(1, 8)
        files[names[at]] = part
        rows.append(f"{names[at]}\t{at + 1}\t{revision}\t{_digest(part)}")
    return Hidden(
        files={**files, "manifest.tsv": _shuffled(rows, rng)},
        how="""The file was cut into parts with random names. `manifest.tsv` has a row for each part, in
no particular order, with four tab separated columns: name, position (from 1), revision and SHA-256.
Some positions were sent again: of the parts with the same position only the one with the highest
revision counts, the others are superseded. Joined in order of position, the parts that count are the
file.""",
        restore="""
# Highest revision first inside a position; the first row of a position counts.
sort -t "$(printf '\\t')" -k2,2n -k3,3nr "$IN/manifest.tsv" > "$WORK/rows"
awk -F'\\t' '!seen[$2]++ { print $4 "  " $1 }' "$WORK/rows" > "$WORK/live"
awk -F'\\t' 'seen[$2]++ { print $1 }' "$WORK/rows" | sort > "$WORK/stale"
(cd "$IN" && sha256sum --quiet -c "$WORK/live")
while read -r sum name; do cat "$IN/$name"; done < "$WORK/live" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cp "$WORK/stale" "$REPORT"
""",
        report_rule="the names of the superseded parts, sorted, one a line.",
        report="\n".join(sorted(stale)),
        idle=frozenset(stale),
    )


OPERATOR = ShuffledParts()
