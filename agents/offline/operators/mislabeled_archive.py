"""Scenario: an input is inside layers of packing, under a name that lies about what it is."""

from __future__ import annotations

import gzip
import io
import tarfile
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from agents.offline.checksums import cksum
from agents.offline.operator import Hidden, Obstacle, Subject, Variant
from agents.plan import Direction

SUFFIXES = ("jpg", "doc", "pdf", "bak", "tmp", "mp3")

LAYERS = r"""
# What a file is, by its first bytes (RFC 1952) or the tar magic at offset 257, never by its name.
layer() {
    if [ "$(head -c 2 "$1" | od -An -tx1 | tr -d ' ')" = 1f8b ]; then echo gzip
    elif [ "$(tail -c +258 "$1" | head -c 5)" = ustar ]; then echo tar
    else echo plain; fi
}
"""


@dataclass(frozen=True)
class MislabeledArchive(Obstacle):
    name: ClassVar[str] = "mislabeled_archive"
    direction: ClassVar[Direction] = Direction.SCENARIO
    tools: ClassVar[frozenset[str]] = frozenset(
        "awk cksum cut grep gzip head od sha256sum sort tail tar tr".split()
    )
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("one_of_many", "compressed file under a wrong suffix among decoys of the same name", "gzip"),
        Variant("tar_members", "archive under a wrong suffix whose members hide the file by size", "tar"),
        Variant("tar_gz", "compressed archive under a wrong suffix, split over nested members", "tar"),
        Variant("layers", "file under several layers of compression and archives, wrong suffix", "gzip"),
    )

    def refusal(self, subject: Subject) -> str:
        if subject.data[:2] == b"\x1f\x8b" or subject.data[257:262] == b"ustar":
            return "it works on what is not packed already, or nobody could tell the last layer"
        return super().refusal(subject)

    def hide(self, data: bytes, variant: Variant, rng: Random) -> Hidden:
        shape = {
            "one_of_many": _one_of_many,
            "tar_members": _tar_members,
            "tar_gz": _tar_gz,
            "layers": _layers,
        }[variant.name]
        return shape(data, rng)


def _name(rng: Random) -> str:
    return f"{rng.getrandbits(24):06x}.{rng.choice(SUFFIXES)}"


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def _tar(members: list[tuple[str, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def _noise(rng: Random, size: int) -> bytes:
    return "".join(rng.choice("abcdefghij \n") for _ in range(size)).encode()


def _one_of_many(data: bytes, rng: Random) -> Hidden:
    names = sorted({_name(rng) for _ in range(6)})
    real = rng.choice(names)
    files = {name: _noise(rng, rng.randint(80, 400)) for name in names}
    files[real] = _gzip(data)
    return Hidden(
        files=files,
        how="""One of the delivered files is the original, compressed with gzip; its suffix is wrong,
and the others are of no use. A gzip file starts with the bytes 1f 8b.""",
        restore=LAYERS
        + r"""
for file in "$IN"/*; do
    [ "$(layer "$file")" = gzip ] || continue
    gzip -dc < "$file" > "$WORK/whole"
    echo "$(basename "$file") $(wc -c < "$file") $(wc -c < "$WORK/whole")" > "$WORK/report"
done
cp "$WORK/whole" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""one line: the name of the delivered file that it was in, that file's size in
bytes, and the size in bytes of what it holds, one space between.""",
        report=f"{real} {len(files[real])} {len(data)}",
        idle=frozenset(names) - {real},
    )


def _tar_members(data: bytes, rng: Random) -> Hidden:
    sizes = rng.sample(range(max(1, len(data) // 4), len(data)), min(4, len(data) - len(data) // 4 - 1))
    members = [(f"m/{rng.getrandbits(32):08x}", _noise(rng, size)) for size in sizes]
    members.append((f"m/{rng.getrandbits(32):08x}", data))
    rng.shuffle(members)
    listed = sorted(name for name, _ in members)
    return Hidden(
        files={_name(rng): _tar(members)},
        how="""The delivered file is a tar archive under a wrong suffix. Its largest member is the
original; the other members are of no use.""",
        restore=r"""
archive=$(echo "$IN"/*)
tar -xf - -C "$WORK" < "$archive"
(cd "$WORK" && wc -c m/*) | grep -v ' total$' | sort -n > "$WORK/sizes"
largest=$(tail -n 1 "$WORK/sizes" | awk '{ print $2 }')
cp "$WORK/$largest" "$OUT"
tar -tf - < "$archive" | sort > "$WORK/report"
cp "$WORK/report" "$REPORT"
""",
        report_rule="the names of all members of the archive, sorted by byte value, one a line.",
        report="\n".join(listed),
    )


def _tar_gz(data: bytes, rng: Random) -> Hidden:
    middle = rng.randint(len(data) // 3, 2 * len(data) // 3)
    first, second = _tar([("half.1", data[:middle])]), _gzip(data[middle:])
    outer = [("a/first", first), ("b/second", second)]
    rng.shuffle(outer)
    return Hidden(
        files={_name(rng): _gzip(_tar(outer))},
        how="""The delivered file is a gzip-compressed tar archive under a wrong suffix. Its member
`a/first` is itself a tar archive with one member; its member `b/second` is gzip-compressed. What is in
the first, followed by what is in the second, is the original.""",
        restore=r"""
gzip -dc < "$(echo "$IN"/*)" | tar -xf - -C "$WORK"
tar -xOf - < "$WORK/a/first" > "$WORK/one"
gzip -dc < "$WORK/b/second" > "$WORK/two"
cat "$WORK/one" "$WORK/two" > "$WORK/whole"
cp "$WORK/whole" "$OUT"
echo "first $(wc -c < "$WORK/one") $(cksum < "$WORK/one" | cut -d' ' -f1)" > "$REPORT"
echo "second $(wc -c < "$WORK/two") $(cksum < "$WORK/two" | cut -d' ' -f1)" >> "$REPORT"
""",
        report_rule="""two lines, `first BYTES CRC` and `second BYTES CRC`: for each half of the
original its size and the first number that POSIX `cksum` prints for it.""",
        report=f"first {middle} {cksum(data[:middle])}\nsecond {len(data) - middle} {cksum(data[middle:])}",
    )


def _layers(data: bytes, rng: Random) -> Hidden:
    kinds = [rng.choice(("gzip", "tar")) for _ in range(rng.randint(3, 5))]
    sizes, inner = [len(data)], data
    for kind in kinds:
        inner = _gzip(inner) if kind == "gzip" else _tar([(f"{rng.getrandbits(16):04x}", inner)])
        sizes.append(len(inner))
    outside_in = [f"{kind} {size}" for kind, size in zip(reversed(kinds), reversed(sizes[1:]), strict=True)]
    return Hidden(
        files={_name(rng): inner},
        how="""The delivered file has a wrong suffix. It is packed in several layers, each of them
either gzip or a tar archive with one member, in an order that is not stated; the innermost content,
which is neither, is the original.""",
        restore=LAYERS
        + r"""
cp "$(echo "$IN"/*)" "$WORK/now"
while kind=$(layer "$WORK/now"); [ "$kind" != plain ]; do
    echo "$kind $(wc -c < "$WORK/now")"
    if [ "$kind" = gzip ]; then gzip -dc < "$WORK/now" > "$WORK/next"
    else tar -xOf - < "$WORK/now" > "$WORK/next"; fi
    mv "$WORK/next" "$WORK/now"
done > "$WORK/report"
cp "$WORK/now" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""one line for each layer from the outermost to the innermost: `gzip` or `tar`, a
space, and the size in bytes of the packed file at that layer.""",
        report="\n".join(outside_in),
    )


OPERATOR = MislabeledArchive()
