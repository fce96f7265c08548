"""Skill: an input is text that has to be decoded, in one of the encodings of RFC 4648."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from agents.offline.checksums import cksum
from agents.offline.operator import Hidden, Obstacle, Variant
from agents.plan import Direction


@dataclass(frozen=True)
class EncodedText(Obstacle):
    name: ClassVar[str] = "encoded_text"
    direction: ClassVar[Direction] = Direction.SKILL
    tools: ClassVar[frozenset[str]] = frozenset("awk basenc cksum cut grep sha256sum sort tr".split())
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("base64_blocks", "decode base64 blocks found in a message", "basenc"),
        Variant("base32_groups", "decode grouped base32 without its padding", "basenc"),
        Variant("base16_dump", "decode a hex dump whose rows are out of order", "basenc"),
        Variant("base64url_records", "decode base64url records and drop the corrupt ones", "basenc"),
    )

    def hide(self, data: bytes, variant: Variant, rng: Random) -> Hidden:
        shape = {
            "base64_blocks": _base64_blocks,
            "base32_groups": _base32_groups,
            "base16_dump": _base16_dump,
            "base64url_records": _base64url_records,
        }[variant.name]
        return shape(data, rng)


def _pieces(data: bytes, count: int, rng: Random) -> list[bytes]:
    cuts = sorted(rng.sample(range(1, len(data)), count - 1))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def _wrapped(text: str, width: int) -> list[str]:
    return [text[at : at + width] for at in range(0, len(text), width)]


def _base64_blocks(data: bytes, rng: Random) -> Hidden:
    pieces = _pieces(data, rng.randint(3, 5), rng)
    blocks = []
    for number, piece in enumerate(pieces, start=1):
        lines = _wrapped(base64.b64encode(piece).decode(), rng.choice((40, 64, 76)))
        talk = " ".join(rng.choice(("as", "agreed", "here", "comes", "the", "next", "one")) for _ in range(6))
        blocks.append(
            "\n".join((talk, f"-----BEGIN BLOCK {number}-----", *lines, f"-----END BLOCK {number}-----", ""))
        )
    rng.shuffle(blocks)
    return Hidden(
        files={"message.txt": ("\n".join(blocks) + "\n").encode()},
        how="""`message.txt` holds blocks between lines `-----BEGIN BLOCK N-----` and `-----END BLOCK
N-----`, in no order, with other text around them. Each block is base64 by itself. Decoded and joined in
order of N they are the file.""",
        restore=r"""
# One file for each block, named by its number.
awk -v folder="$WORK" '
    /^-----BEGIN BLOCK [0-9]+-----$/ { split($3, part, "-"); into = folder "/" part[1] ".b64"; next }
    /^-----END BLOCK / { close(into); into = "" }
    into != "" { print > into }
' "$IN/message.txt"
: > "$WORK/whole"
number=1
while [ -f "$WORK/$number.b64" ]; do
    basenc --base64 -d "$WORK/$number.b64" > "$WORK/block"
    cat "$WORK/block" >> "$WORK/whole"
    echo "$number $(wc -c < "$WORK/block")"
    number=$((number + 1))
done > "$WORK/report"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule=(
            "one line for each block in order of N: N, a space, and the size in bytes of what it decodes to."
        ),
        report="\n".join(f"{number} {len(piece)}" for number, piece in enumerate(pieces, start=1)),
    )


def _base32_groups(data: bytes, rng: Random) -> Hidden:
    encoded = base64.b32encode(data).decode()
    bare = encoded.rstrip("=").lower()
    groups = _wrapped(bare, rng.choice((4, 5, 6)))
    lines = ["-".join(groups[at : at + 10]) for at in range(0, len(groups), 10)]
    return Hidden(
        files={"groups.txt": ("\n".join(lines) + "\n").encode()},
        how="""`groups.txt` holds the file in base32 (RFC 4648), in small letters, in groups with `-`
between them and in lines, and without the `=` signs that should fill its end up to a multiple of eight
characters.""",
        restore=r"""
tr -d -- '-\n' < "$IN/groups.txt" | tr a-z A-Z > "$WORK/bare"
length=$(wc -c < "$WORK/bare")
missing=$(((8 - length % 8) % 8))
for ((i = 0; i < missing; i++)); do printf '=' >> "$WORK/bare"; done
basenc --base32 -d "$WORK/bare" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
groups=$(tr -- '-' '\n' < "$IN/groups.txt" | wc -l)
echo "groups $groups" > "$REPORT"
echo "padding $missing" >> "$REPORT"
""",
        report_rule=(
            "two lines: `groups N` with the number of groups, and `padding N` with the number of missing "
            "`=` signs."
        ),
        report=f"groups {len(groups)}\npadding {len(encoded) - len(bare)}",
    )


def _base16_dump(data: bytes, rng: Random) -> Hidden:
    width = rng.choice((8, 12, 16))
    offsets = list(range(0, len(data), width))
    rows = [f"{at:08x}: {data[at : at + width].hex(' ')}" for at in offsets]
    rng.shuffle(rows)
    sums = [f"{at:08x} {sum(data[at : at + width])}" for at in offsets[:: max(1, len(offsets) // 8)]]
    return Hidden(
        files={"dump.txt": ("\n".join(rows) + "\n").encode(), "wanted.txt": _wanted(sums)},
        how="""`dump.txt` is a dump of the file whose rows are out of order: the offset in eight hex
digits, a colon, and the bytes in hex. `wanted.txt` lists some offsets, one a line, for the report.""",
        restore=r"""
sort "$IN/dump.txt" > "$WORK/rows"
cut -d: -f2 "$WORK/rows" | tr -d ' \n' | tr a-f A-F > "$WORK/hex"
basenc --base16 -d "$WORK/hex" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
while read -r offset; do
    # The bytes of that row as decimal numbers.
    row=$(grep "^$offset:" "$WORK/rows" | cut -d: -f2)
    total=0
    for byte in $row; do total=$((total + 16#$byte)); done
    echo "$offset $total"
done < "$IN/wanted.txt" > "$WORK/report"
cp "$WORK/report" "$REPORT"
""",
        report_rule=(
            "for each offset of `wanted.txt`, in that order: the offset, a space, and the sum of the byte"
            " values of its row."
        ),
        report="\n".join(sums),
    )


def _wanted(sums: list[str]) -> bytes:
    return "".join(line.split()[0] + "\n" for line in sums).encode()


def _base64url_records(data: bytes, rng: Random) -> Hidden:
    pieces = _pieces(data, rng.randint(5, 9), rng)
    resent = set(rng.sample(range(len(pieces)), 3))
    rows = []
    for at, piece in enumerate(pieces):
        rows.append(_record(at, piece, cksum(piece)))
        if at in resent:
            broken = bytes([piece[0] ^ 1]) + piece[1:]
            rows.append(_record(at, broken, cksum(piece)))
    rng.shuffle(rows)
    return Hidden(
        files={"records.txt": ("\n".join(rows) + "\n").encode()},
        how="""`records.txt` has records `NUMBER.PAYLOAD.CRC`, in no order. PAYLOAD is base64url without
padding; CRC is the first number that POSIX `cksum` prints for what it decodes to. Where it does not
fit, the record is corrupt, and the same NUMBER comes again. The payloads of the records that are not
corrupt, joined in order of NUMBER, are the file.""",
        restore=r"""
sort -t. -k1,1n "$IN/records.txt" > "$WORK/records"
: > "$WORK/whole"
while IFS=. read -r number payload crc; do
    while [ $((${#payload} % 4)) -ne 0 ]; do payload="$payload="; done
    printf '%s' "$payload" | basenc --base64url -d > "$WORK/piece"
    if [ "$(cksum < "$WORK/piece" | cut -d' ' -f1)" = "$crc" ]; then cat "$WORK/piece" >> "$WORK/whole"
    else echo "$number"; fi
done < "$WORK/records" > "$WORK/report"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="the numbers of the corrupt records in increasing order, one a line.",
        report="\n".join(str(at + 1) for at in sorted(resent)),
    )


def _record(at: int, piece: bytes, crc: int) -> str:
    payload = base64.urlsafe_b64encode(piece).decode().rstrip("=")
    return f"{at + 1}.{payload}.{crc}"


OPERATOR = EncodedText()
