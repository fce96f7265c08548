"""Scenario: an input is gone, and some of the copies that are left of it are damaged."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from datetime import date, timedelta
from hashlib import md5, sha1, sha256
from random import Random
from typing import ClassVar

from agents.offline.operator import Hidden, Obstacle, Variant
from agents.plan import Direction

FIRST_DAY = date(2024, 1, 8)
MAX_BLOCKS = 48


@dataclass(frozen=True)
class DamagedBackups(Obstacle):
    name: ClassVar[str] = "damaged_backups"
    direction: ClassVar[Direction] = Direction.SCENARIO
    least_bytes: ClassVar[int] = 96
    tools: ClassVar[frozenset[str]] = frozenset(
        "awk cut dd gzip head md5sum sha1sum sha256sum sort tail".split()
    )
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant(
            "newest_intact", "dated backups, the newest of them damaged, with a checksum list", "sha256sum"
        ),
        Variant("side_files", "numbered backups with checksums beside them, some missing or stale", "md5sum"),
        Variant("trailer", "numbered backups with a checksum in a trailer, some of them damaged", "sha1sum"),
        Variant("blocks", "two damaged copies of a backup to be merged, checksum by block", "dd"),
    )

    def hide(self, data: bytes, variant: Variant, rng: Random) -> Hidden:
        shape = {
            "newest_intact": _newest_intact,
            "side_files": _side_files,
            "trailer": _trailer,
            "blocks": _blocks,
        }[variant.name]
        return shape(data, rng)


def _older(data: bytes, rng: Random) -> bytes:
    """An earlier state of the file: intact by its checksum, but not the one that is wanted."""
    return data[: rng.randint(len(data) // 2, len(data) - 1)]


def _damaged(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 0x20 or 0x21]) + data[at + 1 :]


def _states(data: bytes, rng: Random) -> tuple[list[bytes], int]:
    """Five to eight states, oldest first; the second number is where the wanted one stands."""
    wanted, newer = rng.randint(2, 4), rng.randint(2, 3)
    return [_older(data, rng) for _ in range(wanted)] + [data] * (newer + 1), wanted


def _packed_states(data: bytes, rng: Random) -> tuple[list[bytes], int]:
    """The same, compressed: the original is not to stand in the image as it is."""
    states, wanted = _states(data, rng)
    return [gzip.compress(state, mtime=0) for state in states], wanted


def _newest_intact(data: bytes, rng: Random) -> Hidden:
    states, wanted = _packed_states(data, rng)
    day, rows, files, bad = FIRST_DAY, [], dict[str, bytes](), []
    for at, state in enumerate(states):
        day += timedelta(days=rng.randint(1, 40))
        name = f"backup-{day:%d-%m-%Y}.gz"
        rows.append(f"{sha256(state).hexdigest()}  {name}")
        files[name] = state if at <= wanted else _damaged(state, rng)
        if at > wanted:
            bad.append(name)
    rng.shuffle(rows)
    return Hidden(
        files={**files, "SHA256SUMS": ("\n".join(rows) + "\n").encode()},
        how="""What is left are dated backups, `backup-DAY-MONTH-YEAR.gz`, compressed by gzip.
`SHA256SUMS` holds the checksums they had when they were made; a backup that does not fit its checksum
any more is damaged. What the newest backup that is not damaged holds is the original.""",
        restore=r"""
cd "$IN"
# Damaged ones first, then the names from oldest to newest: year, month, day.
while read -r sum name; do
    if [ "$(sha256sum < "$name" | cut -d' ' -f1)" = "$sum" ]; then echo "$name" >> "$WORK/intact"
    else echo "$name" >> "$WORK/damaged"; fi
done < SHA256SUMS
newest=$(sort -t- -k4,4n -k3,3n -k2,2n "$WORK/intact" | tail -n 1)
gzip -dc "$newest" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
sort -t- -k4,4n -k3,3n -k2,2n "$WORK/damaged" > "$WORK/report"
cp "$WORK/report" "$REPORT"
""",
        report_rule="the names of the damaged backups, from the oldest to the newest, one a line.",
        report="\n".join(bad),
        idle=frozenset(list(files)[:wanted]),
    )


def _side_files(data: bytes, rng: Random) -> Hidden:
    states, wanted = _packed_states(data, rng)
    numbers = sorted(rng.sample(range(1, 40), len(states)))
    files, refused = dict[str, bytes](), []
    for at, (number, state) in enumerate(zip(numbers, states, strict=True)):
        name = f"copy-{number}.gz"
        files[name] = state if at <= wanted else _damaged(state, rng)
        # The newest has lost its checksum, the other newer ones do not fit theirs.
        missing = at == len(states) - 1
        if not missing:
            files[f"{name}.md5"] = (md5(state, usedforsecurity=False).hexdigest() + "\n").encode()
        if at > wanted:
            refused.append(f"{name} {'missing' if missing else 'mismatch'}")
    return Hidden(
        files=files,
        how="""What is left are copies, `copy-N.gz`, compressed by gzip; a higher number is newer.
`copy-N.gz.md5` holds the MD5 sum that the copy had when it was made. A copy whose sum file is missing,
or that does not fit it, cannot be trusted. What the newest copy that can be trusted holds is the
original.""",
        restore=r"""
cd "$IN"
for file in copy-*.gz; do
    if [ ! -f "$file.md5" ]; then verdict=missing
    elif [ "$(md5sum < "$file" | cut -d' ' -f1)" != "$(cat "$file.md5")" ]; then verdict=mismatch
    else verdict=good; fi
    number=${file#copy-}
    echo "${number%.gz} $file $verdict"
done | sort -n > "$WORK/verdicts"
gzip -dc "$(awk '$3 == "good" { name = $2 } END { print name }' "$WORK/verdicts")" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
awk '$3 != "good" { print $2, $3 }' "$WORK/verdicts" > "$REPORT"
""",
        report_rule="""one line for each copy that cannot be trusted, in order of its number: its name,
a space, and `missing` or `mismatch`.""",
        report="\n".join(refused),
        idle=frozenset(f"copy-{number}.gz{suffix}" for number in numbers[:wanted] for suffix in ("", ".md5")),
    )


def _trailer(data: bytes, rng: Random) -> Hidden:
    states, wanted = _states(data, rng)
    files, names, intact = dict[str, bytes](), [], []
    for at, state in enumerate(states):
        stamp = (FIRST_DAY + timedelta(days=30 * at + rng.randint(0, 20))).strftime("%Y%m%d")
        name = f"{rng.getrandbits(20):05x}.save"
        names.append(name)
        trailer = f"\n--saved {stamp} sha1 {sha1(state, usedforsecurity=False).hexdigest()}\n".encode()
        files[name] = (state if at <= wanted else _damaged(state, rng)) + trailer
        if at <= wanted:
            intact.append(f"{stamp} {name}")
    return Hidden(
        files=files,
        how="""What is left are saved states, `*.save`. Each ends with a trailer that does not belong to
the file: a newline, then the line `--saved YYYYMMDD sha1 SUM`, then a newline. SUM is the SHA-1 sum of
what stands before the trailer; where it does not fit, the state is damaged. The state with the latest
day that is not damaged, without its trailer, is the original.""",
        restore=r"""
for file in "$IN"/*.save; do
    read -r mark day word sum < <(tail -n 1 "$file")
    # The trailer is its last line and the newline before it.
    length=$(($(wc -c < "$file") - $(tail -n 1 "$file" | wc -c) - 1))
    if [ "$(head -c "$length" "$file" | sha1sum | cut -d' ' -f1)" = "$sum" ]; then
        echo "$day $(basename "$file")" >> "$WORK/intact"
        head -c "$length" "$file" > "$WORK/$day"
    fi
done
sort "$WORK/intact" > "$WORK/report"
cp "$WORK/$(tail -n 1 "$WORK/report" | cut -d' ' -f1)" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule=(
            "one line for each state that is not damaged, sorted by day: the day as in the trailer, a "
            "space, its name."
        ),
        report="\n".join(sorted(intact)),
    )


def _blocks(data: bytes, rng: Random) -> Hidden:
    size = max(64, -(-len(data) // MAX_BLOCKS))
    blocks = [data[at : at + size] for at in range(0, len(data), size)]
    sums = [md5(block, usedforsecurity=False).hexdigest() for block in blocks]
    # Every block is whole in at least one of the two.
    broken = {at: rng.choice("ab") for at in range(len(blocks)) if rng.random() < 0.6}
    # And neither of the two is the original: of the at least two blocks, each has one damaged.
    broken |= {0: "a", len(blocks) - 1: "b"}
    copies = {
        name: b"".join(
            _damaged(block, rng) if broken.get(at) == name else block for at, block in enumerate(blocks)
        )
        for name in "ab"
    }
    taken = ["b" if broken.get(at) == "a" else "a" for at in range(len(blocks))]
    return Hidden(
        files={
            "copy-a": copies["a"],
            "copy-b": copies["b"],
            "blocks.md5": ("\n".join(sums) + "\n").encode(),
        },
        how=f"""What is left are two copies of the same file, both damaged, in different places.
`blocks.md5` has the MD5 sum of each block of {size} bytes of the original, in order (the last block may
be shorter), one a line. Every block is whole in at least one of the copies.""",
        restore=f"""
size={size}
number=0
: > "$WORK/whole"
"""
        + r"""
while read -r sum; do
    for copy in a b; do
        dd if="$IN/copy-$copy" of="$WORK/block" bs="$size" skip="$number" count=1 status=none
        [ "$(md5sum < "$WORK/block" | cut -d' ' -f1)" = "$sum" ] && break
    done
    cat "$WORK/block" >> "$WORK/whole"
    echo "$number $copy"
    number=$((number + 1))
done < "$IN/blocks.md5" > "$WORK/report"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""one line for each block: its number, counted from 0, a space, and the copy it was
taken from, `a` or `b`; `a` where it is whole in both.""",
        report="\n".join(f"{at} {copy}" for at, copy in enumerate(taken)),
    )


OPERATOR = DamagedBackups()
