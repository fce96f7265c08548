"""Skill: an input is kept in a binary layout that has to be read field by field."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from agents.offline.cuts import pieces
from agents.offline.operator import Hidden, Obstacle, Variant
from agents.plan import Direction


@dataclass(frozen=True)
class PackedBinary(Obstacle):
    name: ClassVar[str] = "packed_binary"
    direction: ClassVar[Direction] = Direction.SKILL
    tools: ClassVar[frozenset[str]] = frozenset("awk cut dd head od paste sha256sum sort tail tr".split())
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("chunks", "cut numbered chunks out of a binary container", "od"),
        Variant("ring", "read a ring of slots whose numbers wrap around", "dd"),
        Variant("index", "read pieces by an index in the byte order that it names", "od"),
        Variant("varints", "read a wire format of tags and variable-length numbers", "dd"),
    )

    def hide(self, data: bytes, variant: Variant, rng: Random) -> Hidden:
        shape = {
            "chunks": _chunks,
            "ring": _ring,
            "index": _index,
            "varints": _varints,
        }[variant.name]
        return shape(data, rng)


def _chunk(kind: bytes, number: int, payload: bytes) -> bytes:
    return struct.pack(">I4sI", len(payload), kind, number) + payload


def _chunks(data: bytes, rng: Random) -> Hidden:
    cut = pieces(data, rng.randint(4, 8), rng)
    numbers = sorted(rng.sample(range(1, 1 << 20), len(cut)))
    found = [(b"DATA", number, piece) for number, piece in zip(numbers, cut, strict=True)]
    for kind in (b"NOTE", b"FREE", b"FREE", b"NOTE"):
        found.append((kind, rng.choice(numbers), rng.randbytes(rng.randint(3, 200))))
    rng.shuffle(found)
    found.append((b"DONE", 0, b""))
    magic = b"\x89BOX\r\n\x1a\n"
    return Hidden(
        files={"box.bin": magic + b"".join(_chunk(*chunk) for chunk in found) + rng.randbytes(24)},
        how="""`box.bin` starts with a signature of eight bytes. Chunks follow: the length of the payload,
four letters for the kind, a number, and the payload. Length and number have four bytes each, the highest
first. A chunk of the kind `DONE` is the last one; what comes after it means nothing. The payloads of the
`DATA` chunks, joined by increasing number, are the file; other kinds do not belong to it.""",
        restore=r"""
field() { od -An --endian=big -tu4 -j "$1" -N 4 "$IN/box.bin" | tr -d ' '; }
mkdir "$WORK/data"
at=8 kind=""
while [ "$kind" != DONE ]; do
    length=$(field "$at")
    kind=$(od -An -c -j "$((at + 4))" -N 4 "$IN/box.bin" | tr -d ' ')
    if [ "$kind" = DATA ]; then
        tail -c "+$((at + 13))" "$IN/box.bin" > "$WORK/rest"
        head -c "$length" "$WORK/rest" > "$WORK/data/$(printf '%010d' "$(field "$((at + 8))")")"
    fi
    echo "$kind $length"
    at=$((at + 12 + length))
done > "$WORK/report"
cat "$WORK/data"/* > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""one line for each chunk in the order in which they stand, `DONE` too: its kind, a
space, and the length of its payload in decimal.""",
        report="\n".join(f"{kind.decode()} {len(payload)}" for kind, _, payload in found),
    )


def _slots(data: bytes, capacity: int, rng: Random) -> list[bytes]:
    """The data in pieces of different sizes that fit into a slot."""
    found, at = [], 0
    while at < len(data):
        size = rng.randint(max(1, capacity // 2), capacity)
        found.append(data[at : at + size])
        at += size
    return found


def _ring(data: bytes, rng: Random) -> Hidden:
    capacity = max(4, len(data) // rng.randint(25, 50))
    held = _slots(data, capacity, rng)
    spare = rng.randint(4, 9)
    count = len(held) + spare
    # The numbers run over 65535 in the middle, and so does the ring over its end.
    first, start = 65536 - rng.randint(1, len(held) - 1), count - rng.randint(1, len(held) - 1)
    slots = [b""] * count
    for at in range(count):
        stale = at >= len(held)
        number = (first + at - (count if stale else 0)) % 65536
        content = rng.randbytes(rng.randint(1, capacity)) if stale else held[at]
        slot = struct.pack("<HH", number, len(content)) + content
        slots[(start + at) % count] = slot + rng.randbytes(capacity + 4 - len(slot))
    head = struct.pack("<4sHHHH", b"RING", capacity, count, first, len(held))
    return Hidden(
        files={"recorder.bin": head + b"".join(slots)},
        how="""`recorder.bin` is a ring of slots; all its numbers have two bytes, the lowest first. It starts
with the letters `RING`, the capacity of a slot in bytes, the number of slots, the number of the first piece
of the file, and how many pieces the file has. The slots follow: each has the number of its piece, the length
of the piece in bytes, the piece, and bytes of no meaning up to its capacity. The pieces were written one
after the other, their numbers counted up, 0 after 65535; the other slots hold what is left of an older
file. The pieces in the order of writing are the file.""",
        restore=r"""
ring=$IN/recorder.bin
read -r capacity count first pieces <<< "$(od -An --endian=little -tu2 -j 4 -N 8 "$ring")"
for ((slot = 0; slot < count; slot++)); do
    at=$((12 + slot * (capacity + 4)))
    read -r number length <<< "$(od -An --endian=little -tu2 -j "$at" -N 4 "$ring")"
    # How far behind the first piece it comes.
    place=$(((number - first + 65536) % 65536))
    [ "$place" -ge "$pieces" ] || echo "$place $slot $length"
done | sort -n > "$WORK/order"
while read -r place slot length; do
    skip=$((12 + slot * (capacity + 4) + 4))
    dd if="$ring" iflag=skip_bytes,count_bytes skip="$skip" count="$length" status=none
done < "$WORK/order" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cut -d' ' -f2 "$WORK/order" > "$REPORT"
""",
        report_rule="""the numbers of the slots, counted from 0, that hold the file, in the order of the file,
one a line.""",
        report="\n".join(str((start + at) % count) for at in range(len(held))),
    )


def _index(data: bytes, rng: Random) -> Hidden:
    cut = pieces(data, rng.randint(5, 10), rng)
    keys = sorted(rng.sample(range(1, 1 << 16), len(cut)))
    kept = [(key, 1, piece) for key, piece in zip(keys, cut, strict=True)]
    kept += [(rng.choice(keys), 0, rng.randbytes(rng.randint(4, 90))) for _ in range(5)]
    heap, places = b"", []
    for key, state, content in rng.sample(kept, len(kept)):
        heap += rng.randbytes(rng.randint(1, 15))
        places.append((key, state, len(heap), len(content)))
        heap += content
    rng.shuffle(places)
    little = rng.random() < 0.5
    order = "<" if little else ">"
    index = (b"II" if little else b"MM") + struct.pack(f"{order}H", len(places))
    index += b"".join(struct.pack(f"{order}HHII", *place) for place in places)
    return Hidden(
        files={"index.bin": index, "heap.bin": heap},
        how="""`index.bin` says where in `heap.bin` the pieces of the file are. It starts with two letters:
`II` if all its numbers have the lowest byte first, `MM` if they have the highest first. The number of
records follows in two bytes, then the records, of twelve bytes each: key and state in two bytes each,
offset (from 0) and length in four bytes each. State 1 is a live record, state 0 a deleted one. The pieces
of the live records, joined by increasing key, are the file.""",
        restore=r"""
case $(head -c 2 "$IN/index.bin") in II) order=little;; MM) order=big;; *) exit 1;; esac
count=$(od -An --endian="$order" -tu2 -j 2 -N 2 "$IN/index.bin")
tail -c +5 "$IN/index.bin" > "$WORK/index"
# The same bytes as six short numbers and as three long ones.
od -An -v --endian="$order" -tu2 -w12 -N "$((12 * count))" "$WORK/index" > "$WORK/short"
od -An -v --endian="$order" -tu4 -w12 -N "$((12 * count))" "$WORK/index" > "$WORK/long"
paste "$WORK/short" "$WORK/long" | awk '$2 == 1 { print $1, $8, $9 }' | sort -n > "$WORK/live"
while read -r key offset length; do
    tail -c "+$((offset + 1))" "$IN/heap.bin" > "$WORK/rest"
    head -c "$length" "$WORK/rest"
done < "$WORK/live" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
echo "$order $((count))" > "$REPORT"
cut -d' ' -f1,3 "$WORK/live" >> "$REPORT"
""",
        report_rule="""a first line with `little` or `big`, for numbers with the lowest or the highest byte
first, a space, and the number of all records; then a line for each live record by increasing key: its
key, a space, and its length.""",
        report="\n".join(
            [
                f"{'little' if little else 'big'} {len(places)}",
                *(f"{key} {len(piece)}" for key, piece in zip(keys, cut, strict=True)),
            ]
        ),
    )


NUMBER = r"""
# Sets `value` to the number that starts at `at`, and moves `at` behind it.
number() {
    local shift=0 byte=128
    value=0
    while [ "$((byte & 128))" -ne 0 ]; do
        byte=$(od -An -tu1 -j "$at" -N 1 "$IN/stream.bin")
        value=$((value | (byte & 127) << shift)) shift=$((shift + 7)) at=$((at + 1))
    done
}
"""


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes((*out, number))


def _varints(data: bytes, rng: Random) -> Hidden:
    cut = pieces(data, rng.randint(4, 8), rng)
    numbers = sorted(rng.sample(range(1, 1 << 22), len(cut)))
    records = [
        b"\x08" + _varint(number) + b"\x12" + _varint(len(piece)) + piece
        for number, piece in zip(numbers, cut, strict=True)
    ]
    for _ in range(5):
        remark = rng.randbytes(rng.randint(2, 200))
        records.append(b"\x1a" + _varint(len(remark)) + remark)
    rng.shuffle(records)
    return Hidden(
        files={"stream.bin": b"".join(records)},
        how="""`stream.bin` is made of fields, one after the other up to its end, each with a tag of one byte.
The tag 8 is followed by a number. The tags 18 and 26 are followed by a length and that many bytes. Numbers
and lengths have as many bytes as they need, seven bits in each, the lowest seven bits first; the highest
bit of a byte is set where another byte of the same number follows. The bytes of a field of tag 18 are a
piece of the file, and its place is the number of the field of tag 8 right before it. Fields of tag 26 are
remarks. The pieces, joined by increasing number, are the file.""",
        restore=NUMBER
        + r"""
mkdir "$WORK/pieces"
size=$(wc -c < "$IN/stream.bin") at=0 place=0
while [ "$at" -lt "$size" ]; do
    number
    tag=$value
    number
    case $tag in
    8) place=$value ;;
    18)
        dd if="$IN/stream.bin" iflag=skip_bytes,count_bytes skip="$at" count="$value" status=none \
            > "$WORK/pieces/$(printf '%010d' "$place")"
        echo "$place $value"
        at=$((at + value))
        ;;
    26) at=$((at + value)) ;;
    *) exit 1 ;;
    esac
done | sort -n > "$WORK/report"
cat "$WORK/pieces"/* > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""one line for each piece by increasing number: the number, a space, and the length of
the piece, both in decimal.""",
        report="\n".join(f"{number} {len(piece)}" for number, piece in zip(numbers, cut, strict=True)),
    )


OPERATOR = PackedBinary()
