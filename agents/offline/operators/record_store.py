"""Scenario: an input is kept in a binary store of pages and records, with what was deleted still in it."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from struct import pack
from typing import ClassVar

from agents.offline.operator import Hidden, Obstacle, Variant
from agents.plan import Direction

NONE = 0xFFFFFFFF


@dataclass(frozen=True)
class RecordStore(Obstacle):
    name: ClassVar[str] = "record_store"
    direction: ClassVar[Direction] = Direction.SCENARIO
    tools: ClassVar[frozenset[str]] = frozenset("awk cut dd head od paste sha256sum sort tail tr".split())
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("allocation_table", "binary store of pages chained by an allocation table", "od"),
        Variant("linked_pages", "binary store of linked pages among pages of a free list", "od"),
        Variant("versions", "binary store of versioned records, some deleted by tombstones", "sort"),
        Variant("index_tree", "binary store of records found by an index tree from its trailer", "tail"),
    )

    def hide(self, data: bytes, variant: Variant, rng: Random) -> Hidden:
        shape = {
            "allocation_table": _allocation_table,
            "linked_pages": _linked_pages,
            "versions": _versions,
            "index_tree": _index_tree,
        }[variant.name]
        return shape(data, rng)


NUMBERS = r"""
# Numbers of four bytes at an offset of the store, one a line.
numbers() { od -An -v -tu4 --endian=ORDER -w4 -j "$1" -N "$((4 * $2))" "$IN/store.bin" | tr -d ' '; }
bytes() { dd if="$IN/store.bin" iflag=skip_bytes,count_bytes skip="$1" count="$2" bs=64K status=none; }
"""
LITTLE, BIG = NUMBERS.replace("ORDER", "little"), NUMBERS.replace("ORDER", "big")


def _paged(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def _scattered(count: int, of: int, rng: Random) -> list[int]:
    """So many different numbers below `of`, in an order that is not theirs."""
    while (found := rng.sample(range(of), count)) == sorted(found):
        pass
    return found


def _noise(data: bytes, size: int, rng: Random) -> bytes:
    """What a deleted record may hold: some piece of the file, backwards."""
    start = rng.randrange(max(1, len(data) - size))
    return data[start : start + size][::-1].ljust(size, b"\n")


def _allocation_table(data: bytes, rng: Random) -> Hidden:
    size = max(8, -(-len(data) // 20))
    used, free = _paged(data, size), rng.randint(4, 7)
    total = len(used) + free
    chain = _scattered(len(used), total, rng)
    table = [0] * total
    pages = [_noise(data, size, rng) for _ in range(total)]
    for at, (page, content) in enumerate(zip(chain, used, strict=True)):
        table[page] = chain[at + 1] if at + 1 < len(chain) else NONE
        pages[page] = content + pages[page][len(content) :]
    # A deleted file is still chained.
    deleted = [page for page in range(total) if page not in chain]
    for page, after in zip(deleted, [*deleted[1:], NONE], strict=True):
        table[page] = after
    header = pack("<4s4I", b"STOR", size, total, chain[0], len(data))
    return Hidden(
        files={"store.bin": header + pack(f"<{total}I", *table) + b"".join(pages)},
        how="""The file is kept in `store.bin`, a binary store of pages. Its numbers have four bytes,
least significant byte first. It starts with the letters `STOR` and four numbers: the size of a page, the
count of pages, the first page of the file, and the size of the file. Then comes the allocation table, a
number for each page from page 0: the page that follows it, or 4294967295 after the last one. Then come
the pages, from page 0. Pages of a deleted file are still there. Followed along the table, the pages are
the file; what fills the last one beyond the size of the file does not belong to it.""",
        restore=LITTLE
        + r"""
{ read -r size; read -r total; read -r page; read -r length; } <<< "$(numbers 4 4)"
mapfile -t table <<< "$(numbers 20 "$total")"
pages=$((20 + 4 * total))
while [ "$page" != 4294967295 ]; do
    bytes "$((pages + page * size))" "$size" >> "$WORK/chain"
    echo "$page" >> "$WORK/report"
    page=${table[page]}
done
head -c "$length" "$WORK/chain" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="the numbers of the pages of the file in the order they follow each other, one a line.",
        report="\n".join(str(page) for page in chain),
    )


def _linked_pages(data: bytes, rng: Random) -> Hidden:
    most = max(6, -(-len(data) // 14))
    contents, left = list[bytes](), data
    while left:
        take = rng.randint(max(1, most // 2), most)
        contents.append(left[:take])
        left = left[take:]
    spare = rng.randint(3, 6)
    places = _scattered(len(contents) + spare, len(contents) + spare, rng)
    live, free = places[spare:], places[:spare]
    size = most + 8
    pages = dict[int, bytes]()
    for at, page in enumerate(live):
        after = live[at + 1] + 1 if at + 1 < len(live) else 0
        pages[page] = pack(">2I", after, len(contents[at])) + contents[at]
    for at, page in enumerate(free):
        after, stale = free[at + 1] + 1 if at + 1 < spare else 0, _noise(data, most, rng)
        pages[page] = pack(">2I", after, len(stale)) + stale
    heads = sorted([live[0], free[0]])
    body = b"".join(pages[page].ljust(size, b"\0") for page in range(len(places)))
    return Hidden(
        files={"store.bin": pack(">4I", size, free[0] + 1, *(head + 1 for head in heads)) + body},
        how="""The file is kept in `store.bin`, a binary store of linked pages. Its numbers have four
bytes, most significant byte first. It starts with four numbers: the size of a page, the first page of
the free list, and the first pages of the two lists that there are. The pages follow; the first one is
page 1. A page starts with two numbers, the page after it in its list (0 at the end) and how many bytes
of content follow them; the rest of the page is padding. The list that is not the free list holds the
file, content after content.""",
        restore=BIG
        + r"""
{ read -r size; read -r free; read -r one; read -r other; } <<< "$(numbers 0 4)"
page=$one
[ "$page" != "$free" ] || page=$other
while [ "$page" != 0 ]; do
    at=$((16 + (page - 1) * size))
    { read -r after; read -r length; } <<< "$(numbers "$at" 2)"
    bytes "$((at + 8))" "$length" >> "$WORK/whole"
    echo "$page $length" >> "$WORK/report"
    page=$after
done
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""one line for each page of the file in the order of its list: its number, a space,
and how many bytes of content it has.""",
        report="\n".join(f"{page + 1} {len(contents[at])}" for at, page in enumerate(live)),
    )


def _versions(data: bytes, rng: Random) -> Hidden:
    values = _paged(data, max(4, -(-len(data) // 12)))
    keys = sorted(rng.sample(range(1000, 9000), len(values) + 3))
    dead = sorted(rng.sample(keys, 3))
    live = [key for key in keys if key not in dead]
    records = list[tuple[int, int, int, bytes]]()
    for key, value in zip(live, values, strict=True):
        version = rng.randint(1, 5)
        if rng.random() < 0.5 or key == live[0]:
            records.append((key, version, rng.choice((0, 1)), _noise(data, len(value), rng)))
            version += rng.randint(1, 9)
        records.append((key, version, 1, value))
    for key in dead:
        records.append((key, 1, 1, _noise(data, len(values[0]), rng)))
        records.append((key, rng.randint(2, 12), 0, b""))
    while [record[:2] for record in records] == sorted(record[:2] for record in records):
        rng.shuffle(records)
    blob = b"".join(
        pack("<4I", key, version, state, len(value)) + value for key, version, state, value in records
    )
    return Hidden(
        files={"store.bin": blob},
        how="""The file is kept in `store.bin`, a binary store of records that were written one after the
other, and never overwritten. Its numbers have four bytes, least significant byte first. A record starts
with four numbers: key, version, state and length; then its value follows, so many bytes as length says.
Of the records with the same key only the one with the highest version counts. State 1 means that the key
has this value, state 0 that it was deleted. The values of the keys that are not deleted, in order of the
keys, are the file.""",
        restore=LITTLE
        + r"""
at=0 end=$(wc -c < "$IN/store.bin")
while [ "$at" -lt "$end" ]; do
    echo "$at $(numbers "$at" 4 | paste -s -d' ')"
    at=$((at + 16 + $(numbers "$((at + 12))" 1)))
done > "$WORK/records"
sort -k2,2n -k3,3nr "$WORK/records" | awk '!seen[$2]++' > "$WORK/newest"
while read -r at key version state length; do
    if [ "$state" = 1 ]; then bytes "$((at + 16))" "$length" >> "$WORK/whole"
    else echo "$key $version" >> "$WORK/report"; fi
done < "$WORK/newest"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""one line for each key that was deleted, in order: the key, a space, and the version
that deleted it.""",
        report=_deleted(records),
    )


def _deleted(records: list[tuple[int, int, int, bytes]]) -> str:
    newest = {key: (version, state) for key, version, state, _ in sorted(records)}
    return "\n".join(f"{key} {version}" for key, (version, state) in sorted(newest.items()) if state == 0)


def _index_tree(data: bytes, rng: Random) -> Hidden:
    values = _paged(data, max(4, -(-len(data) // 18)))
    blob, places = b"HEAP", dict[int, tuple[int, int]]()
    for at in _scattered(len(values), len(values), rng):
        if rng.random() < 0.4:
            blob += _noise(data, rng.randint(3, len(values[0])), rng)
        places[at] = (len(blob), len(values[at]))
        blob += values[at]
    # The leaves come in no order either; only the root knows it.
    share = rng.randint(2, 4)
    leaves = [range(at, min(at + share, len(values))) for at in range(0, len(values), share)]
    starts = dict[int, int]()
    for leaf in rng.sample(range(len(leaves)), len(leaves)):
        starts[leaf] = len(blob)
        blob += pack(">I", len(leaves[leaf])) + b"".join(pack(">2I", *places[at]) for at in leaves[leaf])
    root = len(blob)
    blob += pack(f">{len(leaves) + 1}I", len(leaves), *(starts[leaf] for leaf in range(len(leaves))))
    return Hidden(
        files={"store.bin": blob + pack(">I", root)},
        how="""The file is kept in `store.bin`, a binary store that is read from its end. Its numbers
have four bytes, most significant byte first; offsets count from 0. The last number of the store is the
offset of the root node. The root node is a count and so many numbers, the offsets of the leaf nodes in
order. A leaf node is a count and then, so many times, two numbers: offset and length of a record. The
records, in this order, are the file; between them there are remains of deleted ones.""",
        restore=BIG
        + r"""
root=$(tail -c 4 "$IN/store.bin" | od -An -v -tu4 --endian=big | tr -d ' ')
for leaf in $(numbers "$((root + 4))" "$(numbers "$root" 1)"); do
    count=$(numbers "$leaf" 1) size=0
    while read -r offset && read -r length; do
        bytes "$offset" "$length" >> "$WORK/whole"
        size=$((size + length))
    done <<< "$(numbers "$((leaf + 4))" "$((2 * count))")"
    echo "$leaf $count $size"
done > "$WORK/report"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""one line for each leaf node in order: its offset, how many records it has, and how
many bytes these have together, one space between.""",
        report="\n".join(
            f"{starts[leaf]} {len(records)} {sum(places[at][1] for at in records)}"
            for leaf, records in enumerate(leaves)
        ),
    )


OPERATOR = RecordStore()
