"""Skill: the bytes of an input have to be converted back."""

from __future__ import annotations

import string
from dataclasses import dataclass
from itertools import groupby
from random import Random
from typing import ClassVar

from agents.offline.checksums import cksum
from agents.offline.operator import Hidden, Obstacle, Subject, Variant
from agents.plan import Direction

LETTERS = string.ascii_letters + string.digits


@dataclass(frozen=True)
class Transcoded(Obstacle):
    name: ClassVar[str] = "transcoded"
    direction: ClassVar[Direction] = Direction.SKILL
    text_only: ClassVar[bool] = True
    tools: ClassVar[frozenset[str]] = frozenset(
        "awk cksum cut dd head iconv od printf sha256sum sort tail tr".split()
    )
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("utf16", "convert utf-16 text with foreign line ends", "iconv"),
        Variant("swapped", "swap the bytes of words back", "dd"),
        Variant("substituted", "undo a substitution alphabet", "tr"),
        Variant("octal_runs", "expand a run-length octal dump", "printf"),
    )

    def refusal(self, subject: Subject) -> str:
        why_not = super().refusal(subject)
        if why_not:
            return why_not
        try:
            subject.data.decode("utf-8")
        except UnicodeDecodeError:
            return "it works on UTF-8 text"
        if not any(letter in subject.data for letter in LETTERS.encode()):
            return "it works on text with ASCII letters or digits"
        return ""

    def hide(self, data: bytes, variant: Variant, rng: Random) -> Hidden:
        shape = {
            "utf16": _utf16,
            "swapped": _swapped,
            "substituted": _substituted,
            "octal_runs": _octal_runs,
        }[variant.name]
        return shape(data, rng)


def _utf16(data: bytes, rng: Random) -> Hidden:
    little = rng.random() < 0.5
    text = data.decode("utf-8").replace("\n", "\r\n")
    encoded = ("\ufeff" + text).encode("utf-16-le" if little else "utf-16-be")
    return Hidden(
        files={"file.u16": encoded},
        how="""`file.u16` is the file in UTF-16; its first two bytes are a byte order mark that says
which. Its line ends are CR LF. The original is UTF-8 without a mark, with LF line ends, and has no CR
anywhere.""",
        restore=r"""
iconv -f UTF-16 -t UTF-8 "$IN/file.u16" | tr -d '\r' > "$WORK/whole"
cp "$WORK/whole" "$OUT"
mark=$(head -c 2 "$IN/file.u16" | od -An -tx1 | tr -d ' \n')
if [ "$mark" = fffe ]; then order=little; else order=big; fi
echo "$order $(wc -c < "$IN/file.u16") $(wc -c < "$WORK/whole")" > "$REPORT"
""",
        report_rule=(
            "one line: `little` or `big` for the byte order found, the size of `file.u16` and the size of"
            " the original, in bytes."
        ),
        report=f"{'little' if little else 'big'} {len(encoded)} {len(data)}",
    )


def _swapped(data: bytes, rng: Random) -> Hidden:
    padded = data + b"\0" * (len(data) % 2)
    swapped = bytearray(len(padded))
    swapped[0::2], swapped[1::2] = padded[1::2], padded[0::2]
    front = rng.randbytes(rng.randint(5, 40) * 2)
    return Hidden(
        files={
            "image.bin": front + bytes(swapped),
            "layout.txt": f"start {len(front)}\nlength {len(data)}\n".encode(),
        },
        how="""`image.bin` holds the file from the byte `start` on (counted from 0), with the two bytes
of each 16-bit word swapped, and a zero byte added where the length was odd. `layout.txt` has `start`,
and `length`: the size of the original.""",
        restore=r"""
start=$(awk '$1 == "start" { print $2 }' "$IN/layout.txt")
length=$(awk '$1 == "length" { print $2 }' "$IN/layout.txt")
tail -c "+$((start + 1))" "$IN/image.bin" > "$WORK/swapped"
dd if="$WORK/swapped" conv=swab status=none | head -c "$length" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
echo "front $(head -c "$start" "$IN/image.bin" | cksum | cut -d' ' -f1)" > "$REPORT"
echo "original $(cksum < "$WORK/whole" | cut -d' ' -f1)" >> "$REPORT"
""",
        report_rule="""two lines: `front CRC` and `original CRC`, the first number that POSIX `cksum`
prints for what stands before the byte `start`, and for the original.""",
        report=f"front {cksum(front)}\noriginal {cksum(data)}",
    )


def _substituted(data: bytes, rng: Random) -> Hidden:
    # It ends: `refusal` has seen to it that there is a letter to change.
    shuffled, table = LETTERS, bytes.maketrans(b"", b"")
    while data.translate(table) == data:
        shuffled = "".join(rng.sample(LETTERS, len(LETTERS)))
        table = bytes.maketrans(LETTERS.encode(), shuffled.encode())
    counts = sorted(
        ((data.count(letter.encode()), letter) for letter in LETTERS), key=lambda row: (-row[0], row[1])
    )
    return Hidden(
        files={"file.sub": data.translate(table), "alphabet.txt": f"{LETTERS}\n{shuffled}\n".encode()},
        how="""`file.sub` is the file after a substitution: every character of the first line of
`alphabet.txt` was replaced by the one that stands below it in the second line. All other bytes are as
they were.""",
        restore=r"""
plain=$(head -n 1 "$IN/alphabet.txt")
replaced=$(tail -n 1 "$IN/alphabet.txt")
tr "$replaced" "$plain" < "$IN/file.sub" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
for ((i = 0; i < ${#plain}; i++)); do
    character=${plain:i:1}
    echo "$character $(tr -cd "$character" < "$WORK/whole" | wc -c)"
done | sort -k2,2nr -k1,1 | head -n 5 > "$WORK/report"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""the five most frequent characters of the original among those of the alphabet,
most frequent first, equal ones by byte value: one a line, the character, a space, and its count.""",
        report="\n".join(f"{letter} {count}" for count, letter in counts[:5]),
    )


def _octal_runs(data: bytes, rng: Random) -> Hidden:
    runs = [(byte, len(list(run))) for byte, run in groupby(data)]
    width = rng.randint(8, 20)
    words = [f"{count}x{byte:03o}" if count > 1 else f"{byte:03o}" for byte, count in runs]
    lines = [" ".join(words[at : at + width]) for at in range(0, len(words), width)]
    longest = max(count for _, count in runs)
    return Hidden(
        files={"dump.oct": ("\n".join(lines) + "\n").encode()},
        how="""`dump.oct` spells the file out: each word is a byte in three octal digits, or `COUNTxOOO`
for a run of COUNT equal bytes. Where lines break means nothing.""",
        restore=r"""
# Escapes for printf, one line of the dump a line.
awk '{
    line = ""
    for (i = 1; i <= NF; i++) {
        count = 1; byte = $i
        if (split($i, part, "x") == 2) { count = part[1]; byte = part[2] }
        for (n = 0; n < count; n++) line = line "\\0" byte
    }
    print line
}' "$IN/dump.oct" > "$WORK/escapes"
while read -r line; do printf '%b' "$line"; done < "$WORK/escapes" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
tr ' ' '\n' < "$IN/dump.oct" | awk -Fx '
    { words++; if (NF == 2) { runs++; if ($1 > most) most = $1 } }
    END { print "words", words; print "runs", runs + 0; print "longest", most ? most : 1 }
' > "$WORK/report"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""three lines: `words N`, the number of words in the dump; `runs N`, how many of
them are runs; `longest N`, the highest COUNT, or 1 if there is no run.""",
        report=f"words {len(runs)}\nruns {sum(count > 1 for _, count in runs)}\nlongest {longest}",
    )


OPERATOR = Transcoded()
