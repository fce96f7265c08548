"""Skill: the pieces of an input are ordered by keys that have to be computed first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from random import Random
from typing import ClassVar

from agents.offline.cuts import pieces
from agents.offline.operator import Hidden, Obstacle, Variant
from agents.plan import Direction

JOINED = r"""
while read -r name key; do cat "$IN/pieces/$name"; done < "$WORK/order" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cp "$WORK/order" "$REPORT"
"""
PIECES = "The file was cut into the pieces in `pieces/`.\n"


@dataclass(frozen=True)
class ComputedOrder(Obstacle):
    name: ClassVar[str] = "computed_order"
    direction: ClassVar[Direction] = Direction.SKILL
    tools: ClassVar[frozenset[str]] = frozenset("awk cut date factor numfmt paste sha256sum sort sum".split())
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("units", "order pieces by numbers with decimal and binary units", "numfmt"),
        Variant("factors", "order pieces by the largest prime factor of their keys", "factor"),
        Variant("zones", "order pieces by times in different zones and notations", "date"),
        Variant("sums", "recognise pieces by their BSD checksums", "sum"),
    )

    def hide(self, data: bytes, variant: Variant, rng: Random) -> Hidden:
        shape = {"units": _units, "factors": _factors, "zones": _zones, "sums": _sums}[variant.name]
        return shape(data, rng)


def _names(count: int, rng: Random) -> list[str]:
    return [f"{number:06x}" for number in rng.sample(range(1 << 24), count)]


def _files(names: list[str], cut: list[bytes], keys: list[str], rng: Random) -> dict[str, bytes]:
    """The pieces, and `keys.txt` in no order."""
    rows = [f"{name} {key}\n" for name, key in zip(names, keys, strict=True)]
    rng.shuffle(rows)
    files = {f"pieces/{name}": piece for name, piece in zip(names, cut, strict=True)}
    return {**files, "keys.txt": "".join(rows).encode()}


def _report(names: list[str], values: list[int] | list[str]) -> str:
    return "\n".join(f"{name} {value}" for name, value in zip(names, values, strict=True))


UNITS = {"": 1, "K": 1000, "Ki": 1024, "M": 1000**2, "Mi": 1024**2, "G": 1000**3, "Gi": 1024**3}


def _units(data: bytes, rng: Random) -> Hidden:
    cut = pieces(data, rng.randint(8, 14), rng)
    # Close to each other, so that the kind of unit decides: 1000 K, 977 Ki and 1 M are neighbours.
    known = dict[int, str]()
    while len(known) < len(cut):
        unit = rng.choice(list(UNITS))
        count = round(1000 ** rng.randint(2, 3) * rng.uniform(0.9, 1.1) / UNITS[unit])
        known |= {count * UNITS[unit]: f"{count}{unit}"} if count else {}
    values, names = sorted(known), _names(len(cut), rng)
    return Hidden(
        files=_files(names, cut, [known[value] for value in values], rng),
        how=PIECES
        + """`keys.txt` has a row `NAME SIZE` for each. A SIZE may end in a unit: K, M and G are the first
three powers of 1000, Ki, Mi and Gi those of 1024. Joined by increasing SIZE the pieces are the file.""",
        restore=r"""
numfmt --from=auto --field=2 < "$IN/keys.txt" | sort -k2,2n > "$WORK/order"
"""
        + JOINED.strip(),
        report_rule="""one line for each piece in the order of the file: its name, a space, and its SIZE as a
number without a unit.""",
        report=_report(names, values),
    )


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % small for small in range(2, int(number**0.5) + 1))


def _primes(count: int, rng: Random) -> list[int]:
    found = set[int]()
    while len(found) < count:
        number = rng.randint(10_007, 999_983)
        found |= {number} if _is_prime(number) else set()
    return sorted(found)


def _factors(data: bytes, rng: Random) -> Hidden:
    cut = pieces(data, rng.randint(8, 14), rng)
    largest, names = _primes(len(cut), rng), _names(len(cut), rng)
    # 9973 is the largest prime below the least of `largest`.
    keys = [
        str(prime * rng.choice((9973, 9967, 9949, 7919, 6007)) * rng.randint(2, 9000)) for prime in largest
    ]
    return Hidden(
        files=_files(names, cut, keys, rng),
        how=PIECES
        + """`keys.txt` has a row `NAME NUMBER` for each. Joined by the largest prime factor of their NUMBER,
the least of these first, the pieces are the file.""",
        restore=r"""
cut -d' ' -f2 "$IN/keys.txt" | factor > "$WORK/factors"
cut -d' ' -f1 "$IN/keys.txt" > "$WORK/names"
# The factors of a number stand in increasing order.
paste -d' ' "$WORK/names" "$WORK/factors" | awk '{ print $1, $NF }' | sort -k2,2n > "$WORK/order"
"""
        + JOINED.strip(),
        report_rule="""one line for each piece in the order of the file: its name, a space, and the largest
prime factor of its NUMBER.""",
        report=_report(names, largest),
    )


def _notation(moment: datetime, rng: Random) -> str:
    zone = timezone(timedelta(minutes=rng.choice((-570, -480, -300, -210, 0, 60, 120, 330, 345, 540, 765))))
    there = moment.astimezone(zone)
    return rng.choice(
        (
            there.isoformat(),
            there.isoformat(sep=" "),
            format_datetime(there),
            f"@{int(moment.timestamp())}",
        )
    )


def _zones(data: bytes, rng: Random) -> Hidden:
    cut = pieces(data, rng.randint(8, 14), rng)
    start = datetime(2021, 1, 1, tzinfo=UTC) + timedelta(minutes=rng.randrange(2_000_000))
    # All within two days: local clocks would give another order.
    seconds = sorted(rng.sample(range(2 * 86400), len(cut)))
    moments, names = [start + timedelta(seconds=second) for second in seconds], _names(len(cut), rng)
    return Hidden(
        files=_files(names, cut, [_notation(moment, rng) for moment in moments], rng),
        how=PIECES
        + """`keys.txt` has a row `NAME TIME` for each. The TIMEs were written down in different places: some
with the difference from UTC at the end (`+05:30` or `+0530`: the clock there is that much ahead), and
some as `@SECONDS` since the start of 1970 in UTC. Joined in order of time the pieces are the file.""",
        restore=r"""
while read -r name key; do
    echo "$name $(date -u -d "$key" +%s)"
done < "$IN/keys.txt" | sort -k2,2n > "$WORK/seconds"
while read -r name second; do
    echo "$name $(date -u -d "@$second" +%Y-%m-%dT%H:%M:%SZ)"
done < "$WORK/seconds" > "$WORK/order"
"""
        + JOINED.strip(),
        report_rule="""one line for each piece in the order of the file: its name, a space, and its time in
UTC in the form `2021-03-14T15:09:26Z`.""",
        report=_report(names, [f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in moments]),
    )


def _bsd_sum(data: bytes) -> int:
    total = 0
    for byte in data:
        total = ((total >> 1) + ((total & 1) << 15) + byte) & 0xFFFF
    return total


def _keys(cut: list[bytes]) -> list[str]:
    return [f"{_bsd_sum(piece):05d} {len(piece)}" for piece in cut]


def _sums(data: bytes, rng: Random) -> Hidden:
    cut = pieces(data, rng.randint(8, 14), rng)
    # One piece for one key. It ends, since pieces of different sizes have different keys.
    while len(set(cut)) > len(set(_keys(cut))):
        cut = pieces(data, rng.randint(3, 14), rng)
    keys = _keys(cut)
    names = dict(zip(sorted(set(keys)), _names(len(set(keys)), rng), strict=True))
    files = {f"pieces/{names[key]}": piece for key, piece in zip(keys, cut, strict=True)}
    decoys = {f"pieces/{name}": rng.randbytes(rng.randint(20, 300)) for name in _names(4, rng)}
    decoys = {name: junk for name, junk in decoys.items() if not set(_keys([junk])) & set(keys)}
    return Hidden(
        files=dict(sorted({**decoys, **files}.items())) | {"order.txt": "\n".join([*keys, ""]).encode()},
        how="""Pieces of the file are in `pieces/`, with others that do not belong to it. `order.txt` has a
row `SUM SIZE` for each piece in the order of the file: the 16-bit checksum of the BSD algorithm, in five
digits as `sum` prints it, and the size in bytes. A piece that the file has several times is there once.
Joined in this order they are the file.""",
        restore=r"""
for piece in "$IN"/pieces/*; do
    read -r total blocks <<< "$(sum -r < "$piece")"
    echo "$(basename "$piece") $total $(wc -c < "$piece")"
done > "$WORK/sums"
while read -r total size; do
    # As text: a sum keeps its leading zeros.
    awk -v total="x$total" -v size="$size" '"x" $2 == total && $3 == size { print $1, $2 }' "$WORK/sums"
done < "$IN/order.txt" > "$WORK/order"
"""
        + JOINED.strip(),
        report_rule="""one line for each row of `order.txt`, in the same order: the name of the piece, a
space, and its checksum in five digits.""",
        report=_report([names[key] for key in keys], [key.split()[0] for key in keys]),
        idle=frozenset(decoys) - frozenset(files),
    )


OPERATOR = ComputedOrder()
