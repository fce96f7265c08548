"""Skill: the lines of an input have to be put back in order."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar

from agents.offline.operator import Hidden, Obstacle, Variant
from agents.plan import Direction


@dataclass(frozen=True)
class ReorderedLines(Obstacle):
    name: ClassVar[str] = "reordered_lines"
    direction: ClassVar[Direction] = Direction.SKILL
    text_only: ClassVar[bool] = True
    tools: ClassVar[frozenset[str]] = frozenset(
        "awk csplit cut grep head join paste sha256sum sort tail tsort".split()
    )
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("precedence", "order lines by a precedence relation", "tsort"),
        Variant("pages", "cut a print-out into pages and order them", "csplit"),
        Variant("dictionary", "join codes with a dictionary of lines", "join"),
        Variant("dealt", "interleave lines that were dealt into several files", "paste"),
    )

    def hide(self, data: bytes, variant: Variant, rng: Random) -> Hidden:
        shape = {
            "precedence": _precedence,
            "pages": _pages,
            "dictionary": _dictionary,
            "dealt": _dealt,
        }[variant.name]
        return shape(data.splitlines(keepends=True), rng)


def _groups(lines: list[bytes], rng: Random, least: int, most: int) -> list[list[bytes]]:
    count = min(rng.randint(least, most), len(lines))
    cuts = sorted(rng.sample(range(1, len(lines)), count - 1))
    return [lines[start:end] for start, end in zip([0, *cuts], [*cuts, len(lines)], strict=True)]


def _ids(count: int, rng: Random) -> list[str]:
    return [f"{number:06x}" for number in rng.sample(range(1 << 24), count)]


def _precedence(lines: list[bytes], rng: Random) -> Hidden:
    groups = _groups(lines, rng, 6, 24)
    ids = _ids(len(groups), rng)
    rows = [
        b"%s\t%s" % (name.encode(), line) for name, group in zip(ids, groups, strict=True) for line in group
    ]
    # Lines of one group keep their order among themselves; everything else is shuffled by group.
    order = sorted(ids)
    tagged = sorted(rows, key=lambda row: order.index(row.split(b"\t", 1)[0].decode()))
    relation = [f"{one} {two}" for one, two in zip(ids, ids[1:], strict=False)]
    rng.shuffle(relation)
    return Hidden(
        files={"lines.tsv": b"".join(tagged), "before.txt": ("\n".join(relation) + "\n").encode()},
        how="""Each line of `lines.tsv` is a group's id, a tab, and a line of the file; lines of one
group are in the right order. The groups are not: `before.txt` has a row `A B` wherever group A comes
directly before group B.""",
        restore=r"""
tsort "$IN/before.txt" > "$WORK/order"
while read -r id; do
    grep -a "^$id$(printf '\t')" "$IN/lines.tsv" | cut -f2-
done < "$WORK/order" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
cp "$WORK/order" "$REPORT"
""",
        report_rule="the ids of the groups in the right order, one a line.",
        report="\n".join(ids),
    )


def _pages(lines: list[bytes], rng: Random) -> Hidden:
    groups = _groups(lines, rng, 4, 12)
    mark = f"%%{rng.getrandbits(32):08x}"
    pages = [
        f"{mark} page {number}\n".encode() + b"".join(group) for number, group in enumerate(groups, start=1)
    ]
    rng.shuffle(pages)
    return Hidden(
        files={"print-out.txt": b"".join(pages)},
        how=f"""`print-out.txt` holds the pages of the file in the wrong order. Each page starts with a
line `{mark} page N`, which does not belong to the file. Joined in order of N, without these lines, the
pages are the file.""",
        restore=f"""
mark='{mark}'
"""
        + r"""
csplit -s -z -n 4 -f "$WORK/page." "$IN/print-out.txt" "/^$mark page /" '{*}'
for page in "$WORK"/page.*; do
    echo "$(head -n 1 "$page" | awk '{ print $3 }') $page"
done | sort -n > "$WORK/order"
: > "$WORK/whole"
while read -r number page; do
    tail -n +2 "$page" >> "$WORK/whole"
    echo "$number $(($(wc -l < "$page") - 1))"
done < "$WORK/order" > "$WORK/report"
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule=(
            "one line for each page in order: its number, a space, and how many lines of the file are on it."
        ),
        report="\n".join(f"{number} {len(group)}" for number, group in enumerate(groups, start=1)),
    )


def _dictionary(lines: list[bytes], rng: Random) -> Hidden:
    known = list(dict.fromkeys(lines))
    ids = _ids(len(known) + 3, rng)
    code = dict(zip(known, ids, strict=False))
    unused = ids[len(known) :]
    rows = [b"%s\t%s" % (name.encode(), line) for line, name in code.items()]
    rows += [b"%s\t%s" % (name.encode(), rng.choice(known)) for name in unused]
    rng.shuffle(rows)
    index = [f"{number} {code[line]}" for number, line in enumerate(lines, start=1)]
    rng.shuffle(index)
    return Hidden(
        files={"dictionary.tsv": b"".join(rows), "index.txt": ("\n".join(index) + "\n").encode()},
        how="""`index.txt` has a row `N CODE` for each line of the file, in no order; `dictionary.tsv`
has for each CODE the line, after a tab. Some codes of the dictionary are not used.""",
        restore=r"""
tab=$(printf '\t')
sort -t "$tab" -k1,1 "$IN/dictionary.tsv" > "$WORK/dictionary"
awk '{ print $2 "\t" $1 }' "$IN/index.txt" | sort -t "$tab" -k1,1 > "$WORK/index"
# The line itself may hold tabs, so only its code is a field here.
cut -f1 "$WORK/dictionary" > "$WORK/codes"
join -t "$tab" "$WORK/index" "$WORK/dictionary" | sort -t "$tab" -k2,2n | cut -f3- > "$WORK/whole"
cp "$WORK/whole" "$OUT"
join -v 1 -t "$tab" "$WORK/codes" "$WORK/index" > "$WORK/report"
cp "$WORK/report" "$REPORT"
""",
        report_rule="the codes that are not used, sorted, one a line.",
        report="\n".join(sorted(unused)),
    )


def _dealt(lines: list[bytes], rng: Random) -> Hidden:
    hands = min(rng.randint(3, 5), len(lines))
    names = [f"{name}.hand" for name in _ids(hands, rng)]
    files = {name: b"".join(lines[at::hands]) for at, name in enumerate(names)}
    return Hidden(
        files={**files, "order.txt": ("\n".join(names) + "\n").encode()},
        how="""The lines of the file were dealt in turn, like cards, into the files that `order.txt`
names, in that order: the first line into the first file, the second into the second, and round again.""",
        restore=r"""
cd "$IN"
mapfile -t hands < order.txt
total=$(cat "${hands[@]}" | wc -l)
# Shorter hands give empty lines in the last round, after everything else.
paste -d '\n' "${hands[@]}" > "$WORK/rounds"
head -n "$total" "$WORK/rounds" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
for hand in "${hands[@]}"; do echo "$hand $(wc -l < "$hand")"; done > "$WORK/report"
cp "$WORK/report" "$REPORT"
""",
        report_rule="one line for each file in that order: its name, a space, and its number of lines.",
        report="\n".join(f"{name} {files[name].count(bytes([10]))}" for name in names),
    )


OPERATOR = ReorderedLines()
