"""Length: after an output, a report that is brought up to date batch by batch."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar

from agents.offline.operator import Dependent, Derived, Subject, Variant

BATCHES = """
The report goes through `{source}` in batches of lines; a line ends with a newline, and where the last one has
none, it counts as if it had. `batches` in the folder of this note's name has a row `NAME PERCENT` for each
batch, in order; rows that start with # are comments. With N lines in all, a batch ends with the line whose
number is N × PERCENT / 100, rounded up, and starts behind the end of the batch before it; in a short output
one can be empty.
"""
TAKE = """
sed -e '$a\\' "$SRC" > "$WORK/lines"
total=$(wc -l < "$WORK/lines")
grep -v '^#' "$IN/batches" > "$WORK/batches"
# Leaves the next batch in "$WORK/batch".
from=0
take() {
    local to=$((($1 * total + 99) / 100))
    tail -n "+$((from + 1))" "$WORK/lines" > "$WORK/rest"
    head -n "$((to - from))" "$WORK/rest" > "$WORK/batch"
    from=$to
}
"""
AGAIN = """
cat > "$WORK/batches" <<'END_OF_BATCHES'
{rows}
END_OF_BATCHES
awk 1 "$SRC" > "$WORK/lines"
total=$(awk 'END {{ print NR }}' "$WORK/lines")
while read -r name percent; do
    echo "$name $(((percent * total + 99) / 100))"
done < "$WORK/batches" > "$WORK/ends"
"""
SAME = """
[ "$(sha256sum < "$OUT")" = "$(sha256sum < "$WORK/expected")" ] ||
    fail "$OUT does not fit $SRC, or is not laid out as asked"
"""
Shape = tuple[str, str, str]


@dataclass(frozen=True)
class IncrementalReport(Dependent):
    name: ClassVar[str] = "incremental_report"
    suffix: ClassVar[str] = "progress"
    scenario: ClassVar[str] = "finished output to be reported on batch by batch"
    tools: ClassVar[frozenset[str]] = frozenset(
        "awk comm cut grep head od sed sha256sum sort sum tac tail uniq".split()
    )
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("fresh", "tell new lines from known ones batch by batch", "comm"),
        Variant("sums", "extend a checksum batch by batch", "sum"),
        Variant("newest_first", "keep a journal with the newest batch on top", "tac"),
        Variant("bytes", "keep a count of byte values up to date", "od"),
    )

    def derive(self, subject: Subject, variant: Variant, rng: Random) -> Derived:
        how, write, check = {
            "fresh": _fresh,
            "sums": _sums,
            "newest_first": _newest_first,
            "bytes": _bytes,
        }[variant.name]()
        percents = [*sorted(rng.sample(range(8, 93), rng.randint(3, 5))), 100]
        names = [f"b{number}" for number in rng.sample(range(100, 1000), len(percents))]
        rows = [f"{name} {percent}" for name, percent in zip(names, percents, strict=True)]
        text = "\n".join(("# batches of the output", "# (name, one space, percent)", *rows, "# end of list"))
        return Derived(
            how=f"{BATCHES.format(source=subject.path).strip()}\n\n{how.strip()}",
            write=f"{TAKE.strip()}\n{write.strip()}",
            check=f"{AGAIN.format(rows=chr(10).join(rows)).strip()}\n{check.strip()}{SAME.rstrip()}",
            files={"batches": f"{text}\n".encode()},
        )


def _fresh() -> Shape:
    return (
        """Each batch gets a row `NAME LINES FRESH KNOWN`: the number of its lines; how many different lines
it has that are in no batch before it; and how many different lines there are in all batches up to this
one.""",
        """
: > "$WORK/known"
while read -r name percent; do
    take "$percent"
    sort -u "$WORK/batch" > "$WORK/sorted"
    fresh=$(comm -23 "$WORK/sorted" "$WORK/known" | wc -l)
    sort -mu "$WORK/known" "$WORK/sorted" > "$WORK/next"
    mv "$WORK/next" "$WORK/known"
    echo "$name $(wc -l < "$WORK/batch") $fresh $(wc -l < "$WORK/known")"
done < "$WORK/batches" > "$WORK/report"
cp "$WORK/report" "$OUT"
""",
        """
awk '
    NR == FNR { name[NR] = $1; end[NR] = $2; last = NR; next }
    { line[FNR] = $0 }
    END {
        for (b = 1; b <= last; b++) {
            fresh = 0
            for (n = end[b - 1] + 1; n <= end[b]; n++) if (!seen["=" line[n]]++) fresh++
            known += fresh
            print name[b], end[b] - end[b - 1], fresh, known + 0
        }
    }
' "$WORK/ends" "$WORK/lines" > "$WORK/expected"
""",
    )


def _sums() -> Shape:
    return (
        """Each batch gets a row `NAME BYTES SUM`. BYTES is the number of bytes, newlines included, of all
lines up to the end of this batch; SUM is the 16-bit checksum of the BSD algorithm over these bytes, in five
digits, which `sum` prints.""",
        """
: > "$WORK/known"
while read -r name percent; do
    take "$percent"
    cat "$WORK/batch" >> "$WORK/known"
    echo "$name $(wc -c < "$WORK/known") $(sum -r < "$WORK/known" | cut -d' ' -f1)"
done < "$WORK/batches" > "$WORK/report"
cp "$WORK/report" "$OUT"
""",
        """
while read -r name end; do
    head -n "$end" "$WORK/lines" > "$WORK/known"
    # The algorithm itself, a byte at a time.
    od -An -v -tu1 -w1 "$WORK/known" | awk -v name="$name" '
        { sum = (int(sum / 2) + (sum % 2) * 32768 + $1) % 65536 }
        END { printf "%s %d %05d\\n", name, NR, sum }
    '
done < "$WORK/ends" > "$WORK/expected"
""",
    )


def _newest_first() -> Shape:
    return (
        """The report holds the lines of the output with the newest batch on top. Each batch has a line
`== NAME LINES` with the number of its lines, and below it these lines, the last one first.""",
        """
while read -r name percent; do
    take "$percent"
    # Upside down, so that one turn at the end puts everything right.
    cat "$WORK/batch"
    echo "== $name $(wc -l < "$WORK/batch")"
done < "$WORK/batches" > "$WORK/journal"
tac "$WORK/journal" > "$WORK/report"
cp "$WORK/report" "$OUT"
""",
        """
awk '
    NR == FNR { name[NR] = $1; end[NR] = $2; last = NR; next }
    { line[FNR] = $0 }
    END {
        for (b = last; b > 0; b--) {
            print "== " name[b], end[b] - end[b - 1]
            for (n = end[b] + 0; n > end[b - 1] + 0; n--) print line[n]
        }
    }
' "$WORK/ends" "$WORK/lines" > "$WORK/expected"
""",
    )


def _bytes() -> Shape:
    return (
        """Each batch gets a row `NAME VALUES BYTE COUNT` about all lines up to the end of this batch,
newlines included: the number of different byte values; the most frequent of them in two small hex digits, the
lowest one of equals; and how often it occurs.""",
        """
: > "$WORK/known"
while read -r name percent; do
    take "$percent"
    od -An -v -tx1 -w1 "$WORK/batch" | sort >> "$WORK/known"
    sort "$WORK/known" | uniq -c | sort -k1,1nr -k2,2 > "$WORK/ranked"
    echo "$name $(wc -l < "$WORK/ranked") $(awk 'NR == 1 { print $2, $1 }' "$WORK/ranked")"
done < "$WORK/batches" > "$WORK/report"
cp "$WORK/report" "$OUT"
""",
        """
while read -r name end; do
    head -n "$end" "$WORK/lines" > "$WORK/known"
    od -An -v -tu1 "$WORK/known" | awk -v name="$name" '
        { for (i = 1; i <= NF; i++) if (!count[$i]++) values++ }
        END {
            best = 0
            for (b = 1; b < 256; b++) if (count[b] + 0 > count[best] + 0) best = b
            printf "%s %d %02x %d\\n", name, values, best, count[best]
        }
    '
done < "$WORK/ends" > "$WORK/expected"
""",
    )


OPERATOR = IncrementalReport()
