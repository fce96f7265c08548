"""Length: after an output, a reproducible package of all outputs."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar

from agents.offline.operator import Dependent, Derived, Subject, Variant

CONTENTS = """
The finished files are to be packed into one. `contents` in the folder of this note's name says which: each
line is the name of a member, a space, and the path of the file that it holds; lines that start with # are
comments. The order of the members is that of the list.
"""
REGULAR = """
while read -r member; do
    [ -f "$WORK/open/$member" ] && [ ! -L "$WORK/open/$member" ] || fail "member $member is no regular file"
done < "$WORK/names"
"""
OPEN = """
cat > "$WORK/list" <<'END_OF_LIST'
{rows}
END_OF_LIST
while read -r member file; do
    [ -f "$file" ] || fail "$file is missing"
done < "$WORK/list"
"""


@dataclass(frozen=True)
class SealedArchive(Dependent):
    name: ClassVar[str] = "sealed_archive"
    suffix: ClassVar[str] = "pkg"
    scenario: ClassVar[str] = "finished outputs to be packed for handing on"
    tools: ClassVar[frozenset[str]] = frozenset(
        "awk base64 basenc cmp cut grep gzip head paste sed sha256sum tail tar tr xargs".split()
    )
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("plain_tar", "pack a reproducible tar archive under new names", "tar"),
        Variant("tar_gz_sums", "pack a compressed archive that carries its checksums", "tar"),
        Variant("members", "pack files as gzip members with an index of offsets", "gzip"),
        Variant("text_bundle", "pack files into one text bundle of encoded sections", "basenc"),
    )

    def derive(self, subject: Subject, variant: Variant, rng: Random) -> Derived:
        listed = sorted({subject.path, *subject.siblings})
        rows = [f"{rng.getrandbits(20):05x}-{number} {path}" for number, path in enumerate(listed, start=1)]
        shape = {
            "plain_tar": _plain_tar,
            "tar_gz_sums": _tar_gz_sums,
            "members": _members,
            "text_bundle": _text_bundle,
        }[variant.name]
        how, write, check = shape()
        text = "# what goes into the package: member, space, file\n" + "\n".join(rows) + "\n"
        return Derived(
            how=f"{CONTENTS.strip()}\n\n{how.strip()}",
            write='grep -v "^#" "$IN/contents" > "$WORK/list"\n' + write.strip(),
            check=OPEN.format(rows="\n".join(rows)).strip() + "\n" + check.strip(),
            files={"contents": text.encode()},
            about=tuple(listed),
        )


Shape = tuple[str, str, str]

STAGED = """
mkdir "$WORK/stage"
while read -r member file; do cp "$file" "$WORK/stage/$member"; done < "$WORK/list"
cut -d' ' -f1 "$WORK/list" > "$WORK/members"
"""
TAR = 'tar --format=ustar --owner=0 --group=0 --numeric-owner --mode=0644 --mtime=@0 -C "$WORK/stage"'
CONTENT = """
while read -r member file; do
    cmp -s "$file" "$WORK/open/$member" || fail "member $member is not what $file holds"
done < "$WORK/list"
"""


def _plain_tar() -> Shape:
    return (
        """The package is a tar archive in ustar format, not compressed. Every member is a regular file
with owner and group 0, mode 0644 and the modification time 0 (the start of 1970).""",
        STAGED.strip() + f'\n{TAR} -cf "$OUT" -T "$WORK/members"',
        """
[ "$(tail -c +258 "$OUT" | head -c 5)" = ustar ] || fail "$OUT is not a ustar archive"
TZ=UTC tar --numeric-owner -tvf "$OUT" > "$WORK/found" || fail "$OUT cannot be listed"
while read -r member file; do
    echo "-rw-r--r-- 0/0 $(wc -c < "$file") 1970-01-01 00:00 $member"
done < "$WORK/list" > "$WORK/expected"
awk '{ print $1, $2, $3, $4, $5, $6 }' "$WORK/found" | cmp -s - "$WORK/expected" ||
    fail "members, order, owners, modes or times are wrong"
mkdir "$WORK/open" && tar -xf "$OUT" -C "$WORK/open"
"""
        + CONTENT.strip(),
    )


def _tar_gz_sums() -> Shape:
    return (
        """The package is a gzip-compressed tar archive. Its first member is `SUMS`: for each other member, in
the order of the list, a line `SHA256  MEMBER` (two spaces). The other members follow it. All of them are
regular files.""",
        STAGED.strip()
        + f"""
(cd "$WORK/stage" && xargs sha256sum < "$WORK/members") > "$WORK/sums"
mv "$WORK/sums" "$WORK/stage/SUMS"
{TAR} -cf "$WORK/package" SUMS -T "$WORK/members"
gzip -nc "$WORK/package" > "$OUT"
""",
        """
gzip -t < "$OUT" || fail "$OUT is not compressed by gzip"
gzip -dc < "$OUT" > "$WORK/package"
{ echo SUMS; awk '{ print $1 }' "$WORK/list"; } > "$WORK/names"
tar -tf "$WORK/package" | cmp -s - "$WORK/names" || fail "members or their order are wrong"
mkdir "$WORK/open" && tar -xf "$WORK/package" -C "$WORK/open"
"""
        + REGULAR.strip()
        + """
while read -r member file; do
    echo "$(sha256sum < "$file" | awk '{ print $1 }')  $member"
done < "$WORK/list" | cmp -s - "$WORK/open/SUMS" || fail "SUMS does not fit the files"
"""
        + CONTENT.strip(),
    )


def _members() -> Shape:
    return (
        """The package starts with an index: for each member a line `MEMBER OFFSET LENGTH SIZE`, then a line
`--`. After it, each file follows as a gzip stream of its own. OFFSET (from 0, counted from the byte after the
line `--`) and LENGTH say where its stream is; SIZE is that of the file.""",
        """
offset=0
: > "$WORK/streams"
while read -r member file; do
    gzip -nc "$file" > "$WORK/stream"
    length=$(wc -c < "$WORK/stream")
    echo "$member $offset $length $(wc -c < "$file")"
    cat "$WORK/stream" >> "$WORK/streams"
    offset=$((offset + length))
done < "$WORK/list" > "$WORK/index"
{ cat "$WORK/index"; echo "--"; cat "$WORK/streams"; } > "$WORK/package"
cp "$WORK/package" "$OUT"
""",
        """
count=$(wc -l < "$WORK/list")
end_mark=$(sed -n "$((count + 1))p" "$OUT" | tr -d '\\0')
[ "$end_mark" = "--" ] || fail "the index does not end after $count lines"
head -n "$count" "$OUT" > "$WORK/index"
tail -n "+$((count + 2))" "$OUT" > "$WORK/streams"
end=0
while read -r member file; do
    read -r name offset length size
    [ "$name" = "$member" ] || fail "$member is not where the list has it"
    [ "$offset" = "$end" ] || fail "the stream of $member does not start where the one before ends"
    [ "$size" = "$(wc -c < "$file")" ] || fail "the size of $member is wrong"
    # Arithmetic would carry out what stands in a text that is no number.
    [[ $length =~ ^[1-9][0-9]{0,11}$ ]] || fail "the length of $member is no number"
    tail -c "+$((offset + 1))" "$WORK/streams" > "$WORK/rest"
    head -c "$length" "$WORK/rest" | gzip -dc | cmp -s - "$file" || fail "the stream of $member is not $file"
    end=$((offset + length))
done < <(paste -d '\\n' "$WORK/list" "$WORK/index")
[ "$end" = "$(wc -c < "$WORK/streams")" ] || fail "there is more in $OUT than the index says"
""",
    )


def _text_bundle() -> Shape:
    return (
        """The package is text. Each member is a section: a line `=== MEMBER SIZE`, with the size of the file
in bytes, then the file in base64 in lines of 60 characters. A last line `=== END SHA256` has the SHA-256
of everything before it.""",
        """
while read -r member file; do
    echo "=== $member $(wc -c < "$file")"
    basenc --base64 -w 60 "$file"
done < "$WORK/list" > "$WORK/package"
sum=$(sha256sum < "$WORK/package" | cut -d' ' -f1)
echo "=== END $sum" >> "$WORK/package"
cp "$WORK/package" "$OUT"
""",
        """
tail -n 1 "$OUT" > "$WORK/last"
head -n -1 "$OUT" > "$WORK/sections"
sum=$(sha256sum < "$WORK/sections" | cut -c1-64)
[ "$(cat "$WORK/last")" = "=== END $sum" ] || fail "the last line does not seal what is before it"
while read -r member file; do
    echo "=== $member $(wc -c < "$file")"
    base64 -w 60 < "$file"
done < "$WORK/list" | cmp -s - "$WORK/sections" || fail "the sections do not fit the files"
""",
    )


OPERATOR = SealedArchive()
