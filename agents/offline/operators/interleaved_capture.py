"""Scenario: an input was sent in pieces, and what is left of it is a capture of several streams at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import md5
from random import Random
from typing import ClassVar

from agents.offline.operator import Hidden, Obstacle, Variant
from agents.plan import Direction

CELLS = 200
ROUND = 16


@dataclass(frozen=True)
class InterleavedCapture(Obstacle):
    name: ClassVar[str] = "interleaved_capture"
    direction: ClassVar[Direction] = Direction.SCENARIO
    tools: ClassVar[frozenset[str]] = frozenset("awk cut dd head md5sum od sha256sum sort tail".split())
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("segments", "capture of interleaved streams with segments that were sent again", "dd"),
        Variant("two_taps", "two captures of interleaved streams, each with packets missing", "md5sum"),
        Variant("cells", "capture of interleaved streams in cells with wrapping counters", "od"),
        Variant("acknowledged", "capture of a stream in frames, some refused and sent again", "cut"),
    )

    def hide(self, data: bytes, variant: Variant, rng: Random) -> Hidden:
        shape = {
            "segments": _segments,
            "two_taps": _two_taps,
            "cells": _cells,
            "acknowledged": _acknowledged,
        }[variant.name]
        return shape(data, rng)


def _pieces(data: bytes, rng: Random) -> list[tuple[int, bytes]]:
    """Nine to fifteen pieces of the file, each with its offset."""
    cuts = [0, *sorted(rng.sample(range(1, len(data)), rng.randint(8, 14))), len(data)]
    return [(start, data[start:end]) for start, end in zip(cuts, cuts[1:], strict=False)]


def _stream(data: bytes, rng: Random) -> bytes:
    """What another stream carried: as long, and alike."""
    at = rng.randint(1, len(data) - 1)
    return (data[at:] + data[:at])[::-1]


def _spoilt(piece: bytes) -> bytes:
    return piece[:-1] + bytes([piece[-1] ^ 0x15])


def _sum(piece: bytes) -> str:
    return md5(piece, usedforsecurity=False).hexdigest()


def _lines(rows: Iterable[str]) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


class _Capture:
    """What one tap wrote down: an index of packets, and their bytes."""

    def __init__(self) -> None:
        self.rows, self.raw = list[str](), b""

    def take(self, stream: int, number: int, piece: bytes, *, whole: bool = True) -> None:
        came = piece if whole else _spoilt(piece)
        self.rows.append(f"{stream} {number} {len(self.raw)} {len(came)} {_sum(piece)}")
        self.raw += came


def _packets(number: str, raw: str) -> str:
    return (
        f"has a line for each packet in the order they came: the number of its stream,\n{number}, where its "
        f"bytes start in `{raw}` (from 0), how many they are, and the MD5 sum that the sender gave it."
    )


def _segments(data: bytes, rng: Random) -> Hidden:
    streams = rng.sample(range(30000, 60000), 3)
    wanted, first = streams[0], {stream: rng.randint(10_000, 900_000) for stream in streams}
    sent = list[tuple[int, int, bytes]]()
    for stream in streams:
        content = data if stream == wanted else _stream(data, rng)
        pieces = _pieces(content, rng)
        sent += [(stream, at, piece) for at, piece in pieces]
        for at, piece in rng.sample(pieces, 3):  # sent again, cut in another place
            sent.append((stream, at, content[at : at + max(1, len(piece) + rng.randint(-3, 9))]))
    rng.shuffle(sent)
    own = [at for at, (stream, _, _) in enumerate(sent) if stream == wanted]
    bad = set(rng.sample(own, 3))
    capture = _Capture()
    for at, (stream, offset, piece) in enumerate(sent):
        if at in bad:
            capture.take(stream, first[stream] + offset, piece, whole=False)
        capture.take(stream, first[stream] + offset, piece)
    opened = [f"{stream} {first[stream]}" for stream in sorted(streams)]
    return Hidden(
        files={"index": _lines(capture.rows), "raw": capture.raw, "opened": _lines(opened)},
        how=f"""The file was sent in stream {wanted}, and what is left is a capture of several streams.
`index` {_packets("the number of its first byte", "raw")} Every byte of a stream has a number; `opened`
has a line for each stream with its number and the number of the first byte of all. Packets come in any
order; some were sent again, then often cut in another place, so that packets may overlap. A packet that
does not fit its MD5 sum was damaged and does not count. The bytes of the stream, each at its place, are
the file.""",
        restore=f"wanted={wanted}"
        + r"""
first=$(awk -v stream="$wanted" '$1 == stream { print $2 }' "$IN/opened")
while read -r stream number from length sum; do
    [ "$stream" = "$wanted" ] || continue
    dd if="$IN/raw" iflag=skip_bytes,count_bytes skip="$from" count="$length" bs=64K \
        status=none > "$WORK/packet"
    if [ "$(md5sum < "$WORK/packet" | cut -d' ' -f1)" != "$sum" ]; then
        echo "$((number - first)) $length" >> "$WORK/damaged"
        continue
    fi
    dd if="$WORK/packet" of="$WORK/whole" oflag=seek_bytes seek="$((number - first))" bs=64K \
        conv=notrunc status=none
done < "$IN/index"
cp "$WORK/whole" "$OUT"
cp "$WORK/damaged" "$REPORT"
""",
        report_rule="""one line for each damaged packet of the stream, in the order they came: the offset
of its first byte in the file (from 0), a space, and its length.""",
        report="\n".join(f"{sent[at][1]} {len(sent[at][2])}" for at in sorted(bad)),
    )


def _two_taps(data: bytes, rng: Random) -> Hidden:
    streams = rng.sample(range(100, 999), 2)
    parts = {stream: _pieces(_stream(data, rng), rng) for stream in streams} | {
        streams[0]: _pieces(data, rng)
    }
    sent = [(s, number, piece) for s in streams for number, (_, piece) in enumerate(parts[s], start=1)]
    own = rng.sample(range(1, len(parts[streams[0]]) + 1), 6)
    lost = {"east": own[:3], "west": own[3:]}
    files = dict[str, bytes]()
    for tap, missing in lost.items():
        capture = _Capture()
        rng.shuffle(sent)
        for stream, number, piece in sent:
            # Of three packets that the tap has not got, the last one came damaged.
            ours = stream == streams[0] and number in missing
            if not ours or number == missing[-1]:
                capture.take(stream, number, piece, whole=not ours)
        files |= {f"{tap}.index": _lines(capture.rows), f"{tap}.raw": capture.raw}
    return Hidden(
        files=files,
        how=f"""The file was sent in stream {streams[0]}, and what is left are the captures of two taps,
`east` and `west`, on the same line. `TAP.index` {_packets("its own number in it (from 1)", "TAP.raw")} A
packet that does not fit its MD5 sum came damaged. No tap has got all packets whole, but each packet of
the stream came whole to one of the taps at least. In order of their numbers, the packets of the stream
are the file.""",
        restore=f"wanted={streams[0]}"
        + r"""
mkdir "$WORK/packets"
for tap in east west; do
    while read -r stream number from length sum; do
        [ "$stream" = "$wanted" ] || continue
        dd if="$IN/$tap.raw" iflag=skip_bytes,count_bytes skip="$from" count="$length" bs=64K \
            status=none > "$WORK/packet"
        [ "$(md5sum < "$WORK/packet" | cut -d' ' -f1)" = "$sum" ] || continue
        echo "$number $tap" >> "$WORK/whole-ones"
        cat "$WORK/packet" > "$WORK/packets/$number"
    done < "$IN/$tap.index"
done
sort -n "$WORK/whole-ones" | awk '{ taps[$1] = taps[$1] " " $2; last = $1 }
    END { for (n = 1; n <= last; n++) print n taps[n] }' > "$WORK/found"
while read -r number taps; do cat "$WORK/packets/$number"; done < "$WORK/found" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
awk 'NF == 2' "$WORK/found" > "$REPORT"
""",
        report_rule="""one line for each packet of the stream that only one tap has got whole, in order:
its number, a space, and that tap.""",
        report="\n".join(f"{n} {'west' if n in lost['east'] else 'east'}" for n in sorted(own)),
    )


SORTED_CELLS = r"""
od -An -v -tu1 -w"$cell" "$IN/cells.bin" | cut -c1-8 > "$WORK/heads"
# The place of a cell is the one nearest to the highest so far that its counter allows.
awk -v channel="$channel" -v round="$round" '
    BEGIN { high = round - 1 }
    $1 == channel {
        ahead = ($2 - high % round + round) % round
        if (ahead > round / 2) ahead -= round
        place = high + ahead
        if (place in seen) { again++; next }
        seen[place] = 1
        if (place > high) high = place; else late++
        print place, NR - 1
    }
    END { print "repeated " again + 0 > report; print "late " late + 0 > report }
' report="$WORK/report" "$WORK/heads" | sort -n > "$WORK/order"
while read -r place at; do
    dd if="$IN/cells.bin" bs="$cell" skip="$at" count=1 status=none | tail -c +3
done < "$WORK/order" > "$WORK/padded"
head -c "$length" "$WORK/padded" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
"""


def _cells(data: bytes, rng: Random) -> Hidden:
    size = max(2, -(-len(data) // CELLS))
    channels = rng.sample(range(1, 200), 3)
    arrivals = list[tuple[float, int, int, bytes]]()
    for channel in channels:
        content = data if channel == channels[0] else _stream(data, rng)[: len(data) // 2]
        spread = len(data) / max(1, len(content))
        for number, start in enumerate(range(0, len(content), size)):
            came = number + rng.uniform(0, 4)
            cell = content[start : start + size].ljust(size, b"~")
            arrivals.append((came * spread, channel, number, cell))
            if number == 3 or rng.random() < 0.1:
                arrivals.append(((came + 1) * spread, channel, number, cell))
    arrivals.sort(key=lambda arrival: arrival[0])
    blob = b"".join(bytes([channel, number % ROUND]) + cell for _, channel, number, cell in arrivals)
    own = [number for _, channel, number, _ in arrivals if channel == channels[0]]
    late = sum(number < max(own[: at + 1]) for at, number in enumerate(own) if number not in own[:at])
    return Hidden(
        files={"cells.bin": blob},
        how=f"""The file was sent over channel {channels[0]}, and `cells.bin` is a capture of all
channels: cells of {size + 2} bytes, one after the other as they came. A cell is a byte with the number
of its channel, a byte with a counter, and {size} bytes of content. On each channel the counter starts at
0 and goes up by 1 with each cell, but after {ROUND - 1} it starts at 0 again. A cell may be late: it
then comes after some, at most four, that should come after it. Some cells were sent a second time, and
the second one came before the counter had gone on by six; it does not count. The content of the
channel's cells in their right order is the file; what fills the last cell beyond the size of the file
does not belong to it.""",
        restore=f"channel={channels[0]} cell={size + 2} round={ROUND} length={len(data)}" + SORTED_CELLS,
        report_rule="""two lines about the cells of the channel: `repeated N`, how many do not count
because they came a second time, and `late N`, how many of the others came after one that should come
after them.""",
        report=f"repeated {len(own) - len(set(own))}\nlate {late}",
    )


def _acknowledged(data: bytes, rng: Random) -> Hidden:
    pieces = [piece for _, piece in _pieces(data, rng)]
    files, log, report, kept = dict[str, bytes](), list[tuple[float, str]](), list[str](), set[str]()
    troubled = set(rng.sample(range(len(pieces)), 5))
    for number, piece in enumerate(pieces, start=1):
        answers = ["acknowledged"]
        if number - 1 in troubled:
            answers = [*rng.choices(("refused", "expired"), k=rng.randint(1, 2)), *answers, "refused"]
        for at, answer in enumerate(answers):
            name = f"frame-{rng.getrandbits(32):08x}"
            files[name] = piece if answer == "acknowledged" else _spoilt(piece)
            kept |= {name} if answer == "acknowledged" else set()
            when = number + 3 * at + rng.random()
            log += [(when, f"sent {number} as {name}"), (when + rng.uniform(0.5, 2.5), f"{answer} {name}")]
        report.append(f"{number} {len(answers)}")
    return Hidden(
        files={"log": _lines(line for _, line in sorted(log)), **files},
        how="""The file was sent in frames, several at a time, and what is left are the frames and the
`log` of the sender. `sent N as NAME` says that frame N (counted from 1) went out with the bytes that the
file `NAME` holds; `refused NAME`, `expired NAME` or `acknowledged NAME` says what became of that. A
frame was sent again until it was acknowledged, and sometimes once more; the bytes that were acknowledged
are those that count. In order of N they are the file.""",
        restore=r"""
awk '
    $1 == "sent" { frame[$4] = $2; times[$2]++ }
    $1 == "acknowledged" { name[frame[$2]] = $2; if (frame[$2] + 0 > last) last = frame[$2] + 0 }
    END { for (n = 1; n <= last; n++) print n, times[n], name[n] }
' "$IN/log" > "$WORK/frames"
while read -r number times name; do cat "$IN/$name"; done < "$WORK/frames" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cut -d' ' -f1,2 "$WORK/frames" > "$REPORT"
""",
        report_rule="one line for each frame in order of N: N, a space, and how often it was sent.",
        report="\n".join(report),
        idle=frozenset(files) - kept,
    )


OPERATOR = InterleavedCapture()
