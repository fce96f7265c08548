"""Length: after an output, its lines in several files by a rule, with a catalogue of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random
from typing import ClassVar

from agents.offline.operator import Dependent, Derived, Part, Site, Subject, Variant

PLACE = "PLACE-OF-THE-PARTS"
READ = r"""
PARTS=${OUT%.catalogue}.parts
setting() { awk -v name="$1" '$1 == name { print $2 }' "$IN/settings"; }
# Every line ends with a newline from here on.
sed -e '$a\' "$SRC" > "$WORK/lines"
mkdir -p "$PARTS"
"""
OPENED = """
PARTS=${OUT%.catalogue}.parts
mkdir "$WORK/parts"
awk 1 "$SRC" > "$WORK/lines"
"""
SAME = """
[ -d "$PARTS" ] && [ ! -L "$PARTS" ] || fail "the folder $PARTS is missing"
[ "$(ls -A "$PARTS")" = "$(ls -A "$WORK/parts")" ] || fail "$PARTS has not just the files that are asked for"
for part in "$WORK"/parts/*; do
    name=${part##*/}
    [ -f "$PARTS/$name" ] && [ ! -L "$PARTS/$name" ] || fail "$PARTS/$name is no regular file"
    cmp -s "$part" "$PARTS/$name" || fail "$PARTS/$name does not hold what is asked for"
done
cmp -s "$WORK/expected" "$OUT" || fail "$OUT does not fit the parts, or is not laid out as asked"
"""


@dataclass(frozen=True)
class PartitionDelivery(Dependent):
    name: ClassVar[str] = "partition_delivery"
    suffix: ClassVar[str] = "catalogue"
    scenario: ClassVar[str] = "finished output to be delivered in several files by a rule, with a catalogue"
    tools: ClassVar[frozenset[str]] = frozenset(
        "awk cmp cut grep head ls sed seq sha256sum sort split tail tr".split()
    )
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("volumes", "split lines into even volumes with a head line", "split"),
        Variant("rules", "part lines by the first pattern that fits", "grep"),
        Variant("dealt", "deal lines to files in turn", "sed"),
        Variant("balanced", "balance lines over files by their bytes", "awk"),
    )

    def derive(self, subject: Subject, variant: Variant, rng: Random) -> Derived:
        shape = {"volumes": _volumes, "rules": _rules, "dealt": _dealt, "balanced": _balanced}[variant.name]
        settings, how, write, check = shape(rng)
        text = "\n".join(
            ("# settings of this delivery", "# (name, one space, value)", *settings, "")
        ).encode()
        return Derived(
            how=f"""The lines of `{subject.path}` are to be delivered in several files, the parts, in the
folder `{PLACE}`; make it. It holds the parts and nothing else, all of them regular files, and the file
that is asked for below is their catalogue. `settings` in the folder of this note's name is part of the
rule; lines that start with # are comments. A line ends with a newline; where the last one has none, it
counts as if it had. Lines keep their order.

{how.strip()}""",
            write=READ.strip() + "\n" + write.strip(),
            check=OPENED.strip() + "\n" + check.strip() + SAME,
            files={"settings": text},
        )

    def make(self, subject: Subject, variant: Variant, site: Site, rng: Random) -> Part:
        part = super().make(subject, variant, site, rng)
        parts = f"{site.folder}.parts"
        return replace(part, note=part.note.replace(PLACE, parts), artifacts=(*part.artifacts, parts))


Shape = tuple[Iterable[str], str, str, str]


def _volumes(rng: Random) -> Shape:
    most, word = rng.randint(4, 8), rng.choice(("volume", "book", "sheet", "reel"))
    return (
        (f"most {most}", f"word {word}"),
        """Where the file has T lines, each part takes P lines, the quotient of T by `most`, rounded up;
the last part may have fewer. The parts are `WORD-K.txt`, where WORD is the setting `word` and K counts
from 1. Before its lines each part has a head line `WORD K of N: A-B`, where N is the number of parts and
A and B are the numbers (from 1) of its first and its last line in the file. The catalogue has a line for
each part in order of K, `NAME LINES BYTES`: its name without folder, and how many lines and bytes it
has, the head line not counted.""",
        r"""
most=$(setting most) word=$(setting word) total=$(wc -l < "$WORK/lines")
size=$(((total + most - 1) / most))
mkdir "$WORK/bodies"
split -l "$size" -d -a 3 "$WORK/lines" "$WORK/bodies/"
count=$(ls "$WORK/bodies" | wc -l)
number=0 from=1
for body in "$WORK"/bodies/*; do
    number=$((number + 1)) lines=$(wc -l < "$body")
    echo "$word $number of $count: $from-$((from + lines - 1))" | cat - "$body" > "$PARTS/$word-$number.txt"
    echo "$word-$number.txt $lines $(wc -c < "$body")"
    from=$((from + lines))
done > "$WORK/catalogue"
cp "$WORK/catalogue" "$OUT"
""",
        f"""
total=$(awk 'END {{ print NR }}' "$WORK/lines")
size=$(((total + {most} - 1) / {most}))
count=$(((total + size - 1) / size))
for number in $(seq "$count"); do
    from=$(((number - 1) * size + 1)) to=$((number * size))
    [ "$to" -le "$total" ] || to=$total
    tail -n "+$from" "$WORK/lines" | head -n "$((to - from + 1))" > "$WORK/body"
    echo "{word} $number of $count: $from-$to" | cat - "$WORK/body" > "$WORK/parts/{word}-$number.txt"
    echo "{word}-$number.txt $((to - from + 1)) $(wc -c < "$WORK/body")"
done > "$WORK/expected"
""",
    )


PATTERNS = (
    "^[0-9]",
    "[0-9]$",
    "[A-Z]",
    ",[0-9]",
    "[aeiou][aeiou]",
    "00",
    "[a-z]-",
    "[02468]$",
    "e",
    ":",
    "_",
)


FIRST_RULE = r"""
grep -v '^#' "$IN/settings" > "$WORK/rules"
echo "rest ^" >> "$WORK/rules"
while read -r name pattern; do
    : > "$PARTS/$name.txt"
    { grep -a -n -e "$pattern" "$WORK/lines" || true; } | cut -d: -f1 | sed "s/$/ $name/"
done < "$WORK/rules" > "$WORK/fits"
# The first rule that fits a line stands first among those of its number.
sort -s -k1,1n "$WORK/fits" | awk '!seen[$1]++' > "$WORK/places"
awk -v parts="$PARTS" 'NR == FNR { part[$1] = $2; next } { print > (parts "/" part[FNR] ".txt") }' \
    "$WORK/places" "$WORK/lines"
awk '
    NR == FNR { if (!count[$2]++) first[$2] = $1; last[$2] = $1; next }
    $1 in first { print $1, count[$1], first[$1], last[$1]; next }
    { print $1, 0, "-", "-" }
' "$WORK/places" "$WORK/rules" > "$WORK/catalogue"
cp "$WORK/catalogue" "$OUT"
"""


def _rules(rng: Random) -> Shape:
    patterns = rng.sample(PATTERNS, 5)
    names = [f"{rng.getrandbits(20):05x}" for _ in patterns]
    rules = [f"{name} {pattern}" for name, pattern in zip(names, patterns, strict=True)]
    return (
        rules,
        """The settings are rules: a name, a space, and a basic regular expression as `grep` reads it
with `LC_ALL=C`. Each line of the file goes to the part of the first rule, in the order of `settings`,
whose expression matches it, and to the part `rest` if none does. The parts are `NAME.txt`, one for each
rule, and `rest.txt`; a part that gets no line is an empty file. The catalogue has a line for each part
in the order of the rules, `rest` last: `NAME LINES FIRST LAST`, its name without `.txt`, how many lines
it has, and the numbers (from 1) of its first and its last line in the file; `NAME 0 - -` for an empty
one.""",
        FIRST_RULE,
        "cat > \"$WORK/rules\" <<'END_OF_RULES'\n"
        + "\n".join(rules)
        + "\nEND_OF_RULES\n"
        + r"""
cat -n "$WORK/lines" | tr '\t' ' ' | sed 's/^ *\([0-9]*\) /\1 /' > "$WORK/left"
while read -r name pattern; do
    # A line without its number decides; what does not fit is left for the next rule.
    awk -v pattern="$pattern" '
        { text = substr($0, index($0, " ") + 1) }
        text ~ pattern { print > fit; next }
        { print > left }
    ' fit="$WORK/fit" left="$WORK/next" "$WORK/left"
    : >> "$WORK/fit"; : >> "$WORK/next"
    mv "$WORK/fit" "$WORK/fit.$name"; mv "$WORK/next" "$WORK/left"
done < "$WORK/rules"
mv "$WORK/left" "$WORK/fit.rest"
for name in $(cut -d' ' -f1 "$WORK/rules") rest; do
    cut -d' ' -f1 "$WORK/fit.$name" > "$WORK/numbers"
    : > "$WORK/parts/$name.txt"
    awk 'NR == FNR { mine[$1]; next } FNR in mine' "$WORK/numbers" "$WORK/lines" > "$WORK/parts/$name.txt"
    [ -s "$WORK/numbers" ] || { echo "$name 0 - -"; continue; }
    echo "$name $(wc -l < "$WORK/numbers") $(head -n 1 "$WORK/numbers") $(tail -n 1 "$WORK/numbers")"
done > "$WORK/expected"
""",
    )


def _dealt(rng: Random) -> Shape:
    files = rng.randint(3, 6)
    first = rng.randint(2, files)
    return (
        (f"files {files}", f"first {first}"),
        """There are as many parts as the setting `files` says: `hand-K.txt`, where K counts from 1. The
lines are dealt to them in turn, one by one: the first line to the part whose K is the setting `first`,
the next one to the part after it, and after the last part it goes on with the first. A part that gets no
line is an empty file. The catalogue has a line for each part in order of K, `SUM LINES NAME`: the first
sixteen hexadecimal digits of the SHA-256 of the part, how many lines it has, and its name without
folder.""",
        r"""
files=$(setting files) first=$(setting first)
for ((part = 1; part <= files; part++)); do
    line=$(((part - first + files) % files + 1))
    sed -n "$line~${files}p" "$WORK/lines" > "$PARTS/hand-$part.txt"
    sum=$(sha256sum < "$PARTS/hand-$part.txt" | cut -c1-16)
    echo "$sum $(wc -l < "$PARTS/hand-$part.txt") hand-$part.txt"
done > "$WORK/catalogue"
cp "$WORK/catalogue" "$OUT"
""",
        f"""
for part in $(seq {files}); do : > "$WORK/parts/hand-$part.txt"; done
awk -v parts="$WORK/parts" '{{
    print > (parts "/hand-" ((NR - 1 + {first} - 1) % {files} + 1) ".txt")
}}' "$WORK/lines"
for part in $(seq {files}); do
    name=hand-$part.txt
    echo "$(sha256sum < "$WORK/parts/$name" | head -c 16) $(wc -l < "$WORK/parts/$name") $name"
done > "$WORK/expected"
""",
    )


LEAST_LOADED = r"""
files=$(setting files) start=$(setting start)
for ((part = 1; part <= files; part++)); do : > "$PARTS/load-$part.txt"; done
awk -v files="$files" -v start="$start" -v parts="$PARTS" '
    BEGIN { load[1] = start }
    {
        least = 1
        for (part = 2; part <= files; part++) if (load[part] + 0 < load[least] + 0) least = part
        load[least] += length($0) + 1
        lines[least]++
        if (length($0) > longest[least]) longest[least] = length($0)
        print > (parts "/load-" least ".txt")
    }
    END {
        load[1] -= start
        for (part = 1; part <= files; part++)
            printf "%d %d %d %d\n", part, lines[part], load[part], longest[part]
    }
' "$WORK/lines" > "$WORK/table"
sort -k3,3nr -k1,1n "$WORK/table" > "$OUT"
"""


def _balanced(rng: Random) -> Shape:
    files, start = rng.randint(3, 6), rng.randint(1, 9) * 10
    return (
        (f"files {files}", f"start {start}"),
        """There are as many parts as the setting `files` says: `load-K.txt`, where K counts from 1. The
lines are given out one by one, each to the part that has the fewest bytes so far, newlines included; of
several such parts, to the one with the lowest K. Part 1 counts from the start as if it had `start` bytes
more than it has. A part that gets no line is an empty file. The catalogue has a line for each part,
`K LINES BYTES LONGEST`: how many lines and bytes it has, and the length of its longest line in bytes
without the newline (0 for an empty part). These lines are in descending order of BYTES, equal ones in
ascending order of K.""",
        LEAST_LOADED,
        f"""
files={files} start={start}
"""
        + r"""
load=() lines=() longest=()
for part in $(seq "$files"); do load[part]=0 lines[part]=0 longest[part]=0; done
load[1]=$start
while IFS= read -r line; do
    least=1
    for ((part = 2; part <= files; part++)); do
        [ "${load[part]}" -ge "${load[least]}" ] || least=$part
    done
    load[least]=$((load[least] + ${#line} + 1)) lines[least]=$((lines[least] + 1))
    [ "${#line}" -le "${longest[least]}" ] || longest[least]=${#line}
    echo "$least"
done < "$WORK/lines" > "$WORK/given"
load[1]=$((load[1] - start))
for part in $(seq "$files"); do
    awk -v part="$part" 'NR == FNR { given[FNR] = $1; next } given[FNR] == part' \
        "$WORK/given" "$WORK/lines" > "$WORK/parts/load-$part.txt"
    echo "$part ${lines[part]} ${load[part]} ${longest[part]}"
done | sort -k3,3nr -k1,1n > "$WORK/expected"
""",
    )


OPERATOR = PartitionDelivery()
