"""Skill: what is lost or damaged of an input has to be computed from redundant data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from random import Random
from typing import ClassVar

from agents.offline.operator import Hidden, Obstacle, Variant
from agents.plan import Direction

READ = """
setting() { awk -v name="$1" '$1 == name { print $2 }' "$IN/settings.txt"; }
"""
XOR = r"""
# The bitwise exclusive or of files of one size.
xor() {
    local columns=() file
    for file in "$@"; do
        columns+=("$WORK/$(basename "$file").column")
        od -An -v -tu1 -w1 "$file" > "${columns[-1]}"
    done
    paste -d' ' "${columns[@]}" | awk '
        BEGIN {
            for (a = 0; a < 16; a++) for (b = 0; b < 16; b++) for (bit = 1; bit < 16; bit *= 2)
                if (int(a / bit) % 2 != int(b / bit) % 2) table[16 * a + b] += bit
        }
        {
            high = low = 0
            for (i = 1; i <= NF; i++) {
                high = table[16 * high + int($i / 16)] + 0
                low = table[16 * low + $i % 16] + 0
            }
            printf "%X%X", high, low
        }
    ' > "$WORK/hex"
    basenc --base16 -d "$WORK/hex"
}
"""


@dataclass(frozen=True)
class ErrorCorrected(Obstacle):
    name: ClassVar[str] = "error_corrected"
    direction: ClassVar[Direction] = Direction.SKILL
    tools: ClassVar[frozenset[str]] = frozenset("awk basenc cut dd fold head od paste sha256sum".split())
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("stripes", "rebuild the missing disk of a striped array from parity", "basenc"),
        Variant("row_column", "find and mend bytes by sums of rows and columns", "dd"),
        Variant("hamming", "correct flipped bits by a Hamming code", "fold"),
        Variant("packets", "solve for blocks from packets that are mixed of several", "basenc"),
    )

    def hide(self, data: bytes, variant: Variant, rng: Random) -> Hidden:
        shape = {
            "stripes": _stripes,
            "row_column": _row_column,
            "hamming": _hamming,
            "packets": _packets,
        }[variant.name]
        return shape(data, rng)


def _settings(**values: int) -> bytes:
    return "".join(f"{name} {value}\n" for name, value in values.items()).encode()


def _xor(blocks: list[bytes]) -> bytes:
    size = len(blocks[0])
    return reduce(
        lambda one, other: one ^ other, [int.from_bytes(block, "big") for block in blocks]
    ).to_bytes(size, "big")


def _blocks(data: bytes, size: int, least: int = 0) -> list[bytes]:
    """The data in blocks, the last one filled up with zero bytes, and blocks of zeros up to `least`."""
    found = [data[at : at + size].ljust(size, b"\0") for at in range(0, len(data), size)]
    return found + [bytes(size)] * (least - len(found))


def _stripes(data: bytes, rng: Random) -> Hidden:
    stripe = max(4, len(data) // (3 * rng.randint(10, 30)))
    rows = -(-len(data) // (3 * stripe))
    blocks = iter(_blocks(data, stripe, least=3 * rows))
    disks = [b""] * 4
    for row in range(rows):
        three, parity = [next(blocks) for _ in range(3)], 3 - row % 4
        whole = [*three[:parity], _xor(three), *three[parity:]]
        disks = [disk + block for disk, block in zip(disks, whole, strict=True)]
    missing = rng.randrange(4)
    held = sum(3 - row % 4 != missing for row in range(rows))
    return Hidden(
        files={
            **{f"disk-{number}": disk for number, disk in enumerate(disks) if number != missing},
            "settings.txt": _settings(stripe=stripe, rows=rows, length=len(data)),
        },
        how="""The file was kept on an array of four disks, `disk-0` to `disk-3`, of which one is lost.
`settings.txt` has the size of a `stripe` in bytes, the number of `rows`, and the `length` of the file. Row R,
from 0, is stripe R of every disk: three stripes of data and one of parity, which is the bitwise exclusive
or of the three. The parity of row 0 is on disk 3, that of row 1 on disk 2, of row 2 on disk 1, of row 3 on
disk 0, of row 4 on disk 3 again, and so on. The data is in the other three in order of the disks. Row after
row they make the file, filled up with zero bytes behind its end.""",
        restore=READ.strip()
        + XOR
        + r"""
stripe=$(setting stripe) rows=$(setting rows) length=$(setting length)
for disk in 0 1 2 3; do
    if [ -f "$IN/disk-$disk" ]; then cp "$IN/disk-$disk" "$WORK/disk-$disk"; else missing=$disk; fi
done
xor "$IN"/disk-* > "$WORK/disk-$missing"
held=0
for ((row = 0; row < rows; row++)); do
    parity=$((3 - row % 4))
    [ "$parity" = "$missing" ] || held=$((held + 1))
    for disk in 0 1 2 3; do
        [ "$disk" != "$parity" ] || continue
        dd if="$WORK/disk-$disk" bs="$stripe" skip="$row" count=1 status=none
    done
done > "$WORK/padded"
head -c "$length" "$WORK/padded" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
echo "missing $missing" > "$REPORT"
echo "data $held" >> "$REPORT"
""",
        report_rule="""two lines: `missing N`, the number of the lost disk, and `data N`, in how many rows
that disk holds data and not parity.""",
        report=f"missing {missing}\ndata {held}",
    )


def _sums(block: bytes, width: int) -> str:
    """A line of the sums of a block's rows, and then of its columns."""
    across = [sum(block[at : at + width]) % 256 for at in range(0, len(block), width)]
    down = [sum(block[at::width]) % 256 for at in range(width)]
    return " ".join(map(str, [*across, *down])) + "\n"


MEND_BY_SUMS = r"""
width=$(setting width) height=$(setting height)
od -An -v -tu1 -w"$width" "$IN/damaged.bin" | awk -v width="$width" -v height="$height" '
    function check(   r, c, place) {
        for (r = 1; r <= height; r++) if ((across[r] + 0) % 256 != want[block, r]) {
            for (c = 1; c <= width; c++) if ((down[c] + 0) % 256 != want[block, height + c]) {
                place = ((block - 1) * height + r - 1) * width + c - 1
                printf "%d %03o\n", place, (value[r, c] + want[block, r] - across[r] % 256 + 256) % 256
            }
        }
        split("", across); split("", down); split("", value)
    }
    NR == FNR { for (i = 1; i <= NF; i++) want[FNR, i] = $i; next }
    {
        row = (FNR - 1) % height + 1
        if (row == 1 && FNR > 1) check()
        if (row == 1) block++
        for (i = 1; i <= NF; i++) { across[row] += $i; down[i] += $i; value[row, i] = $i }
    }
    END { check() }
' "$IN/sums.txt" - > "$WORK/wrong"
cp "$IN/damaged.bin" "$WORK/whole"
while read -r place byte; do
    printf '%b' "\\0$byte" | dd of="$WORK/whole" bs=1 seek="$place" conv=notrunc status=none
done < "$WORK/wrong"
cp "$WORK/whole" "$OUT"
cut -d' ' -f1 "$WORK/wrong" > "$REPORT"
"""


def _row_column(data: bytes, rng: Random) -> Hidden:
    width, height = rng.randint(8, 20), rng.randint(6, 14)
    size = width * height
    rows, damaged = [_sums(block, width) for block in _blocks(data, size)], bytearray(data)
    hit = sorted(rng.sample(range(len(rows)), min(len(rows), rng.randint(5, 12))))
    places = [number * size + rng.randrange(min(size, len(data) - number * size)) for number in hit]
    for place in places:
        damaged[place] ^= rng.randint(1, 255)
    return Hidden(
        files={
            "damaged.bin": bytes(damaged),
            "sums.txt": "".join(rows).encode(),
            "settings.txt": _settings(width=width, height=height),
        },
        how="""`damaged.bin` is the file with some wrong bytes. It is cut into blocks of `height` rows of
`width` bytes each (`settings.txt` has both numbers); what the last block lacks counts as zero bytes.
`sums.txt` has one row for each block in order: the sums of the block's rows from top to bottom, then those of
its columns from left to right, of the right bytes, modulo 256. In a block at most one byte is wrong; the sums
say which, and by how much.""",
        restore=READ.strip() + MEND_BY_SUMS,
        report_rule="the offsets of the wrong bytes, counted from 0, in increasing order, one a line.",
        report="\n".join(map(str, places)),
    )


def _codeword(nibble: int) -> str:
    """Seven bits: those at 1, 2 and 4 are parities, those at 3, 5, 6 and 7 the nibble."""
    a, b, c, d = (nibble >> shift & 1 for shift in (3, 2, 1, 0))
    return "".join(map(str, (a ^ b ^ d, a ^ c ^ d, a, b ^ c ^ d, b, c, d)))


def _flipped(word: str, place: int) -> str:
    return word[: place - 1] + ("1" if word[place - 1] == "0" else "0") + word[place:]


def _hamming(data: bytes, rng: Random) -> Hidden:
    known = [_codeword(nibble) for nibble in range(16)]
    words = [known[nibble] for byte in data for nibble in (byte >> 4, byte & 15)]
    wrong = {at: rng.randint(1, 7) for at in sorted(rng.sample(range(len(words)), rng.randint(8, 25)))}
    for at, place in wrong.items():
        words[at] = _flipped(words[at], place)
    bits = "".join(words)
    bits += "0" * (-len(bits) % 8)
    return Hidden(
        files={
            "coded.bin": int(bits, 2).to_bytes(len(bits) // 8, "big"),
            "settings.txt": _settings(length=len(data)),
        },
        how="""`coded.bin` is a stream of bits, the highest bit of each byte first, made of words of seven
bits; zero bits fill its last byte up. Each byte of the file became two words, for its higher four bits and
for its lower four. The bits of a word are counted from 1: bits 3, 5, 6 and 7 are the four bits, the highest
first. Bit 1 makes the number of ones among the bits 1, 3, 5 and 7 even, bit 2 that among 2, 3, 6 and 7, and
bit 4 that among 4, 5, 6 and 7. In some words one of the seven bits was flipped on the way. `settings.txt` has
the `length` of the file in bytes.""",
        restore=READ.strip()
        + r"""
words=$((2 * $(setting length)))
basenc --base2msbf -w 0 "$IN/coded.bin" | fold -w 7 > "$WORK/words"
awk -v words="$words" -v mended="$WORK/mended" '
    function decode(word,   i, bit, place) {
        for (i = 1; i <= 7; i++) bit[i] = substr(word, i, 1) + 0
        place = (bit[1] + bit[3] + bit[5] + bit[7]) % 2
        place += 2 * ((bit[2] + bit[3] + bit[6] + bit[7]) % 2)
        place += 4 * ((bit[4] + bit[5] + bit[6] + bit[7]) % 2)
        if (place) bit[place] = 1 - bit[place]
        wrong[word] = place
        nibble[word] = bit[3] bit[5] bit[6] bit[7]
    }
    NR > words { exit }
    # There are no more than 128 different words.
    !($0 in wrong) { decode($0) }
    wrong[$0] { print NR, wrong[$0] > mended }
    { printf "%s", nibble[$0] }
' "$WORK/words" > "$WORK/bits"
basenc --base2msbf -d "$WORK/bits" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cp "$WORK/mended" "$REPORT"
""",
        report_rule="""one line for each word with a flipped bit, in order: the number of the word, counted
from 1, a space, and the number of the bit.""",
        report="\n".join(f"{at + 1} {place}" for at, place in wrong.items()),
    )


def _mixed(blocks: list[bytes], rng: Random) -> dict[str, bytes]:
    """The packets, and the list of what each is mixed of."""
    order = rng.sample(range(len(blocks)), len(blocks))
    files, rows = dict[str, bytes](), []
    for at, block in enumerate(order):
        # Of one new block and of some that can be solved before it.
        numbers = sorted([block, *rng.sample(order[:at], min(at, rng.randint(1, 3)))])
        name = f"{rng.getrandbits(32):08x}.packet"
        files[name] = _xor([blocks[number] for number in numbers])
        rows.append(f"{name} {' '.join(str(number + 1) for number in numbers)}\n")
    rng.shuffle(rows)
    return {**files, "packets.txt": "".join(rows).encode()}


def _packets(data: bytes, rng: Random) -> Hidden:
    count = rng.randint(6, 9)
    size = -(-len(data) // count)
    blocks = _blocks(data, size, least=count)
    return Hidden(
        files={**_mixed(blocks, rng), "settings.txt": _settings(blocks=count, length=len(data))},
        how="""The file was cut into blocks of one size, the last ones filled up with zero bytes, and sent as
packets. A packet is the bitwise exclusive or of some blocks: `packets.txt` has a row for each, its name and
the numbers of these blocks, counted from 1. Some packet is a single block, and with the blocks that are
known there is always another packet of which only one block is unknown. `settings.txt` has the number of
`blocks` and the `length` of the file in bytes.""",
        restore=READ.strip()
        + XOR
        + r"""
blocks=$(setting blocks)
known=0
while [ "$known" -lt "$blocks" ]; do
    before=$known
    while read -r packet numbers; do
        mixed=("$IN/$packet") unknown=()
        for number in $numbers; do
            if [ -f "$WORK/$number" ]; then mixed+=("$WORK/$number"); else unknown+=("$number"); fi
        done
        [ "${#unknown[@]}" = 1 ] || continue
        xor "${mixed[@]}" > "$WORK/block"
        mv "$WORK/block" "$WORK/${unknown[0]}"
        known=$((known + 1))
    done < "$IN/packets.txt"
    [ "$known" -gt "$before" ] || exit 1
done
for ((number = 1; number <= blocks; number++)); do
    cat "$WORK/$number" >> "$WORK/padded"
    sum=$(od -An -v -tu1 -w1 "$WORK/$number" | awk '{ sum += $1 } END { print sum }')
    echo "$number $sum"
done > "$WORK/report"
head -c "$(setting length)" "$WORK/padded" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""one line for each block in order: its number, a space, and the sum of the values of its
bytes, which is decimal.""",
        report="\n".join(f"{number} {sum(block)}" for number, block in enumerate(blocks, start=1)),
    )


OPERATOR = ErrorCorrected()
