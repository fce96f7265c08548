"""Length: an input is kept somewhere else, and where that is has to be followed through a chain."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import ClassVar

from agents.offline.operator import Hidden, Obstacle, Variant
from agents.plan import Direction


@dataclass(frozen=True)
class PointerChain(Obstacle):
    name: ClassVar[str] = "pointer_chain"
    direction: ClassVar[Direction] = Direction.LENGTH
    tools: ClassVar[frozenset[str]] = frozenset("awk cut expr grep gzip head sed sha256sum tail".split())
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("names", "follow notes that name each other", "sed"),
        Variant("checksums", "follow notes by the checksum of the next", "sha256sum"),
        Variant("offsets", "follow records by their offsets in one file", "tail"),
        Variant("arithmetic", "compute the number of each next note", "expr"),
    )

    def hide(self, data: bytes, variant: Variant, rng: Random) -> Hidden:
        shape = {
            "names": _names,
            "checksums": _checksums,
            "offsets": _offsets,
            "arithmetic": _arithmetic,
        }[variant.name]
        return shape(data, rng)


def _store(data: bytes, rng: Random) -> tuple[dict[str, bytes], str]:
    """The compressed input among decoys, and its name."""
    names = [f"store/{rng.getrandbits(32):08x}.gz" for _ in range(5)]
    decoys = {name: gzip.compress(rng.randbytes(16) + bytes(reversed(data)), mtime=0) for name in names[1:]}
    return dict(sorted({names[0]: gzip.compress(data, mtime=0), **decoys}.items())), names[0]


def _idle(files: Iterable[str], needed: Iterable[str]) -> frozenset[str]:
    return frozenset(files) - frozenset(needed) - {"start.txt"}


def _hops(rng: Random) -> int:
    return rng.randint(5, 8)


def _notes(rng: Random, count: int) -> list[str]:
    return [f"notes/{rng.getrandbits(32):08x}.txt" for _ in range(count)]


def _names(data: bytes, rng: Random) -> Hidden:
    files, kept = _store(data, rng)
    chain = _notes(rng, _hops(rng))
    stray = _notes(rng, 6)
    for at, note in enumerate(chain):
        files[note] = (
            f"next: {chain[at + 1]}\n".encode() if at + 1 < len(chain) else f"kept: {kept}\n".encode()
        )
    for note in stray:
        files[note] = f"next: {rng.choice([*chain, *stray])}\n".encode()
    files["start.txt"] = f"next: {chain[0]}\n".encode()
    return Hidden(
        files=files,
        how="""The file is kept, compressed with gzip, in `store/`; which one it is has to be followed.
`start.txt` and the notes in `notes/` say `next: PATH`; the last one of the chain says `kept: PATH`.
Paths are relative to the delivered folder.""",
        restore=r"""
cd "$IN"
now=start.txt
until grep -q '^kept: ' "$now"; do
    now=$(sed -n 's/^next: //p' "$now")
    [ -f "$now" ] || exit 1
    echo "$now"
done > "$WORK/report"
gzip -dc "$(sed -n 's/^kept: //p' "$now")" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="the paths of the notes in the order they are followed, without `start.txt`, one a line.",
        report="\n".join(chain),
        idle=_idle(files, [kept, *chain]),
    )


def _checksums(data: bytes, rng: Random) -> Hidden:
    files, kept = _store(data, rng)
    chain, stray = _notes(rng, _hops(rng)), _notes(rng, 4)
    following = files[kept]
    for note in reversed(chain):
        files[note] = f"{sha256(following).hexdigest()}\nsalt {rng.getrandbits(32):08x}\n".encode()
        following = files[note]
    for note in stray:
        files[note] = f"{sha256(note.encode()).hexdigest()}\nsalt {rng.getrandbits(32):08x}\n".encode()
    files["start.txt"] = f"{sha256(following).hexdigest()}\n".encode()
    return Hidden(
        files=files,
        how="""The file is kept, compressed with gzip, in `store/`; which one it is has to be followed.
The first line of `start.txt` is the SHA-256 of the next note in `notes/`, the first line of that note
the SHA-256 of the one after it, and so on; the last one is that of a file in `store/`.""",
        restore=r"""
cd "$IN"
sha256sum notes/* store/* > "$WORK/sums"
now=start.txt
while true; do
    now=$(awk -v sum="$(head -n 1 "$now")" '$1 == sum { print $2 }' "$WORK/sums")
    case $now in store/*) break;; notes/*) ;; *) exit 1;; esac
    echo "$(basename "$now") $(sed -n 's/^salt //p' "$now")"
done > "$WORK/report"
gzip -dc "$now" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule=(
            "one line for each note in the order they are followed: its name without folder, a space, and"
            " its salt."
        ),
        report="\n".join(
            f"{note.removeprefix('notes/')} {files[note].split()[-1].decode()}" for note in chain
        ),
        idle=_idle(files, [kept, *chain]),
    )


def _offsets(data: bytes, rng: Random) -> Hidden:
    files, kept = _store(data, rng)
    # Every record has the same width, so that offsets are known before the records are written.
    width, count = 48, 40
    slots = rng.sample(range(count), _hops(rng))
    ledger = [f"free {rng.getrandbits(64):016x}" for _ in range(count)]
    for at, slot in enumerate(slots):
        ledger[slot] = f"next {slots[at + 1] * width}" if at + 1 < len(slots) else f"kept {kept}"
    files["ledger"] = "".join(record.ljust(width - 1, ".") + "|" for record in ledger).encode()
    files["start.txt"] = f"{slots[0] * width}\n".encode()
    return Hidden(
        files=files,
        how=f"""The file is kept, compressed with gzip, in `store/`; which one it is has to be followed.
`ledger` is one line without an end; at each offset that is a multiple of {width} a record starts that
is filled with dots and ends in `|`. `start.txt` has the offset (from 0) of the first record of a chain:
`next OFFSET` leads on, `kept PATH` ends it.""",
        restore=r"""
cd "$IN"
offset=$(cat start.txt)
while true; do
    tail -c "+$((offset + 1))" ledger > "$WORK/rest"
    record=$(cut -d'|' -f1 "$WORK/rest" | sed 's/\.*$//')
    echo "$offset"
    case $record in kept\ *) break;; next\ *) ;; *) exit 1;; esac
    offset=${record#next }
done > "$WORK/report"
gzip -dc "${record#kept }" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule=(
            "the offsets of the records of the chain in order, the first and the last one too, one a line."
        ),
        report="\n".join(str(slot * width) for slot in slots),
        idle=_idle(files, [kept, "ledger"]),
    )


def _arithmetic(data: bytes, rng: Random) -> Hidden:
    files, kept = _store(data, rng)
    modulus = 9973
    chain = rng.sample(range(1000, modulus), _hops(rng))
    stray = [number for number in rng.sample(range(1000, modulus), 12) if number not in chain]
    for at, number in enumerate(chain):
        if at + 1 < len(chain):
            factor = rng.randint(2, 60)
            term = (chain[at + 1] - number * factor) % modulus
            files[f"notes/{number}"] = f"times {factor}\nplus {term}\n".encode()
        else:
            files[f"notes/{number}"] = f"kept {kept}\n".encode()
    for number in stray:
        files[f"notes/{number}"] = f"times {rng.randint(2, 60)}\nplus {rng.randrange(modulus)}\n".encode()
    files["start.txt"] = f"first {chain[0]}\nmodulus {modulus}\n".encode()
    return Hidden(
        files=files,
        how="""The file is kept, compressed with gzip, in `store/`; which one it is has to be followed.
Notes are named by numbers; `start.txt` has the number of the `first` and a `modulus`. A note with
`times A` and `plus B` leads to the note whose number is the remainder of its own number × A + B by the
modulus; one with `kept PATH` ends the chain.""",
        restore=r"""
cd "$IN"
now=$(sed -n 's/^first //p' start.txt)
modulus=$(sed -n 's/^modulus //p' start.txt)
steps=0 total=$now
while ! grep -q '^kept ' "notes/$now"; do
    times=$(sed -n 's/^times //p' "notes/$now")
    plus=$(sed -n 's/^plus //p' "notes/$now")
    now=$(expr \( "$now" \* "$times" + "$plus" \) % "$modulus") && [ -f "notes/$now" ] || exit 1
    steps=$((steps + 1)) total=$((total + now))
done
gzip -dc "$(sed -n 's/^kept //p' "notes/$now")" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
echo "steps $steps" > "$REPORT"
echo "total $total" >> "$REPORT"
""",
        report_rule=(
            "two lines: `steps N`, how often a note led on to another, and `total N`, the sum of the "
            "numbers of all notes of the chain."
        ),
        report=f"steps {len(chain) - 1}\ntotal {sum(chain)}",
        idle=_idle(files, [kept, *(f"notes/{number}" for number in chain)]),
    )


OPERATOR = PointerChain()
