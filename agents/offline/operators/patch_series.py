"""Scenario: an input is kept as an older or a newer version and the changes between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import md5
from random import Random
from typing import ClassVar

from agents.offline.operator import Hidden, Obstacle, Variant
from agents.plan import Direction


@dataclass(frozen=True)
class PatchSeries(Obstacle):
    name: ClassVar[str] = "patch_series"
    direction: ClassVar[Direction] = Direction.SCENARIO
    tools: ClassVar[frozenset[str]] = frozenset("cut dd grep md5sum sed sha256sum sort tac".split())
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("series", "old version with a series of patches, some of them withdrawn", "grep"),
        Variant("backwards", "newest version with a series of patches back to an old version", "sort"),
        Variant("branches", "versions as patches on parent versions, on several branches", "sed"),
        Variant(
            "by_checksum", "old version with patches that name the checksum of the version they fit", "md5sum"
        ),
    )

    def hide(self, data: bytes, variant: Variant, rng: Random) -> Hidden:
        shape = {
            "series": _series,
            "backwards": _backwards,
            "branches": _branches,
            "by_checksum": _by_checksum,
        }[variant.name]
        return shape(data, _Pool(rng), rng)


LANGUAGE = """A patch makes a new version of the file from an old one; it is written in lines that each
add to the end of the new version. `copy OFFSET LENGTH` adds LENGTH bytes of the old version, from OFFSET
on; `new OFFSET LENGTH` adds so many bytes of `pool`. Offsets count from 0. Other lines of a patch add
nothing."""
APPLY = r"""
# apply OLD PATCH NEW
apply() {
    : > "$3"
    while read -r verb offset length; do
        case $verb in copy) from=$1;; new) from=$IN/pool;; *) continue;; esac
        dd if="$from" iflag=skip_bytes,count_bytes skip="$offset" count="$length" bs=64K \
            status=none >> "$3"
    done < "$2"
}
"""


class _Pool:
    """The bytes that patches bring in, with others between them."""

    def __init__(self, rng: Random) -> None:
        self.rng, self.data = rng, b""

    def keep(self, piece: bytes) -> int:
        """Where it stands from now on."""
        self.data += self.rng.randbytes(self.rng.randint(0, 9))
        self.data += piece
        return len(self.data) - len(piece)

    def patch(self, new: bytes) -> tuple[bytes, list[str]]:
        """An old version that is made up, and the patch that makes the new one of it."""
        rng = self.rng
        cuts = [0, *sorted(rng.sample(range(1, len(new)), rng.randint(4, 6))), len(new)]
        pieces = [new[start:end] for start, end in zip(cuts, cuts[1:], strict=False)]
        fresh = rng.randrange(len(pieces))
        order = [at for at in range(len(pieces)) if at != fresh]
        rng.shuffle(order)
        old, places = b"", dict[int, int]()
        for at in order:
            old += rng.randbytes(rng.randint(1, 9))
            places[at] = len(old)
            old += pieces[at]
        lines = [
            f"copy {places[at]} {len(piece)}" if at in places else f"new {self.keep(piece)} {len(piece)}"
            for at, piece in enumerate(pieces)
        ]
        return old + rng.randbytes(len(pieces[fresh])), lines

    def stray(self, old: bytes) -> list[str]:
        """A patch that could be made to a version, but is not to be."""
        middle = self.rng.randrange(len(old))
        piece = self.rng.randbytes(self.rng.randint(4, 40))
        return [
            f"copy 0 {middle}",
            f"new {self.keep(piece)} {len(piece)}",
            f"copy {middle} {len(old) - middle}",
        ]


def _lines(rows: Iterable[str]) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


def _sum(data: bytes) -> str:
    return md5(data, usedforsecurity=False).hexdigest()


def _history(data: bytes, count: int, pool: _Pool) -> tuple[list[bytes], list[list[str]]]:
    """Versions from the oldest to the file itself, and the patches between them."""
    versions, patches = [data], list[list[str]]()
    for _ in range(count):
        old, patch = pool.patch(versions[0])
        versions.insert(0, old)
        patches.insert(0, patch)
    return versions, patches


def _names(count: int, suffix: str, rng: Random) -> list[str]:
    return [f"{rng.getrandbits(32):08x}.{suffix}" for _ in range(count)]


def _series(data: bytes, pool: _Pool, rng: Random) -> Hidden:
    versions, patches = _history(data, 4, pool)
    names = _names(6, "patch", rng)
    kept = sorted(rng.sample(range(6), 4))
    files, listed, at = dict[str, bytes](), list[str](), 0
    for number, name in enumerate(names):
        good = number in kept
        files[name] = _lines(patches[at] if good else pool.stray(versions[at]))
        listed.append(name if good else f"# {name} withdrawn")
        at += good
    sizes = [f"{names[number]} {len(version)}" for number, version in zip(kept, versions[1:], strict=True)]
    return Hidden(
        files={"old": versions[0], "pool": pool.data, "series": _lines(listed), **files},
        how=f"""The file is kept as an old version, `old`, and a series of patches.

{LANGUAGE}

`series`
names the patches in the order in which they are made, each to what the one before left; a line that
starts with # names one that was withdrawn and is not made. What the last one leaves is the file.""",
        restore=APPLY.strip()
        + r"""
cp "$IN/old" "$WORK/version"
grep -v '^#' "$IN/series" > "$WORK/series"
while read -r name; do
    apply "$WORK/version" "$IN/$name" "$WORK/new"
    mv "$WORK/new" "$WORK/version"
    echo "$name $(wc -c < "$WORK/version")"
done < "$WORK/series" > "$WORK/report"
cp "$WORK/version" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""one line for each patch that is made, in order: its name, a space, and the size in
bytes of the version it leaves.""",
        report="\n".join(sizes),
        idle=frozenset(name for number, name in enumerate(names) if number not in kept),
    )


def _backwards(data: bytes, pool: _Pool, rng: Random) -> Hidden:
    # Here the patches lead from the newest version back to the file, and on to older ones.
    versions, patches = _history(data, 4, pool)
    steps = [*patches, pool.stray(data), pool.stray(data)]
    first = rng.randint(20, 60)
    revisions = sorted(rng.sample(range(first, first + 40), len(steps) + 1), reverse=True)
    files = {f"to-{revision}": _lines(step) for revision, step in zip(revisions[1:], steps, strict=True)}
    labels = ["tested", "shown", "delivered", "planned"]
    tags = [f"{label} {revisions[at]}" for label, at in zip(labels, (6, 2, 4, 1), strict=True)]
    rng.shuffle(tags)
    passed = zip(revisions[1:5], versions[1:], strict=True)
    return Hidden(
        files={f"newest-{revisions[0]}": versions[0], "pool": pool.data, "tags": _lines(tags), **files},
        how=f"""The file is kept as the newest revision and patches that lead back.

{LANGUAGE}

`newest-N`
is the newest revision, and N its number. `to-N` is the patch that makes revision N of the next newer one
that there is (not all numbers are there; a newer revision has a higher one). `tags` has a line for each
tag, its name and the number of a revision. The revision that is tagged `delivered` is the file.""",
        restore=APPLY.strip()
        + r"""
cp "$IN"/newest-* "$WORK/version"
wanted=$(sed -n 's/^delivered //p' "$IN/tags")
for patch in "$IN"/to-*; do echo "${patch##*-}"; done | sort -nr > "$WORK/revisions"
while read -r revision && [ "$revision" -ge "$wanted" ]; do
    apply "$WORK/version" "$IN/to-$revision" "$WORK/new"
    mv "$WORK/new" "$WORK/version"
    echo "$revision $(wc -c < "$WORK/version")"
done < "$WORK/revisions" > "$WORK/report"
cp "$WORK/version" "$OUT"
cp "$WORK/report" "$REPORT"
""",
        report_rule="""one line for each revision on the way back, from the one before the newest to the
one that is wanted: its number, a space, and its size in bytes.""",
        report="\n".join(f"{revision} {len(version)}" for revision, version in passed),
        idle=frozenset(f"to-{revision}" for revision in revisions[5:]),
    )


ALONG_PARENTS = r"""
commit=$(sed -n 's/^release //p' "$IN/branches")
while [ "$commit" != none ]; do
    echo "$commit"
    commit=$(sed -n 's/^parent //p' "$IN/commits/$commit")
    [ -n "$commit" ] || exit 1
done > "$WORK/back"
tac "$WORK/back" > "$WORK/commits"
: > "$WORK/version"
while read -r commit; do
    apply "$WORK/version" "$IN/commits/$commit" "$WORK/new"
    mv "$WORK/new" "$WORK/version"
    echo "$commit $(md5sum < "$WORK/version" | cut -c1-8)"
done < "$WORK/commits" > "$WORK/report"
cp "$WORK/version" "$OUT"
cp "$WORK/report" "$REPORT"
"""


def _branches(data: bytes, pool: _Pool, rng: Random) -> Hidden:
    versions, patches = _history(data, 3, pool)
    patches.insert(0, [f"new {pool.keep(versions[0])} {len(versions[0])}"])
    ids = [f"{rng.getrandbits(40):010x}" for _ in range(8)]
    trunk, others = ids[:4], ids[4:]
    commits = dict[str, list[str]]()
    for parent, commit, patch in zip(["none", *trunk], trunk, patches, strict=False):
        commits[commit] = [f"parent {parent}", *patch]
    # Two branches that left the trunk, one of them went further than it, and one commit of no branch.
    for parent, commit, at in zip(
        (trunk[1], others[0], trunk[3], others[1]), others, (1, 1, 3, 2), strict=True
    ):
        commits[commit] = [f"parent {parent}", *pool.stray(versions[at])]
    tips = [f"release {trunk[-1]}", f"trial {others[1]}", f"next {others[2]}"]
    rng.shuffle(tips)
    return Hidden(
        files={
            "branches": _lines(tips),
            "pool": pool.data,
            **{f"commits/{commit}": _lines(lines) for commit, lines in commits.items()},
        },
        how=f"""The file is kept as a history of commits.

{LANGUAGE}

Each file in `commits/` is a commit,
called by its name: the line `parent NAME` says which commit came before it, or `parent none` that none
did; the rest is a patch to the version of its parent, or to an empty file. `branches` has a line for
each branch: its name, and that of its last commit. The version of the last commit of `release` is the
file.""",
        restore=APPLY.strip() + ALONG_PARENTS,
        report_rule="""one line for each commit from the first one to the last one of `release`: its
name, a space, and the first eight digits of the MD5 sum of its version.""",
        report="\n".join(f"{at} {_sum(version)[:8]}" for at, version in zip(trunk, versions, strict=True)),
        idle=frozenset(f"commits/{commit}" for commit in others),
    )


ALONG_CHECKSUMS = r"""
cd "$IN"
sum=$(cat wanted.md5)
old=$(md5sum < old | cut -d' ' -f1)
# Backwards, since no two patches give the same version.
while [ "$sum" != "$old" ]; do
    patch=$(grep -lx "gives $sum" ./*.patch)
    echo "$patch"
    sum=$(sed -n 's/^fits //p' "$patch")
done > "$WORK/back"
tac "$WORK/back" > "$WORK/way"
cp old "$WORK/version"
while read -r patch; do
    apply "$WORK/version" "$patch" "$WORK/new"
    [ "$(md5sum < "$WORK/new" | cut -d' ' -f1)" = "$(sed -n 's/^gives //p' "$patch")" ]
    mv "$WORK/new" "$WORK/version"
done < "$WORK/way"
cp "$WORK/version" "$OUT"
sed 's/^\.\///' "$WORK/way" > "$REPORT"
"""


def _by_checksum(data: bytes, pool: _Pool, rng: Random) -> Hidden:
    versions, patches = _history(data, 4, pool)
    names = _names(8, "patch", rng)
    sums = [_sum(version) for version in versions]
    fits = dict[str, list[str]]()
    for at, patch in enumerate(patches):
        fits[names[at]] = [f"fits {sums[at]}", f"gives {sums[at + 1]}", *patch]
    # Ways that lead elsewhere: two from versions on the way, one on from there, one from a lost version.
    stray, lost = _sum(rng.randbytes(9)), _sum(rng.randbytes(9))
    for name, start in zip(names[4:], (sums[1], sums[3], stray, lost), strict=True):
        end = stray if start == sums[1] else _sum(rng.randbytes(9))
        fits[name] = [f"fits {start}", f"gives {end}", *pool.stray(versions[1])]
    return Hidden(
        files={
            "old": versions[0],
            "pool": pool.data,
            "wanted.md5": f"{sums[-1]}\n".encode(),
            **{name: _lines(lines) for name, lines in sorted(fits.items())},
        },
        how=f"""The file is kept as an old version, `old`, and patches in no order, some of which lead
elsewhere.

{LANGUAGE}

In each `.patch` file the line `fits SUM` has the MD5 sum of the version it can be
made to, and `gives SUM` that of the version it leaves. `wanted.md5` has the MD5 sum of the file. There
is one way from `old` to it.""",
        restore=APPLY.strip() + ALONG_CHECKSUMS,
        report_rule="the names of the patches that are made, in order, one a line.",
        report="\n".join(names[:4]),
        idle=frozenset(names[4:]),
    )


OPERATOR = PatchSeries()
