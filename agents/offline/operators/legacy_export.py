"""Length: after an output, its export in the fixed records that an old receiver reads."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar

from agents.offline.operator import Dependent, Derived, Subject, Variant

LINES = """A line of the output ends with a newline; where the last one has none, it counts as if it had.
"""
SETTINGS = """
# The receiver's format: `name value`, comments start with #.
setting() { awk -v name="$1" '$1 == name { print $2 }' "$IN/format"; }
"""
SAME = """
[ "$(sha256sum < "$OUT")" = "$(sha256sum < "$WORK/expected")" ] ||
    fail "$OUT does not fit $SRC, or is not laid out as asked"
"""
Shape = tuple[dict[str, int], str, str, str]
"""The receiver's settings, what the note says, how it is written, how it is checked."""


@dataclass(frozen=True)
class LegacyExport(Dependent):
    name: ClassVar[str] = "legacy_export"
    suffix: ClassVar[str] = "export"
    scenario: ClassVar[str] = "finished output to be exported for an old receiver in fixed records"
    tools: ClassVar[frozenset[str]] = frozenset("awk basenc expand fold nl od paste sed sha256sum".split())
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("cards", "fold lines into numbered cards of one width", "fold"),
        Variant("hex_records", "write hex records with addresses and checksums", "basenc"),
        Variant("listing", "number lines for a listing with pages", "nl"),
        Variant("tab_stops", "set tabs out to stops in counted records", "expand"),
    )

    def derive(self, subject: Subject, variant: Variant, rng: Random) -> Derived:
        shape = {
            "cards": _cards,
            "hex_records": _hex_records,
            "listing": _listing,
            "tab_stops": _tab_stops,
        }[variant.name]
        settings, how, write, check = shape(rng)
        lines = [f"{name} {value}" for name, value in settings.items()]
        text = "\n".join(("# what the receiver reads", "# (name, one space, value)", *lines, "# end of list"))
        source = (
            f"`{subject.path}` is to be exported for a receiver that reads one format only.\n`format` in the "
            "folder of this note's name has its settings.\n\n"
        )
        return Derived(
            how=source + how.strip(),
            write=f"{SETTINGS.strip()}\n{write.strip()}",
            check=check.strip() + SAME.rstrip(),
            files={"format": f"{text}\n".encode()},
        )


def _cards(rng: Random) -> Shape:
    width, digits = rng.randint(24, 72), rng.randint(5, 7)
    return (
        {"width": width, "digits": digits},
        LINES
        + """Every line is cut into cards of `width` bytes; the last one of a line may have less, and an empty
line has one card without text. A card is a row of its number, a mark, and its text. The number counts all
cards from 1, padded on the left with zeros to `digits` digits; the mark is `+` if the next card goes on
with the same line, else `.`; the text is filled up with blanks to `width` bytes. A last row has the number
of all cards, padded in the same way, and the mark `=`.""",
        r"""
width=$(setting width) digits=$(setting digits)
sed -e '$a\' "$SRC" > "$WORK/lines"
fold -b -w "$width" "$WORK/lines" > "$WORK/texts"
awk -v width="$width" '{
    for (cards = int((length($0) + width - 1) / width); cards > 1; cards--) print "+"
    print "."
}' "$WORK/lines" > "$WORK/marks"
paste -d '\0' "$WORK/marks" "$WORK/texts" | awk -v width="$width" -v digits="$digits" '
    { printf "%0" digits "d%-" (width + 1) "s\n", NR, $0 }
    END { printf "%0" digits "d=\n", NR }
' > "$WORK/export"
cp "$WORK/export" "$OUT"
""",
        f"""
awk '
    function card(mark, text) {{
        while (length(text) < {width}) text = text " "
        printf "%0{digits}d%s%s\\n", ++cards, mark, text
    }}
    {{
        text = $0
        for (; length(text) > {width}; text = substr(text, {width + 1})) card("+", substr(text, 1, {width}))
        card(".", text)
    }}
    END {{ printf "%0{digits}d=\\n", cards }}
' "$SRC" > "$WORK/expected"
""",
    )


def _hex_records(rng: Random) -> Shape:
    size, base = rng.choice((12, 16, 20, 24, 32)), rng.randrange(0x1000, 0xF000, 16)
    return (
        {"size": size, "base": base},
        """The bytes of the output, newlines included, are cut into records of `size` bytes; the last one may
have less. Each gets a row `:` LENGTH ADDRESS DATA CHECK in capital hex digits without blanks: LENGTH in two
digits; ADDRESS in eight, that of the first byte of the output being `base`, which is decimal in `format`;
the DATA bytes in two digits each; CHECK in two digits, such that the values of the row's bytes (LENGTH, the
four of ADDRESS, DATA and CHECK) add up to a multiple of 256. A last row `:00` ADDRESS CHECK has the
address behind the last byte.""",
        r"""
size=$(setting size) base=$(setting base)
basenc --base16 -w "$((2 * size))" "$SRC" > "$WORK/data"
# Of each record its address and the sum of its bytes.
od -An -v -tu1 -w"$size" "$SRC" | awk -v address="$base" '
    { sum = 0; for (i = 1; i <= NF; i++) sum += $i; print NF, address, sum; address += NF }
    END { print 0, address, 0 }
' > "$WORK/facts"
# The last row has no data.
paste -d' ' "$WORK/facts" "$WORK/data" | awk '{
    sum = $1 + $3
    for (rest = $2; rest > 0; rest = int(rest / 256)) sum += rest % 256
    printf ":%02X%08X%s%02X\n", $1, $2, $4, (256 - sum % 256) % 256
}' > "$WORK/export"
cp "$WORK/export" "$OUT"
""",
        f"""
# A byte a line; the sums are kept as the bytes go by.
od -An -v -tu1 -w1 "$SRC" | awk -v address={base} '
    function close_record(   sum, rest, i) {{
        sum = total + count
        rest = address
        for (i = 0; i < 4; i++) {{ sum += rest % 256; rest = int(rest / 256) }}
        printf ":%02X%08X%s%02X\\n", count, address, data, (256 - sum % 256) % 256
        address += count
        count = total = 0
        data = ""
    }}
    {{
        data = data sprintf("%02X", $1)
        total += $1
        if (++count == {size}) close_record()
    }}
    END {{ if (count) close_record(); close_record() }}
' > "$WORK/expected"
""",
    )


def _listing(rng: Random) -> Shape:
    start, step, page = rng.randint(10, 900), rng.choice((5, 10, 20)), rng.randint(3, 9)
    width = rng.randint(7, 9)
    return (
        {"start": start, "step": step, "page": page, "width": width},
        LINES
        + """The export is a listing. Each line of the output, an empty one too, stands on a row: its number,
padded on the left with blanks to `width` characters, then `|`, then the line. The first number is `start`,
and each is `step` more than the one before. Before the first row, and again after every `page` rows where
more rows follow, stands a row `-- page P of Q --`: the number of the page from 1, and that of all pages.""",
        r"""
start=$(setting start) step=$(setting step) page=$(setting page) width=$(setting width)
sed -e '$a\' "$SRC" > "$WORK/lines"
pages=$((($(wc -l < "$WORK/lines") + page - 1) / page))
# What separates number and line is put there before, so that no line looks like a mark of sections.
sed 's/^/|/' "$WORK/lines" | nl -b a -n rn -s '' -v "$start" -i "$step" -w "$width" > "$WORK/numbered"
awk -v page="$page" -v pages="$pages" '
    (NR - 1) % page == 0 { print "-- page " (NR - 1) / page + 1 " of " pages " --" }
    { print }
' "$WORK/numbered" > "$WORK/export"
cp "$WORK/export" "$OUT"
""",
        f"""
pages=$((($(awk 'END {{ print NR }}' "$SRC") + {page} - 1) / {page}))
awk -v pages="$pages" '
    {{
        if (row % {page} == 0) printf "-- page %d of %d --\\n", row / {page} + 1, pages
        printf "%{width}d|%s\\n", {start} + {step} * row++, $0
    }}
' "$SRC" > "$WORK/expected"
""",
    )


def _tab_stops(rng: Random) -> Shape:
    stop, digits = rng.randint(3, 11), rng.randint(4, 6)
    return (
        {"stop": stop, "digits": digits},
        LINES
        + """The receiver knows no tabs. Every line gives one record: the number of bytes of its text, padded
on the left with zeros to `digits` digits, a blank, and the text. In the text each tab of the line is
replaced by one blank or more, up to the next stop: stops are at every `stop` columns, and each byte takes one
column (a backspace, if there is one, takes one back). A last record `END RECORDS LONGEST` has the number of
the records before it and the number of bytes of the longest text.""",
        r"""
stop=$(setting stop) digits=$(setting digits)
sed -e '$a\' "$SRC" > "$WORK/lines"
expand -t "$stop" "$WORK/lines" > "$WORK/texts"
awk -v digits="$digits" '
    { printf "%0" digits "d %s\n", length($0), $0; if (length($0) > longest) longest = length($0) }
    END { print "END", NR, longest + 0 }
' "$WORK/texts" > "$WORK/export"
cp "$WORK/export" "$OUT"
""",
        f"""
awk '
    {{
        text = ""
        column = 0
        for (i = 1; i <= length($0); i++) {{
            byte = substr($0, i, 1)
            if (byte == "\\t") {{
                do {{ text = text " "; column++ }} while (column % {stop})
                continue
            }}
            text = text byte
            if (byte != "\\b") column++
            else if (column) column--
        }}
        printf "%0{digits}d %s\\n", length(text), text
        if (length(text) > longest) longest = length(text)
    }}
    END {{ print "END", NR, longest + 0 }}
' "$SRC" > "$WORK/expected"
""",
    )


OPERATOR = LegacyExport()
