"""Length: after an output, a manifest of all outputs that carries a checksum of itself."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar

from agents.offline.operator import Dependent, Derived, Subject, Variant

FILES = """
# The files to list, from the delivered list.
grep -v '^#' "$IN/files" | sort > "$WORK/files"
"""
HEADER = ("# outputs to be sealed,", "# one path a line,", "# in no order")
SEALED = """
The finished files that `files`, in the folder of this note's name, lists are to be sealed by a manifest.
There is one path a line, in no order; sort them by byte value. Lines that start with # are comments.
"""
CHECKED = """
cat > "$WORK/files" <<'END_OF_FILES'
{listed}
END_OF_FILES
while read -r file; do
    [ -f "$file" ] || fail "$file is missing"
done < "$WORK/files"
{check}
cmp -s "$WORK/expected" "$OUT" || fail "$OUT does not fit the files, or is not laid out as asked"
"""


@dataclass(frozen=True)
class SignedManifest(Dependent):
    name: ClassVar[str] = "signed_manifest"
    suffix: ClassVar[str] = "manifest"
    scenario: ClassVar[str] = "finished outputs to be sealed for delivery"
    tools: ClassVar[frozenset[str]] = frozenset(
        "awk b2sum cksum cmp cut grep sha256sum sha512sum sort tr xargs".split()
    )
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("sha256_sorted", "write a sha256 manifest sealed by its own checksum", "sha256sum"),
        Variant("tagged", "write a tagged blake2 manifest sealed by its own checksum", "b2sum"),
        Variant("csv_sizes", "write a csv manifest with sizes and totals", "cksum"),
        Variant("chained", "write a manifest whose rows chain over each other", "sha512sum"),
    )

    def derive(self, subject: Subject, variant: Variant, rng: Random) -> Derived:
        listed = sorted({subject.path, *subject.siblings})
        how, write, check = {
            "sha256_sorted": _sha256_sorted,
            "tagged": _tagged,
            "csv_sizes": _csv_sizes,
            "chained": _chained,
        }[variant.name]()
        delivered = list(listed)
        rng.shuffle(delivered)
        return Derived(
            how=f"{SEALED.strip()}\n\n{how.strip()}",
            write=f"{FILES.strip()}\n{write.strip()}",
            check=CHECKED.format(listed="\n".join(listed), check=check.strip()),
            files={"files": "\n".join((*HEADER, *delivered, "")).encode()},
            about=tuple(listed),
        )


def _sha256_sorted() -> tuple[str, str, str]:
    return (
        """Each file gets the line `SHA256  PATH` (two spaces), in sorted order of the paths. A last line
`SHA256  -` seals it: the SHA-256 of all lines before it, newlines included.""",
        """
xargs -d '\\n' sha256sum < "$WORK/files" > "$WORK/lines"
sha256sum < "$WORK/lines" > "$WORK/seal"
cat "$WORK/lines" "$WORK/seal" > "$OUT"
""",
        """
while read -r file; do
    echo "$(sha256sum < "$file" | cut -d' ' -f1)  $file"
done < "$WORK/files" > "$WORK/lines"
{ cat "$WORK/lines"; sha256sum < "$WORK/lines"; } > "$WORK/expected"
""",
    )


def _tagged() -> tuple[str, str, str]:
    return (
        """Each file gets the line `BLAKE2b (PATH) = SUM`, with the 128 hex digits that `b2sum` gives, in
sorted order of the paths. A last line `END N SUM` seals it: the number of files, and the BLAKE2b sum of
all lines before it, newlines included.""",
        """
xargs -d '\\n' b2sum --tag < "$WORK/files" > "$WORK/lines"
seal=$(b2sum < "$WORK/lines" | cut -d' ' -f1)
echo "END $(wc -l < "$WORK/lines") $seal" | cat "$WORK/lines" - > "$OUT"
""",
        """
count=0
while read -r file; do
    count=$((count + 1))
    echo "BLAKE2b ($file) = $(b2sum < "$file" | cut -d' ' -f1)"
done < "$WORK/files" > "$WORK/lines"
echo "END $count $(b2sum < "$WORK/lines" | cut -d' ' -f1)" > "$WORK/seal"
cat "$WORK/lines" "$WORK/seal" > "$WORK/expected"
""",
    )


def _csv_sizes() -> tuple[str, str, str]:
    return (
        """A comma separated table with the header `path,bytes,lines,crc`, then a row for each file in sorted
order of the paths: its path, its size, its number of newlines, and the first number that POSIX `cksum`
prints. A last row `total,BYTES,LINES,CRC` has both sums, and the `cksum` number of all before that row.""",
        """
echo "path,bytes,lines,crc" > "$WORK/table"
while read -r file; do
    echo "$file,$(wc -c < "$file"),$(wc -l < "$file"),$(cksum < "$file" | cut -d' ' -f1)"
done < "$WORK/files" >> "$WORK/table"
crc=$(cksum < "$WORK/table" | cut -d' ' -f1)
totals=$(awk -F, 'NR > 1 { b += $(NF - 2); l += $(NF - 1) } END { printf "%d,%d", b, l }' "$WORK/table")
echo "total,$totals,$crc" | cat "$WORK/table" - > "$OUT"
""",
        """
bytes=0 lines=0
echo "path,bytes,lines,crc" > "$WORK/expected"
while read -r file; do
    read -r crc size <<< "$(cksum < "$file")"
    newlines=$(tr -cd '\\n' < "$file" | wc -c)
    bytes=$((bytes + size)) lines=$((lines + newlines))
    echo "$file,$size,$newlines,$crc" >> "$WORK/expected"
done < "$WORK/files"
read -r crc size <<< "$(cksum < "$WORK/expected")"
echo "total,$bytes,$lines,$crc" >> "$WORK/expected"
""",
    )


def _chained() -> tuple[str, str, str]:
    return (
        """Each file gets one line, in sorted order of the paths: `N CHAIN PATH`, where N counts from 1. CHAIN
is the SHA-512 (hex) of three things one after the other: the CHAIN of the line before (nothing for the
first), the path, and the file's content.""",
        """
chain="" number=0
while read -r file; do
    number=$((number + 1))
    chain=$({ printf '%s%s' "$chain" "$file"; cat "$file"; } | sha512sum | cut -d' ' -f1)
    echo "$number $chain $file"
done < "$WORK/files" > "$WORK/lines"
cp "$WORK/lines" "$OUT"
""",
        """
: > "$WORK/expected"
: > "$WORK/chain"
while read -r file; do
    { cat "$WORK/chain"; echo -n "$file"; cat "$file"; } > "$WORK/link"
    sha512sum "$WORK/link" | cut -c1-128 | tr -d '\\n' > "$WORK/chain"
    echo "$(($(wc -l < "$WORK/expected") + 1)) $(cat "$WORK/chain") $file" >> "$WORK/expected"
done < "$WORK/files"
""",
    )


OPERATOR = SignedManifest()
