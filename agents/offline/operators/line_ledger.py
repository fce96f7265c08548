"""Length: after an output, a ledger of its lines as delivered settings ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar

from agents.offline.operator import Dependent, Derived, Subject, Variant

SETTINGS = """
# The settings: `name value`, comments start with #.
setting() { awk -v name="$1" '$1 == name { print $2 }' "$IN/settings"; }
"""
SAME = '\ncmp -s "$WORK/expected" "$OUT" || fail "$OUT does not fit $SRC, or is not laid out as asked"'


@dataclass(frozen=True)
class LineLedger(Dependent):
    name: ClassVar[str] = "line_ledger"
    suffix: ClassVar[str] = "ledger"
    scenario: ClassVar[str] = "finished output to be accounted for line by line"
    tools: ClassVar[frozenset[str]] = frozenset(
        "awk cmp cut grep head numfmt sed sha256sum sort split tail tr uniq".split()
    )
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("offsets", "index the byte offsets of lines", "awk"),
        Variant("words", "rank words by frequency under settings", "tr"),
        Variant("blocks", "checksum blocks of lines in a running chain", "split"),
        Variant("lengths", "bin line lengths into a histogram", "numfmt"),
    )

    def derive(self, subject: Subject, variant: Variant, rng: Random) -> Derived:
        shape = {"offsets": _offsets, "words": _words, "blocks": _blocks, "lengths": _lengths}[variant.name]
        settings, how, write, check = shape(rng)
        lines = [f"{name} {value}" for name, value in settings.items()]
        text = (
            "\n".join(("# settings of this ledger", "# (name, one space, value)", *lines, "end of settings"))
            + "\n"
        )
        source = (
            f"The ledger is made from `{subject.path}`, as `settings` in the folder of this note's name "
            f"asks for it.\n"
        )
        return Derived(
            how=source
            + "A line ends with a newline; where the last one has none, it counts as if it had.\n\n"
            + how.strip(),
            write=SETTINGS.strip()
            + '\n# Every line ends with a newline from here on.\nsed -e \'$a\\\' "$SRC" > "$WORK/lines"\n'
            + write.strip(),
            check='awk 1 "$SRC" > "$WORK/lines"\n' + check.strip() + SAME,
            files={"settings": text.encode()},
        )


Shape = tuple[dict[str, int], str, str, str]


def _offsets(rng: Random) -> Shape:
    every, first = rng.randint(2, 4), rng.randint(1, 2)
    return (
        {"first": first, "every": every},
        """For line number `first` (from 1) and each `every`-th line after it: `N OFFSET BYTES`, where
OFFSET is where the line starts, in bytes from 0, and BYTES its length without the newline. A last line
`total LINES BYTES` has the number of all lines and their bytes, newlines included.""",
        """
awk -v first="$(setting first)" -v every="$(setting every)" '
    NR >= first && (NR - first) % every == 0 { print NR, offset + 0, length($0) }
    { offset += length($0) + 1 }
    END { print "total", NR, offset + 0 }
' "$WORK/lines" > "$OUT"
""",
        f"""
number=0 offset=0
while IFS= read -r line; do
    number=$((number + 1))
    if [ "$number" -ge {first} ] && [ $(((number - {first}) % {every})) -eq 0 ]; then
        echo "$number $offset ${{#line}}"
    fi
    offset=$((offset + ${{#line}} + 1))
done < "$WORK/lines" > "$WORK/expected"
echo "total $(wc -l < "$WORK/lines") $(wc -c < "$WORK/lines")" >> "$WORK/expected"
""",
    )


def _words(rng: Random) -> Shape:
    least, top = rng.randint(1, 3), rng.randint(5, 12)
    return (
        {"least": least, "top": top},
        """A word is a longest run of ASCII letters and digits; capital letters count as small ones. Of
the words of at least `least` characters the `top` most frequent (all, if there are fewer): `COUNT WORD`
one a line, most frequent first, equal counts by the byte value of the word. A last line `distinct N`
has the number of different words of that least length.""",
        """
tr A-Z a-z < "$WORK/lines" | tr -cs 'a-z0-9' '\\n' > "$WORK/words"
least=$(setting least) top=$(setting top)
awk -v least="$least" 'length($0) >= least { count[$0]++ } END { for (w in count) print count[w], w }' \\
    "$WORK/words" | sort -k1,1nr -k2,2 > "$WORK/ranked"
head -n "$top" "$WORK/ranked" > "$WORK/ledger"
echo "distinct $(wc -l < "$WORK/ranked")" >> "$WORK/ledger"
cp "$WORK/ledger" "$OUT"
""",
        f"""
tr -c 'A-Za-z0-9' '\\n' < "$WORK/lines" | tr 'A-Z' 'a-z' > "$WORK/words"
grep -E '^.{{{least},}}$' "$WORK/words" | sort | uniq -c > "$WORK/counts"
sort -k1,1nr -k2,2 "$WORK/counts" | awk 'NR <= {top} {{ print $1 " " $2 }}' > "$WORK/expected"
echo "distinct $(wc -l < "$WORK/counts")" >> "$WORK/expected"
""",
    )


def _blocks(rng: Random) -> Shape:
    size = rng.randint(2, 5)
    return (
        {"block": size, "digits": 24},
        """The lines are taken in blocks of `block` lines (the last one may have fewer). Each block gets
`FROM-TO CHAIN`: the numbers of its first and last line, from 1, and the first `digits` hex digits of a
SHA-256. That SHA-256 is of the CHAIN of the block before, as printed (nothing for the first block),
followed by the block's lines with their newlines.""",
        """
block=$(setting block) digits=$(setting digits)
split -l "$block" -a 6 "$WORK/lines" "$WORK/block."
chain="" from=1
for file in "$WORK"/block.*; do
    to=$((from + $(wc -l < "$file") - 1))
    chain=$({ printf '%s' "$chain"; cat "$file"; } | sha256sum | cut -c1-"$digits")
    echo "$from-$to $chain"
    from=$((to + 1))
done > "$WORK/ledger"
cp "$WORK/ledger" "$OUT"
""",
        f"""
total=$(wc -l < "$WORK/lines")
: > "$WORK/chain"
for ((from = 1; from <= total; from += {size})); do
    to=$((from + {size} - 1))
    [ "$to" -le "$total" ] || to=$total
    sed -n "${{from}},${{to}}p" "$WORK/lines" > "$WORK/block"
    cat "$WORK/chain" "$WORK/block" | sha256sum | head -c 24 > "$WORK/next"
    mv "$WORK/next" "$WORK/chain"
    echo "$from-$to $(cat "$WORK/chain")"
done > "$WORK/expected"
""",
    )


def _lengths(rng: Random) -> Shape:
    width, pad = rng.randint(3, 9), rng.randint(4, 8)
    return (
        {"width": width, "pad": pad},
        """The lengths of the lines in bytes, without newlines, in bins of `width`: bin K holds lengths
from K × `width` up to, but not with, (K + 1) × `width`. For each bin that is not empty, in order: its
lower bound, padded on the left with zeros to `pad` digits, a space, and the number of its lines. A last
line `longest N` has the length of the longest line.""",
        """
width=$(setting width) pad=$(setting pad)
awk '{ print length($0) }' "$WORK/lines" | sort -n > "$WORK/lengths"
awk -v width="$width" '{ print int($1 / width) * width }' "$WORK/lengths" | uniq -c > "$WORK/bins"
while read -r count bound; do
    echo "$(numfmt --format="%0${pad}f" "$bound") $count"
done < "$WORK/bins" > "$WORK/ledger"
echo "longest $(tail -n 1 "$WORK/lengths")" >> "$WORK/ledger"
cp "$WORK/ledger" "$OUT"
""",
        f"""
awk '
    {{
        bin = int(length($0) / {width})
        count[bin]++
        if (bin > most) most = bin
        if (length($0) > longest) longest = length($0)
    }}
    END {{
        for (bin = 0; bin <= most; bin++) if (bin in count) printf "%0{pad}d %d\\n", bin * {width}, count[bin]
        print "longest " (longest + 0)
    }}
' "$WORK/lines" > "$WORK/expected"
""",
    )


OPERATOR = LineLedger()
