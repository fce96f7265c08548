"""Length: after an output, an index of it that answers delivered queries."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from string import ascii_lowercase, digits
from typing import ClassVar

from agents.offline.operator import Dependent, Derived, Subject, Variant

SAME = '\ncmp -s "$WORK/expected" "$OUT" || fail "$OUT does not fit $SRC, or is not laid out as asked"'
WORDS = """A word is a longest run of ASCII letters and digits; capital letters count as small ones.
Order is by byte value."""


@dataclass(frozen=True)
class OrderedIndex(Dependent):
    name: ClassVar[str] = "ordered_index"
    suffix: ClassVar[str] = "index"
    scenario: ClassVar[str] = "finished output to be indexed for look-up by queries"
    tools: ClassVar[frozenset[str]] = frozenset(
        "awk cmp cut grep head join nl od sed sort split tail tr uniq".split()
    )
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("inverted", "invert numbered lines into an index of words", "nl"),
        Variant("prefixes", "join queries with an index of words by prefix", "join"),
        Variant("guide_words", "split a sorted index of words into pages with guide words", "split"),
        Variant("byte_values", "index where each byte value stands", "od"),
    )

    def derive(self, subject: Subject, variant: Variant, rng: Random) -> Derived:
        shape = {
            "inverted": _inverted,
            "prefixes": _prefixes,
            "guide_words": _guide_words,
            "byte_values": _byte_values,
        }[variant.name]
        queries, how, write, check = shape(rng)
        text = "\n".join(("# what is asked of the index", "# (one query a line)", *queries, "")).encode()
        return Derived(
            how=f"An index of `{subject.path}` is wanted, with answers to the lines of `queries` in the "
            f"folder of this note's name; lines that start with # are comments.\n\n{how.strip()}",
            write='grep -v "^#" "$IN/queries" > "$WORK/queries"\n' + write.strip(),
            check=_asked(queries) + check.strip() + SAME,
            files={"queries": text},
        )


def _asked(queries: list[str]) -> str:
    return "cat > \"$WORK/asked\" <<'END_OF_QUERIES'\n" + "\n".join(queries) + "\nEND_OF_QUERIES\n"


Shape = tuple[list[str], str, str, str]


def _inverted(rng: Random) -> Shape:
    least = rng.randint(2, 3)
    queries = [*(f"first {first}" for first in rng.sample(digits + ascii_lowercase, 14)), f"least {least}"]
    rng.shuffle(queries)
    return (
        queries,
        f"""{WORDS}
The lines are numbered from 1, empty ones too. The query `least N` asks for words of
at least N characters, each query `first C` for words that start with the character C; a word is in the
index if it fits `least` and one of the `first` queries. It gets a line `WORD N1,N2,…`: the word, a
space, and the numbers of the lines that it stands in, each once, in ascending order, with commas
between. The lines are in order of the words. A last line `words N` has the number of the words in the
index.""",
        r"""
least=$(awk '$1 == "least" { print $2 }' "$WORK/queries")
firsts=$(awk '$1 == "first" { printf "%s", $2 }' "$WORK/queries")
tr A-Z a-z < "$SRC" | tr -c 'a-z0-9\n' ' ' | nl -b a -w 1 -s ' ' > "$WORK/numbered"
awk '{ for (at = 2; at <= NF; at++) print $at, $1 }' "$WORK/numbered" |
    awk -v least="$least" -v firsts="$firsts" \
        'length($1) >= least && index(firsts, substr($1, 1, 1))' > "$WORK/places"
sort -k1,1 -k2,2n -u "$WORK/places" > "$WORK/sorted"
awk '
    # As text: 42 and 0042 are two words.
    $1 "" != word { if (word != "") print word, list; word = $1; list = $2; count++; next }
    { list = list "," $2 }
    END { if (word != "") print word, list; print "words " count + 0 }
' "$WORK/sorted" > "$OUT"
""",
        r"""
least=$(grep '^least' "$WORK/asked" | cut -d' ' -f2)
firsts=$(grep '^first' "$WORK/asked" | cut -d' ' -f2 | tr -d '\n')
awk -v least="$least" -v firsts="$firsts" '
    {
        line = tolower($0)
        gsub(/[^a-z0-9]+/, " ", line)
        count = split(line, word, " ")
        for (at = 1; at <= count; at++) {
            w = word[at]
            if (length(w) < least || !index(firsts, substr(w, 1, 1)) || last[w] == NR) continue
            places[w] = places[w] (last[w] ? "," : "") NR
            last[w] = NR
        }
    }
    END { for (w in places) print w, places[w] }
' "$SRC" | sort -k1,1 > "$WORK/expected"
echo "words $(awk 'END { print NR }' "$WORK/expected")" >> "$WORK/expected"
""",
    )


def _prefixes(rng: Random) -> Shape:
    letters = list(digits + ascii_lowercase)
    rng.shuffle(letters)
    queries = [*letters[:10], *(a + b for a, b in zip(letters[10:16], letters[16:22], strict=True))]
    rng.shuffle(queries)
    return (
        queries,
        f"""{WORDS}
Each query is a prefix of one or two characters. It gets a line
`PREFIX COUNT FIRST LAST`, with one space between: how many different words start with it, and the first
and the last of these in order; where there is none, `PREFIX 0 - -`. The lines are in order of the
prefixes. A last line `words N` has the number of all different words.""",
        r"""
tr A-Z a-z < "$SRC" | tr -cs 'a-z0-9' '\n' | grep . | sort -u > "$WORK/words" || true
awk '
    { for (size = 1; size <= 2 && size <= length($0); size++) {
        prefix = substr($0, 1, size)
        if (!count[prefix]++) first[prefix] = $0
        last[prefix] = $0
    } }
    END { for (prefix in count) print prefix, count[prefix], first[prefix], last[prefix] }
' "$WORK/words" | sort -k1,1 > "$WORK/table"
sort "$WORK/queries" > "$WORK/sorted"
join -a 1 -o 0,2.2,2.3,2.4 -e - "$WORK/sorted" "$WORK/table" | sed 's/ - - -$/ 0 - -/' > "$WORK/index"
echo "words $(wc -l < "$WORK/words")" >> "$WORK/index"
cp "$WORK/index" "$OUT"
""",
        r"""
tr -c 'A-Za-z0-9' '\n' < "$SRC" | tr A-Z a-z | sort | uniq | sed '/^$/d' > "$WORK/words"
sort "$WORK/asked" | while read -r prefix; do
    grep "^$prefix" "$WORK/words" > "$WORK/found" || : > "$WORK/found"
    first=$(head -n 1 "$WORK/found") last=$(tail -n 1 "$WORK/found")
    echo "$prefix $(wc -l < "$WORK/found") ${first:--} ${last:--}"
done > "$WORK/expected"
echo "words $(wc -l < "$WORK/words")" >> "$WORK/expected"
""",
    )


def _guide_words(rng: Random) -> Shape:
    size = rng.randint(8, 40)
    pages = sorted(rng.sample(range(2, 20), 4))
    return (
        [f"page size {size}", *(f"page {page}" for page in pages)],
        f"""{WORDS}
The different words, in order, fill pages, as many on each as the query `page size N`
says (fewer on the last one). Pages are numbered from 1. Each page gets a line `NUMBER FIRST LAST COUNT`,
with one space between: its number, its first and its last word, and how many it has. Then each query
`page N` is answered, in the order of `queries`, by a line `page N: WORDS`, with the words of that page
in order and one space between, or by `page N: none` where there is no such page.""",
        r"""
size=$(awk '$2 == "size" { print $3 }' "$WORK/queries")
tr A-Z a-z < "$SRC" | tr -cs 'a-z0-9' '\n' | grep . | sort -u > "$WORK/words" || true
mkdir "$WORK/pages"
split -l "$size" -d -a 6 "$WORK/words" "$WORK/pages/p"
: > "$WORK/pages/p"
(cd "$WORK/pages" && awk '
    FNR == 1 { if (count) print ++page, first, last, count; first = $0 }
    { last = $0; count = FNR }
    END { if (count) print ++page, first, last, count }
' p*) > "$WORK/index"
awk '$2 != "size" { print $2 }' "$WORK/queries" | while read -r wanted; do
    page=$WORK/pages/p$(printf '%06d' "$((wanted - 1))")
    if [ -f "$page" ]; then echo "page $wanted: $(tr '\n' ' ' < "$page" | sed 's/ $//')"
    else echo "page $wanted: none"; fi
done >> "$WORK/index"
cp "$WORK/index" "$OUT"
""",
        f"""
tr -c 'A-Za-z0-9' '\\n' < "$SRC" | tr A-Z a-z | sort | uniq | sed '/^$/d' > "$WORK/words"
awk -v size={size} '
    {{ page = int((NR - 1) / size) + 1 }}
    !(page in first) {{ first[page] = $0 }}
    {{ last[page] = $0; count[page]++; words[page] = words[page] " " $0; top = page }}
    END {{
        for (page = 1; page <= top; page++) print page, first[page], last[page], count[page]
        while ((getline query < asked) > 0) {{
            split(query, part, " ")
            if (part[2] == "size") continue
            print "page " part[2] ":" (part[2] in words ? words[part[2]] : " none")
        }}
    }}
' asked="$WORK/asked" "$WORK/words" > "$WORK/expected"
""",
    )


def _byte_values(rng: Random) -> Shape:
    at = rng.randint(3, 20)
    queries = [f"place {at * step}" for step in sorted(rng.sample(range(1, 30), 5))]
    return (
        queries,
        """The index is of bytes; offsets count from 0. Each byte value that stands in the file gets a
line `HEX COUNT FIRST LAST`, with one space between: the value in two hexadecimal digits (small letters),
how often it stands there, and the offsets of the first and the last time. The lines are in order of the
values. Then each query `place N` is answered, in the order of `queries`, by a line `place N HEX`: the
byte value at offset N, or `place N none` where the file is not that long.""",
        r"""
od -An -v -tx1 -w1 "$SRC" | tr -d ' ' > "$WORK/bytes"
awk '
    !($0 in count) { first[$0] = NR - 1 }
    { count[$0]++; last[$0] = NR - 1 }
    END { for (value in count) print value, count[value], first[value], last[value] }
' "$WORK/bytes" | sort > "$WORK/index"
while read -r word place; do
    value=$(sed -n "$((place + 1))p" "$WORK/bytes")
    echo "$word $place ${value:-none}"
done < "$WORK/queries" >> "$WORK/index"
cp "$WORK/index" "$OUT"
""",
        r"""
od -An -v -tx1 -w16 "$SRC" > "$WORK/rows"
awk '
    FNR == NR { place[NR] = $2; value[$2] = "none"; queries = NR; next }
    { for (at = 1; at <= NF; at++) {
        if (size + 0 in value) value[size + 0] = $at
        if (!seen[$at]++) first[$at] = size + 0
        last[$at] = size++
    } }
    END {
        for (byte in seen) print byte, seen[byte], first[byte], last[byte] | "sort"
        close("sort")
        for (at = 1; at <= queries; at++) print "place " place[at] " " value[place[at]]
    }
' "$WORK/asked" "$WORK/rows" > "$WORK/expected"
""",
    )


OPERATOR = OrderedIndex()
