"""Scenario: an input is kept as a base and a journal of the edits that lead from there to it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import ClassVar

from agents.offline.operator import Hidden, Obstacle, Variant
from agents.plan import Direction


@dataclass(frozen=True)
class JournalReplay(Obstacle):
    name: ClassVar[str] = "journal_replay"
    direction: ClassVar[Direction] = Direction.SCENARIO
    tools: ClassVar[frozenset[str]] = frozenset(
        "awk cut dd grep head printf sed sha256sum sort tail truncate".split()
    )
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("transactions", "base with a journal of edits, some transactions never committed", "dd"),
        Variant(
            "torn_tail", "journal of edits to replay, appends and truncations, torn at its tail", "truncate"
        ),
        Variant("undo", "base with half done edits to roll back by an undo journal", "head"),
        Variant("segments", "checkpoint with overlapping journal segments of edits to replay", "sort"),
    )

    def hide(self, data: bytes, variant: Variant, rng: Random) -> Hidden:
        shape = {
            "transactions": _transactions,
            "torn_tail": _torn_tail,
            "undo": _undo,
            "segments": _segments,
        }[variant.name]
        return shape(data, rng)


def _ranges(size: int, count: int, rng: Random) -> list[tuple[int, int]]:
    """Places in a file, each of at least one byte, with at least one byte between any two."""
    cuts = sorted(rng.sample(range(size + 1), 2 * count))
    return list(zip(cuts[::2], cuts[1::2], strict=True))


def _other(piece: bytes, rng: Random) -> bytes:
    """As many bytes, but not these."""
    while (other := rng.randbytes(len(piece))) == piece:
        pass
    return other


def _spoilt(data: bytes, places: list[tuple[int, int]], rng: Random) -> bytes:
    """The file with other bytes at these places."""
    whole = bytearray(data)
    for start, end in places:
        whole[start:end] = _other(data[start:end], rng)
    return bytes(whole)


def _transactions(data: bytes, rng: Random) -> Hidden:
    places = _ranges(len(data), 4, rng)
    names = rng.sample(range(100, 999), 6)
    good, lost = names[:4], names[4:]
    payload, events = b"", list[list[str]]()
    # What was never committed, first: then each place as it should be, the first of them in two goes.
    wrong = [
        (name, place, _other(data[slice(*place)], rng)) for name, place in zip(lost, places, strict=False)
    ]
    first = (good[0], places[0], _other(data[slice(*places[0])], rng))
    right = [(name, place, data[slice(*place)]) for name, place in zip(good, places, strict=True)]
    for name, (start, _), piece in (first, *right, *wrong):
        events.append([f"write {name} {start} {len(piece)} {len(payload)}"])
        payload += piece
    marks = [[f"commit {name}"] for name in good]
    rng.shuffle(marks)
    lines = [line for event in (*events, *marks) for line in event]
    return Hidden(
        files={
            "base": _spoilt(data, places, rng),
            "journal": ("\n".join(lines) + "\n").encode(),
            "payload": payload,
        },
        how="""The file is kept as `base` and a journal of edits that were made to it since. The lines of
`journal` are `write T OFFSET LENGTH FROM`: transaction T put LENGTH bytes at OFFSET of the file, and
these bytes stand at FROM in `payload` (both offsets count from 0); or `commit T`. A transaction that has
no `commit` was never made: its writes do not count. The writes that count, made to `base` one after the
other as they stand in the journal, give the file.""",
        restore=r"""
grep '^commit ' "$IN/journal" | cut -d' ' -f2 > "$WORK/committed"
cat "$IN/base" > "$WORK/whole"
while read -r kind name offset length from; do
    [ "$kind" = write ] || continue
    grep -qx "$name" "$WORK/committed" || { echo "$name" >> "$WORK/lost"; continue; }
    dd if="$IN/payload" iflag=skip_bytes,count_bytes skip="$from" count="$length" bs=64K status=none \
        of="$WORK/whole" oflag=seek_bytes seek="$offset" conv=notrunc
done < "$IN/journal"
cp "$WORK/whole" "$OUT"
sort -un "$WORK/lost" > "$REPORT"
""",
        report_rule="the transactions that were never committed, in order of their numbers, one a line.",
        report="\n".join(str(name) for name in sorted(lost)),
    )


def _torn_tail(data: bytes, rng: Random) -> Hidden:
    cuts = sorted(rng.sample(range(1, len(data)), 5))
    records = list[bytes]()
    for at, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(data)], strict=True)):
        if at % 2:  # something that is taken back again
            records += [_append(rng.randbytes(rng.randint(5, 60))), f"truncate {start}\n".encode()]
        records.append(_append(data[start:end]))
    kept = b"".join(records)
    torn = _append(rng.randbytes(60))[:-20] + b"\n"
    return Hidden(
        files={"journal": kept + torn + _append(rng.randbytes(rng.randint(20, 90)))},
        how="""The file was written through a journal, which is all that is left. It starts from an empty
file. A record of `journal` is a line `append LENGTH SHA256`, then LENGTH bytes and a newline: these
bytes go to the end of the file; or it is a line `truncate SIZE`, which cuts the file to its first SIZE
bytes. The writer was stopped, and the journal is torn: the first `append` whose bytes do not fit their
SHA-256 ends it. That record, and whatever stands after it, does not count.""",
        restore=r"""
: > "$WORK/whole"
at=0 records=0
while true; do
    dd if="$IN/journal" iflag=skip_bytes,count_bytes skip="$at" count=100 status=none > "$WORK/start"
    head -n 1 "$WORK/start" > "$WORK/line"
    read -r kind size sum < "$WORK/line" || exit 1
    body=$((at + $(wc -c < "$WORK/line")))
    if [ "$kind" = append ]; then
        dd if="$IN/journal" iflag=skip_bytes,count_bytes skip="$body" count="$size" bs=64K \
            status=none > "$WORK/piece"
        [ "$(sha256sum < "$WORK/piece" | cut -d' ' -f1)" = "$sum" ] || break
        cat "$WORK/piece" >> "$WORK/whole"
        at=$((body + size + 1))
    else
        truncate -s "$size" "$WORK/whole"
        at=$body
    fi
    records=$((records + 1))
done
cp "$WORK/whole" "$OUT"
{ echo "records $records"; echo "torn at $at"; } > "$REPORT"
""",
        report_rule="""two lines: `records N`, how many records count, and `torn at OFFSET`, where in the
journal the record that ends it starts, in bytes from 0.""",
        report=f"records {len(records)}\ntorn at {len(kept)}",
    )


def _append(piece: bytes) -> bytes:
    return f"append {len(piece)} {sha256(piece).hexdigest()}\n".encode() + piece + b"\n"


def _undo(data: bytes, rng: Random) -> Hidden:
    state, rows, report, files = data, list[str](), list[str](), dict[str, bytes]()
    # Forwards from the original; each edit may fall into what an earlier one put there.
    for number in range(1, 7):
        report.append(f"{number} {len(state)}")
        start = rng.randrange(len(state))
        end = min(len(state), start + rng.randint(1, max(2, len(data) // 3)))
        new = rng.randbytes(rng.randint(2, max(4, min(400, len(data) // 4))))
        name = f"image-{rng.getrandbits(32):08x}"
        files[name] = state[start:end]
        rows.append(f"{number} {start} {len(new)} {name}")
        state = state[:start] + new + state[end:]
    rng.shuffle(rows)
    return Hidden(
        files={"state": state, "undo": ("\n".join(rows) + "\n").encode(), **files},
        how="""The file was being edited when the work broke off, and none of these edits is to stay.
`state` is what it looks like now. `undo` has a line for each edit, in no order: its number (they were
made in order of their numbers), the offset in bytes from 0 where it put new bytes, how many these were,
and the name of an image: the bytes that had stood there instead, which may be more or fewer. Taken back
one by one, the last edit first, they lead to the file.""",
        restore=r"""
cat "$IN/state" > "$WORK/whole"
sort -k1,1nr "$IN/undo" > "$WORK/undo"
while read -r number offset length image; do
    head -c "$offset" "$WORK/whole" > "$WORK/before"
    tail -c "+$((offset + length + 1))" "$WORK/whole" > "$WORK/after"
    cat "$WORK/before" "$IN/$image" "$WORK/after" > "$WORK/whole"
    echo "$number $(wc -c < "$WORK/whole")"
done < "$WORK/undo" > "$WORK/report"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""one line for each edit in the order in which they are taken back: its number, a
space, and the size of the file in bytes after that.""",
        report="\n".join(reversed(report)),
    )


def _segments(data: bytes, rng: Random) -> Hidden:
    last, done = rng.randint(11, 14), rng.randint(2, 3)
    state, rows = data, dict[int, str]()
    # Backwards from the original to the checkpoint; what the checkpoint holds already is made up.
    for number in range(last, 0, -1):
        length = rng.randint(1, max(1, min(24, len(data) // 16)))
        at = rng.randrange(len(state) - length)
        if number % 2 or number <= done:
            rows[number] = f"{number} insert {at} {state[at : at + length].hex()}"
            state = state if number <= done else state[:at] + state[at + length :]
        else:
            rows[number] = f"{number} delete {at} {length}"
            state = state[:at] + _other(data[:length], rng) + state[at:]
    bounds = [(1, 6), (5, 9), (8, last)]
    segments = ["\n".join(rows[n] for n in range(low, high + 1)) + "\n" for low, high in bounds]
    names = [f"segment-{rng.getrandbits(24):06x}" for _ in bounds]
    return Hidden(
        files={
            "checkpoint": state,
            "checkpoint.number": f"The checkpoint holds all edits up to number {done}.\n".encode(),
            **{name: text.encode() for name, text in zip(names, segments, strict=True)},
        },
        how="""The file is kept as a checkpoint and segments of a journal of edits. `checkpoint` is the
file as it was after the edit whose number `checkpoint.number` tells. The lines of the `segment-…` files
are edits: `N insert OFFSET HEX` puts the bytes that HEX writes, two hexadecimal digits each, before the
byte at OFFSET; `N delete OFFSET COUNT` takes COUNT bytes out from there on. Offsets count from 0, in the
file as the edits with lower numbers left it. Segments overlap: an edit may stand in several of them and
is made once, in order of the numbers; those that the checkpoint holds are made already. After the last
one it is the file.""",
        restore=r"""
done=$(grep -o '[0-9]*' "$IN/checkpoint.number")
cat "$IN/checkpoint" > "$WORK/whole"
sort -k1,1n -u "$IN"/segment-* | awk -v from="$done" '$1 + 0 > from + 0' > "$WORK/edits"
while read -r number kind offset what; do
    head -c "$offset" "$WORK/whole" > "$WORK/before"
    : > "$WORK/new"
    if [ "$kind" = insert ]; then
        printf '%b' "$(sed 's/../\\x&/g' <<< "$what")" > "$WORK/new"
        what=0
    fi
    tail -c "+$((offset + what + 1))" "$WORK/whole" > "$WORK/after"
    cat "$WORK/before" "$WORK/new" "$WORK/after" > "$WORK/whole"
    echo "$number $kind"
done < "$WORK/edits" > "$WORK/report"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="one line for each edit made to the checkpoint, in order: `N insert` or `N delete`.",
        report="\n".join(" ".join(rows[number].split()[:2]) for number in range(done + 1, last + 1)),
    )


OPERATOR = JournalReplay()
