"""Skill: an input has to be put together from single bits."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from agents.offline.operator import Hidden, Obstacle, Variant
from agents.plan import Direction

SETTING = """
setting() { awk -v name="$1" '$1 == name { print $2 }' "$IN/$2"; }
"""


@dataclass(frozen=True)
class BitStreams(Obstacle):
    name: ClassVar[str] = "bit_streams"
    direction: ClassVar[Direction] = Direction.SKILL
    tools: ClassVar[frozenset[str]] = frozenset("awk basenc cut fold head paste sha256sum tail tr".split())
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("planes", "reassemble bytes from eight bit planes", "basenc"),
        Variant("slipped", "realign a bit stream at its sync word", "basenc"),
        Variant("serial", "read bytes out of serial frames with parity", "basenc"),
        Variant("prefix_code", "decode a bit stream of prefix codes", "basenc"),
    )

    def hide(self, data: bytes, variant: Variant, rng: Random) -> Hidden:
        shape = {
            "planes": _planes,
            "slipped": _slipped,
            "serial": _serial,
            "prefix_code": _prefix_code,
        }[variant.name]
        return shape(data, rng)


def _bits(data: bytes) -> str:
    return f"{int.from_bytes(data, 'big'):0{8 * len(data)}b}"


def _packed(bits: str, fill: str = "0") -> bytes:
    whole = bits + fill * (-len(bits) % 8)
    return int(whole, 2).to_bytes(len(whole) // 8, "big")


def _settings(**values: object) -> bytes:
    return "".join(f"{name} {value}\n" for name, value in values.items()).encode()


def _planes(data: bytes, rng: Random) -> Hidden:
    bits = _bits(data)
    names = [f"{number:06x}.plane" for number in rng.sample(range(1 << 24), 8)]
    files, rows, counts = dict[str, bytes](), [], []
    for at, name in enumerate(names):
        weight, plane, turned = 128 >> at, bits[at::8], rng.random() < 0.5
        counts.append(f"{weight} {plane.count('1')}")
        files[name] = _packed(plane.translate({48: "1", 49: "0"}) if turned else plane)
        rows.append(f"{name} {weight} {'inverted' if turned else 'plain'}\n")
    rng.shuffle(rows)
    files["planes.txt"] = _settings(length=len(data)) + "".join(rows).encode()
    return Hidden(
        files=files,
        how="""The bits of the file's bytes were taken apart into eight planes. `planes.txt` has the `length`
of the file in bytes, and for each plane a row `NAME WEIGHT STATE`. The plane of WEIGHT 128 holds the
highest bit of every byte, in order of the bytes, that of WEIGHT 1 the lowest. In the file NAME the first
bit is the highest bit of the first byte; zero bits fill its last byte up. Where STATE is `inverted`,
zeros stand for ones and ones for zeros.""",
        restore=SETTING.strip()
        + r"""
length=$(setting length planes.txt)
planes=()
for weight in 128 64 32 16 8 4 2 1; do
    row=$(awk -v weight="$weight" 'NF == 3 && $2 == weight { print $1, $3 }' "$IN/planes.txt")
    read -r name state <<< "$row"
    basenc --base2msbf -w 0 "$IN/$name" > "$WORK/bits"
    if [ "$state" = inverted ]; then tr 01 10 < "$WORK/bits"; else cat "$WORK/bits"; fi > "$WORK/turned"
    head -c "$length" "$WORK/turned" > "$WORK/plane"
    echo "$weight $(tr -cd 1 < "$WORK/plane" | wc -c)"
    fold -w 1 "$WORK/plane" > "$WORK/$weight"
    planes+=("$WORK/$weight")
done > "$WORK/report"
# One line of eight bits for each byte.
paste -d '\0' "${planes[@]}" | tr -d '\n' > "$WORK/bits"
basenc --base2msbf -d "$WORK/bits" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""eight lines from WEIGHT 128 down to 1: the weight, a space, and how many bytes of the
original have that bit set.""",
        report="\n".join(counts),
    )


def _slipped(data: bytes, rng: Random) -> Hidden:
    # Idle ones before a word that starts with a zero: its first match is the right one.
    idle = rng.choice([count for count in range(90, 400) if count % 8])
    sync = f"0{rng.getrandbits(15):015b}"
    line = "1" * idle + sync + f"{len(data):032b}" + _bits(data)
    after = rng.randbytes(rng.randint(8, 30))
    return Hidden(
        files={"capture.bin": _packed(line, "1") + after, "line.txt": _settings(sync=sync)},
        how="""`capture.bin` is what was heard on a line, bit after bit, the highest bit of each byte first.
The line is idle at first, which is all ones. Then come the sync word, which `line.txt` spells out as
`sync`, the length of the file in bytes as a number of 32 bits, highest bit first, and the file itself,
which therefore does not start where a byte starts. What comes after the file means nothing.""",
        restore=SETTING.strip()
        + r"""
sync=$(setting sync line.txt)
basenc --base2msbf -w 0 "$IN/capture.bin" > "$WORK/bits"
front=$(head -c 1000 "$WORK/bits")
after=${front#*"$sync"}
idle=$((${#front} - ${#after} - ${#sync}))
length=$((2#${after:0:32}))
tail -c "+$((idle + ${#sync} + 32 + 1))" "$WORK/bits" > "$WORK/rest"
head -c "$((8 * length))" "$WORK/rest" > "$WORK/bits"
basenc --base2msbf -d "$WORK/bits" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
echo "idle $idle" > "$REPORT"
echo "length $length" >> "$REPORT"
""",
        report_rule="""two lines: `idle N`, the number of idle bits before the sync word, and `length N`, the
length of the file in bytes as the line says it.""",
        report=f"idle {idle}\nlength {len(data)}",
    )


def _frame(byte: int, odd: bool, *, broken: bool = False) -> str:
    """Start bit, eight bits from the lowest, parity, stop bit."""
    parity = (byte.bit_count() + odd + broken) % 2
    return "0" + f"{byte:08b}"[::-1] + f"{parity}1"


def _serial(data: bytes, rng: Random) -> Hidden:
    odd = rng.random() < 0.5
    known = [_frame(byte, odd) for byte in range(256)]
    frames = [known[byte] for byte in data]
    for _ in range(rng.randint(3, 9)):
        frames.insert(rng.randint(1, len(frames)), _frame(rng.randrange(256), odd, broken=True))
    good = set(known)
    broken = [str(number) for number, frame in enumerate(frames, start=1) if frame not in good]
    return Hidden(
        files={
            "capture.bin": _packed("".join(frames), "1"),
            "line.txt": _settings(parity="odd" if odd else "even"),
        },
        how="""`capture.bin` is what was heard on a serial line, bit after bit, the highest bit of each byte
first. It is made of frames of eleven bits without gaps: a start bit 0, the eight bits of a byte from the
lowest to the highest, a parity bit, and a stop bit 1. `line.txt` says the `parity`: with `even` the
number of ones among data and parity bits is even, with `odd` it is odd. A frame whose parity is wrong is
noise and has to be dropped; the bytes of the others are the file. Ones, fewer than eight, fill the last
byte up.""",
        restore=SETTING.strip()
        + r"""
odd=0
[ "$(setting parity line.txt)" = even ] || odd=1
basenc --base2msbf -w 0 "$IN/capture.bin" | fold -w 11 > "$WORK/frames"
awk -v odd="$odd" -v good="$WORK/good" '
    length($0) == 11 {
        bits = substr($0, 2, 9)
        if (gsub(/1/, "1", bits) % 2 == odd) printf "%s", substr(bits, 1, 8) > good
        else print NR
    }
' "$WORK/frames" > "$WORK/report"
basenc --base2lsbf -d "$WORK/good" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="the numbers of the dropped frames, counted from 1, in order, one a line.",
        report="\n".join(broken),
    )


def _codes(data: bytes) -> dict[int, str]:
    """A prefix code by Huffman; a lone symbol gets one bit."""
    counts = Counter(data)
    if len(counts) == 1:
        return dict.fromkeys(counts, "0")
    heap = [(count, byte, [byte]) for byte, count in sorted(counts.items())]
    codes = dict.fromkeys(counts, "")
    heapq.heapify(heap)
    while len(heap) > 1:
        left, right = heapq.heappop(heap), heapq.heappop(heap)
        for digit, (_, _, members) in zip("01", (left, right), strict=True):
            codes |= {byte: digit + codes[byte] for byte in members}
        heapq.heappush(heap, (left[0] + right[0], min(left[1], right[1]), left[2] + right[2]))
    return codes


def _prefix_code(data: bytes, rng: Random) -> Hidden:
    codes = _codes(data)
    bits = "".join([codes[byte] for byte in data])
    rows = [f"{code} {byte:02X}\n" for byte, code in codes.items()]
    rng.shuffle(rows)
    return Hidden(
        files={
            "stream.bin": _packed(bits) + rng.randbytes(rng.randint(4, 12)),
            "codes.txt": _settings(bytes=len(data)) + "".join(rows).encode(),
        },
        how="""`stream.bin` is a stream of bits, the highest bit of each byte first: the codes of the file's
bytes, one after the other. `codes.txt` has the number of `bytes` in the file, and then rows `CODE HEX`:
the bits of a code and the byte it stands for, in hex. No code is the beginning of another one. What
comes after the last byte's code means nothing.""",
        restore=SETTING.strip()
        + r"""
bytes=$(setting bytes codes.txt)
basenc --base2msbf -w 0 "$IN/stream.bin" | fold -w 1 > "$WORK/bits"
awk -v bytes="$bytes" -v used="$WORK/used" '
    NR == FNR { if ($1 != "bytes") hex[$1] = $2; next }
    { code = code $0 }
    code in hex {
        print hex[code]
        code = ""
        if (++found == bytes) { print FNR > used; exit }
    }
' "$IN/codes.txt" "$WORK/bits" > "$WORK/hex"
tr -d '\n' < "$WORK/hex" > "$WORK/digits"
basenc --base16 -d "$WORK/digits" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
awk '$1 != "bytes" { codes++; if (length($1) > most) most = length($1) }
    END { print "codes", codes; print "longest", most }' "$IN/codes.txt" > "$WORK/report"
echo "bits $(cat "$WORK/used")" >> "$WORK/report"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""three lines: `codes N`, the number of codes; `longest N`, the bits of the longest code;
`bits N`, how many bits the codes of the whole file take.""",
        report=f"codes {len(codes)}\nlongest {max(map(len, codes.values()))}\nbits {len(bits)}",
    )


OPERATOR = BitStreams()
