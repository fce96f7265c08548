"""Scenario: an input is kept in replicas that disagree, and a rule says which of them is right where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import ClassVar

from agents.offline.operator import Hidden, Obstacle, Variant
from agents.plan import Direction

MAX_BLOCKS = 20


@dataclass(frozen=True)
class DisagreeingReplicas(Obstacle):
    name: ClassVar[str] = "disagreeing_replicas"
    direction: ClassVar[Direction] = Direction.SCENARIO
    tools: ClassVar[frozenset[str]] = frozenset("awk cat cut dd md5sum sha256sum sort tail uniq".split())
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("quorum", "replicas that disagree, each block decided by a majority of votes", "uniq"),
        Variant("vectors", "replicas that disagree, conflicts decided by version vectors", "awk"),
        Variant(
            "clocks",
            "replicas that disagree, decided by the latest write once skewed clocks are set right",
            "sort",
        ),
        Variant(
            "terms",
            "replicas that disagree, the leader elected by its last term and longest log",
            "sha256sum",
        ),
    )

    def hide(self, data: bytes, variant: Variant, rng: Random) -> Hidden:
        shape = {"quorum": _quorum, "vectors": _vectors, "clocks": _clocks, "terms": _terms}[variant.name]
        return shape(data, rng)


SITES = ("lima", "oslo", "pune", "quito", "riga")


def _blocks(data: bytes) -> tuple[int, list[bytes]]:
    size = max(4, -(-len(data) // MAX_BLOCKS))
    return size, [data[at : at + size] for at in range(0, len(data), size)]


def _other(block: bytes, mark: int) -> bytes:
    """Another state of a block, a different one for each mark from 1 to 255."""
    return bytes([block[0] ^ mark]) + block[1:]


def _lines(rows: Iterable[str]) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


def _quorum(data: bytes, rng: Random) -> Hidden:
    size, blocks = _blocks(data)
    marks = rng.sample(range(1, 256), len(SITES))
    copies = {site: list(blocks) for site in SITES}
    outvoted = dict.fromkeys(SITES, 0)
    for at, block in enumerate(blocks):
        # Of five, two at most are wrong; the first blocks see to it that each replica is wrong somewhere.
        wrong = rng.sample(SITES, rng.randint(0, 2)) if at >= 3 else SITES[2 * at : 2 * at + 2]
        alike = rng.random() < 0.5
        for site in wrong:
            copies[site][at] = _other(block, marks[0 if alike else SITES.index(site)])
            outvoted[site] += 1
    return Hidden(
        files={f"replica-{site}": b"".join(content) for site, content in copies.items()},
        how=f"""The file is kept in five replicas, `replica-NAME`, and none of them is right throughout.
They are compared block by block; a block has {size} bytes, the last one may be shorter. For each block,
what most of the five replicas hold (always three of them at least) is what the file has there.""",
        restore=f"size={size}"
        + r"""
cd "$IN"
: > "$WORK/whole"
: > "$WORK/outvoted"
blocks=$((($(wc -c < replica-lima) + size - 1) / size))
for ((at = 0; at < blocks; at++)); do
    for replica in replica-*; do
        dd if="$replica" of="$WORK/$replica" bs="$size" skip="$at" count=1 status=none
    done
    (cd "$WORK" && md5sum replica-*) > "$WORK/votes"
    sum=$(cut -d' ' -f1 "$WORK/votes" | sort | uniq -c | sort -n | tail -n 1 | awk '{ print $2 }')
    cat "$WORK/$(awk -v sum="$sum" '$1 == sum && !found++ { print $2 }' "$WORK/votes")" >> "$WORK/whole"
    awk -v sum="$sum" '$1 != sum { print $2 }' "$WORK/votes" >> "$WORK/outvoted"
done
cp "$WORK/whole" "$OUT"
sort "$WORK/outvoted" | uniq -c | awk '{ sub("replica-", ""); print $2, $1 }' > "$REPORT"
""",
        report_rule="""one line for each replica, sorted by name: the name without `replica-`, a space,
and in how many blocks it was outvoted.""",
        report="\n".join(f"{site} {outvoted[site]}" for site in SITES),
    )


def _objects(blocks: list[bytes], rng: Random) -> dict[tuple[int, str], str]:
    """A name for each state of each block: of four sites, some hold one of their own."""
    return {
        (at, site): f"objects/{rng.getrandbits(40):010x}" for at in range(len(blocks)) for site in SITES[:4]
    }


WINNERS = r"""
sort -k1,1n "$IN/versions" | awk '
    function descends(one, other,    mine, counts, part, n, at) {
        n = split(one, part, ",")
        for (at = 1; at <= n; at++) { split(part[at], counts, ":"); mine[counts[1]] = counts[2] }
        n = split(other, part, ",")
        for (at = 1; at <= n; at++) {
            split(part[at], counts, ":")
            if (mine[counts[1]] + 0 < counts[2] + 0) return 0
        }
        return 1
    }
    !($1 in vector) || descends($3, vector[$1]) { vector[$1] = $3; site[$1] = $2; object[$1] = $4 }
    $1 + 0 > last { last = $1 + 0 }
    END { for (at = 0; at <= last; at++) print at, site[at], object[at] }
' > "$WORK/winners"
while read -r number site object; do cat "$IN/objects/$object"; done < "$WORK/winners" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cut -d' ' -f1,2 "$WORK/winners" > "$REPORT"
"""


def _vectors(data: bytes, rng: Random) -> Hidden:
    _, blocks = _blocks(data)
    files, rows, report = dict[str, bytes](), list[str](), list[str]()
    idle = set[str]()
    marks, names = rng.sample(range(1, 256), len(SITES)), _objects(blocks, rng)
    for at, block in enumerate(blocks):
        winner, *others = rng.sample(SITES[:4], rng.randint(2, 4))
        top = [rng.randint(2, 9) for _ in range(4)]
        for site in (winner, *others):
            vector = list(top)
            if site != winner:  # never more than the winner's counter, and somewhere less
                for place in rng.sample(range(4), rng.randint(1, 3)):
                    vector[place] -= rng.randint(1, 2)
            name = names[at, site]
            files[name] = block if site == winner else _other(block, marks[SITES.index(site)])
            idle |= {name} if site != winner else set()
            counters = ",".join(
                f"{each}:{count}" for each, count in zip(SITES, vector, strict=False) if count
            )
            rows.append(f"{at} {site} {counters} {name.removeprefix('objects/')}")
        report.append(f"{at} {winner}")
    rng.shuffle(rows)
    return Hidden(
        files={"versions": _lines(rows), **files},
        how="""The file is kept in blocks by four sites that wrote to them apart, and the sites disagree.
`versions` has a line for each version of a block, in no order: the number of the block (from 0), the
site that holds this version, its version vector, and the name of the object in `objects/` that has its
bytes. A version vector has a counter for each site, `site:count` with commas between; a site that is not
there has 0. One version descends from another if none of its counters is lower. Of the versions of a
block, one descends from all the others: that one counts. The blocks in order of their numbers are the
file.""",
        restore=WINNERS,
        report_rule="""one line for each block in order: its number, a space, and the site that holds the
version that counts.""",
        report="\n".join(report),
        idle=frozenset(idle),
    )


def _clocks(data: bytes, rng: Random) -> Hidden:
    _, blocks = _blocks(data)
    skew = {site: rng.choice((-1, 1)) * rng.randint(40, 4000) for site in SITES[:4]}
    files, rows, report = dict[str, bytes](), list[str](), list[str]()
    idle = set[str]()
    marks, names = rng.sample(range(1, 256), len(SITES)), _objects(blocks, rng)
    for at, block in enumerate(blocks):
        writers = rng.sample(SITES[:4], rng.randint(2, 4))
        now = rng.randint(1_600_000_000, 1_700_000_000)
        for site in writers:
            now += rng.randint(1, 900)
            last = site == writers[-1]
            name = names[at, site]
            files[name] = block if last else _other(block, marks[SITES.index(site)])
            idle |= set() if last else {name}
            rows.append(f"{at} {site} {now + skew[site]} {name.removeprefix('objects/')}")
        report.append(f"{at} {writers[-1]} {now}")
    rng.shuffle(rows)
    ahead = [f"{site} {seconds:+d}" for site, seconds in skew.items()]
    return Hidden(
        files={"writes": _lines(rows), "clocks": _lines(ahead), **files},
        how="""The file is kept in blocks by four sites that wrote to them apart, and the sites disagree.
`writes` has a line for each write, in no order: the number of the block (from 0), the site that wrote
it, when that was by the site's own clock (in seconds since 1970), and the name of the object in
`objects/` that has the bytes. The clocks were wrong: `clocks` says by how many seconds each of them was
ahead of the right time (+) or behind it (-). Of the writes of a block the latest one, by the right time,
counts. The blocks in order of their numbers are the file.""",
        restore=r"""
awk 'NR == FNR { ahead[$1] = $2; next } { printf "%d %s %.0f %s\n", $1, $2, $3 - ahead[$2], $4 }' \
    "$IN/clocks" "$IN/writes" | sort -k1,1n -k3,3nr | awk '!seen[$1]++' > "$WORK/latest"
while read -r number site time object; do cat "$IN/objects/$object"; done < "$WORK/latest" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cut -d' ' -f1-3 "$WORK/latest" > "$REPORT"
""",
        report_rule="""one line for each block in order: its number, the site of the write that counts,
and when that was by the right time (in seconds since 1970), one space between.""",
        report="\n".join(report),
        idle=frozenset(idle),
    )


Entry = tuple[int, bytes]


def _logs(blocks: list[bytes], rng: Random) -> list[list[Entry]]:
    """Five logs of terms and bytes, the leader's first; the others end sooner, or go on in an older term."""
    last, early = rng.randint(7, 12), len(blocks) // 3
    late = rng.randint(early + 1, len(blocks) - 4)
    terms = [1 if at < early else last - 3 if at < late else last for at in range(len(blocks))]
    leader = list(zip(terms, blocks, strict=True))

    def strayed(common: int, more: int, mark: int) -> list[Entry]:
        own = [(last - 2, _other(blocks[at % len(blocks)], mark)) for at in range(common, common + more)]
        return leader[:common] + own

    marks = rng.sample(range(1, 256), 2)
    return [
        leader,
        leader[: -rng.randint(1, 2)],
        leader[: rng.randint(early, late)],
        strayed(late, len(blocks) - late + rng.randint(1, 3), marks[0]),
        strayed(rng.randint(early, late), rng.randint(2, 4), marks[1]),
    ]


def _terms(data: bytes, rng: Random) -> Hidden:
    logs = dict(zip(rng.sample(SITES, 5), _logs(_blocks(data)[1], rng), strict=True))
    leader = next(iter(logs.values()))
    entries = {entry: f"entries/{rng.getrandbits(40):010x}" for log in logs.values() for _, entry in log}
    kept = {entry for _, entry in leader}
    report = []
    for site, log in sorted(logs.items()):
        same = next((at for at, pair in enumerate(log) if [pair] != leader[at : at + 1]), len(log))
        report.append(f"{site} leads" if log is leader else f"{site} {same + 1}")
    return Hidden(
        files={
            **{
                f"log-{site}": _lines(
                    f"{at} {term} {sha256(entry).hexdigest()}"
                    for at, (term, entry) in enumerate(log, start=1)
                )
                for site, log in logs.items()
            },
            **{name: entry for entry, name in entries.items()},
        },
        how="""The file is kept as a log of entries by five sites, and their logs disagree. Each line of
`log-NAME` is an entry of the log of that site: its number (from 1), the term in which it was written,
and the SHA-256 of its bytes. The bytes themselves are in `entries/`, under names that say nothing. The
leader is the site whose last entry has the highest term; of several such sites, the one with the longest
log. The entries of the leader, in order, are the file.""",
        restore=r"""
cd "$IN"
sha256sum entries/* > "$WORK/sums"
for log in log-*; do
    tail -n 1 "$log" | awk -v log_name="$log" '{ print $2, $1, log_name }'
done | sort -k1,1n -k2,2n > "$WORK/sites"
leader=$(tail -n 1 "$WORK/sites" | cut -d' ' -f3)
awk 'NR == FNR { name[$1] = $2; next } { print name[$3] }' "$WORK/sums" "$leader" > "$WORK/entries"
while read -r entry; do cat "$entry"; done < "$WORK/entries" > "$WORK/whole"
for log in log-*; do
    [ "$log" != "$leader" ] || { echo "${log#log-} leads"; continue; }
    awk 'NR == FNR { line[NR] = $0; next } $0 != line[FNR] && !differs { differs = FNR }
        END { print differs ? differs : FNR + 1 }' "$leader" "$log" > "$WORK/differs"
    echo "${log#log-} $(cat "$WORK/differs")"
done > "$WORK/report"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""one line for each site, sorted by name: the name, a space, and `leads` for the
leader, or else the number of the first entry that its log lacks or has otherwise (in any column) than
the leader's.""",
        report="\n".join(report),
        idle=frozenset(name for entry, name in entries.items() if entry not in kept),
    )


OPERATOR = DisagreeingReplicas()
