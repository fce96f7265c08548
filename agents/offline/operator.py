"""What an offline operator is, and the two kinds there are.

An operator makes one changed pair of a plan real: what is delivered, one sentence of requirement with its
note, one solution step, one test unit. An `Obstacle` stands before an input: it takes the pristine bytes
away and delivers them in another shape. A `Dependent` step follows an output. Both are pure: bytes in,
text and bytes out, all chance from the `Random` they are handed; nothing is run.

Each operator is one file in `operators/` that can be read, tested and deleted alone.
"""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from random import Random
from typing import ClassVar

from agents.plan import Direction, Pair

MAX_BYTES = 1 << 20
"""Larger inputs are left alone: every shape of one is stored in the child, and again in its children."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One member of a family. `label` is the scenario or the skill that it stands for; `tool` carries it."""

    name: str
    label: str
    tool: str


@dataclass(frozen=True, slots=True)
class Subject:
    """What an operator works on.

    `path` is a container path, `pair` the key of the pair it belongs to, `depth` how many obstacles already
    stand before that input. `data` is empty for an output, whose content only a run could tell; `siblings`
    are the task's other outputs.
    """

    path: str
    pair: str
    data: bytes = b""
    depth: int = 0
    output: bool = False
    siblings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Site:
    """Where one use of an operator puts things; `ordinal` counts the uses of a lineage from 1."""

    ordinal: int
    operator: str
    desk: str

    @property
    def name(self) -> str:
        return f"{self.ordinal:02d}-{self.operator.replace('_', '-')}"

    @property
    def folder(self) -> str:
        return f"{self.desk}/{self.name}"

    @property
    def note(self) -> str:
        return f"{self.folder}.md"

    @property
    def report(self) -> str:
        return f"{self.folder}.report"


@dataclass(frozen=True, slots=True)
class Part:
    """One use of an operator.

    `delivered` and `artifacts` are container paths, `needed` those of `delivered` that the step depends on;
    `step` and `unit` are bash scripts.
    """

    delivered: Mapping[str, bytes]
    needed: tuple[str, ...]
    note: str
    step: str
    unit: str
    artifacts: tuple[str, ...]


class Operator(ABC):
    """`before` says whether its step runs before the seed's own solution, or after it."""

    name: ClassVar[str]
    direction: ClassVar[Direction]
    before: ClassVar[bool]
    tools: ClassVar[frozenset[str]]
    variants: ClassVar[tuple[Variant, ...]]

    def variant(self, name: str) -> Variant:
        """Raises `KeyError` for a name that the family does not have."""
        return {variant.name: variant for variant in self.variants}[name]

    @abstractmethod
    def refusal(self, subject: Subject) -> str:
        """Why this operator cannot work on the subject, as half a sentence; empty if it can."""

    @abstractmethod
    def requirement(self, subject: Subject, site: Site) -> str:
        """One short sentence for the instruction, whose words are few; all else stands in the note."""

    @abstractmethod
    def pair(self, old: Pair | None, subject: Subject, variant: Variant, site: Site) -> Pair:
        """The pair as it stands in the child's sequence; `old` is the one it replaces, None for a new one."""

    @abstractmethod
    def make(self, subject: Subject, variant: Variant, site: Site, rng: Random) -> Part:
        """The same arguments (and state of `rng`) give the same bytes."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """An input in another shape.

    `files` are relative to the site's folder. `how` describes the shape for the note. `restore` is bash that
    makes "$OUT" from the folder "$IN" and leaves the report's text in "$REPORT"; it may use the empty
    folder "$WORK". `report` is what that text must be, and `report_rule` says so in words. `idle` are the
    files that the restoration could do without: decoys, superseded states.
    """

    files: Mapping[str, bytes]
    how: str
    restore: str
    report_rule: str
    report: str
    idle: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Obstacle(Operator):
    """Takes an input away. Its unit pins the restored bytes and the report, which differs by variant."""

    before: ClassVar[bool] = True
    least_bytes: ClassVar[int] = 32
    text_only: ClassVar[bool] = False

    @abstractmethod
    def hide(self, data: bytes, variant: Variant, rng: Random) -> Hidden:
        """The shape that stands in for `data`."""

    def refusal(self, subject: Subject) -> str:
        data = subject.data
        if subject.output:
            return "it works on inputs"
        if not self.least_bytes <= len(data) <= MAX_BYTES:
            return f"it takes files of {self.least_bytes} bytes to 1 MiB, and this one has {len(data)}"
        if self.text_only and not is_text(data):
            return "it takes text of at least four lines that ends with a newline"
        return ""

    def requirement(self, subject: Subject, site: Site) -> str:
        return f"Restore `{subject.path}`: see `{site.note}`."

    def pair(self, old: Pair | None, subject: Subject, variant: Variant, site: Site) -> Pair:
        if old is None:
            return Pair(
                key=f"len:{site.ordinal}",
                scenario="input kept somewhere else",
                skill=variant.label,
                tool=variant.tool,
                origin="owned",
                target=subject.path,
            )
        if self.direction is Direction.SCENARIO:
            return old.model_copy(update={"scenario": variant.label, "origin": "owned"})
        return old.model_copy(update={"skill": variant.label, "tool": variant.tool, "origin": "owned"})

    def make(self, subject: Subject, variant: Variant, site: Site, rng: Random) -> Part:
        hidden = self.hide(subject.data, variant, rng)
        names = {"IN": site.folder, "OUT": subject.path, "REPORT": site.report}
        return Part(
            delivered={f"{site.folder}/{name}": data for name, data in hidden.files.items()},
            needed=tuple(f"{site.folder}/{name}" for name in sorted(hidden.files) if name not in hidden.idle),
            note=_obstacle_note(subject, site, hidden),
            step=STEP.format(
                title=f"{site.name}: {variant.label}", names=assignments(names), body=hidden.restore.strip()
            ),
            unit=_pin(subject, site, variant, hidden, names),
            artifacts=(subject.path, site.report),
        )


def is_text(data: bytes) -> bool:
    return data.endswith(b"\n") and data.count(b"\n") >= 4 and b"\0" not in data and b"\r" not in data


def assignments(names: Mapping[str, str]) -> str:
    return "\n".join(f"{name}={shlex.quote(path)}" for name, path in names.items())


def _obstacle_note(subject: Subject, site: Site, hidden: Hidden) -> str:
    return f"""# {site.name}

{hidden.how.strip()}

What is expected:

- `{subject.path}`: the original file, {len(subject.data)} bytes, byte for byte, as a regular file
  (make its folder if it is not there). Other work on this task starts from it; leave it as it is.
- `{site.report}`: {hidden.report_rule.strip()}
  Every line of it, the last one too, ends with a newline.

What was delivered is in `{site.folder}/`; leave that as it is, apart from what other requirements restore
there.
"""


STEP = """#!/bin/bash
# Step {title}.
set -euo pipefail
export LC_ALL=C
{names}
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
mkdir -p "$(dirname "$OUT")"

{body}
"""

UNIT = """#!/bin/bash
# Unit {title}.
# Exits 0 if it holds; says on standard error what does not.
set -u
export LC_ALL=C
{names}
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
fail() {{ echo "unit {name}: $1" >&2; exit 1; }}

{body}
"""


def _pin(subject: Subject, site: Site, variant: Variant, hidden: Hidden, names: Mapping[str, str]) -> str:
    body = f"""
[ -f "$OUT" ] && [ ! -L "$OUT" ] || fail "$OUT was not restored as a regular file"
sum=$(sha256sum < "$OUT" | cut -d' ' -f1)
[ "$sum" = {sha256(subject.data).hexdigest()} ] || fail "$OUT is not the original, byte for byte"

# {variant.name}: {" ".join(hidden.report_rule.split())}
[ -f "$REPORT" ] && [ ! -L "$REPORT" ] || fail "$REPORT is missing"
cat > "$WORK/expected" <<'END_OF_REPORT'
{hidden.report.rstrip(chr(10))}
END_OF_REPORT
# Whether the last line ends with a newline changes nothing.
[ "$(cat "$REPORT")" = "$(cat "$WORK/expected")" ] || fail "$REPORT does not hold what its note asks for"
"""
    title = f"{site.name}: {subject.path} is back"
    wanted = {name: names[name] for name in ("OUT", "REPORT")}
    return UNIT.format(title=title, name=site.name, names=assignments(wanted), body=body.strip())


@dataclass(frozen=True, slots=True)
class Derived:
    """A file made from an output.

    `how` describes it for the note. `write` is bash that makes "$OUT" from "$SRC" (and "$IN", the delivered
    folder with `files`); `check` is bash that calls `fail` unless "$OUT" is right for the "$SRC" that it
    finds. `about` are further outputs that the check needs.
    """

    how: str
    write: str
    check: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    about: tuple[str, ...] = ()


NEWLINES = "Every line of text in it, the last one too, ends with a newline."
BINARY = frozenset(
    "pkg gz tgz tar zip xz bz2 7z db sqlite sqlite3 png jpg jpeg gif pdf bin so o a pyc npy npz pkl".split()
)


@dataclass(frozen=True)
class Dependent(Operator):
    """A step after an output. Its unit recomputes the new file from the output that the solver left.

    That is sound because unit 00 judges the output itself, and the reward is the least of all units.
    """

    direction: ClassVar[Direction] = Direction.LENGTH
    before: ClassVar[bool] = False
    suffix: ClassVar[str]
    scenario: ClassVar[str]

    @abstractmethod
    def derive(self, subject: Subject, variant: Variant, rng: Random) -> Derived:
        """The new file."""

    def refusal(self, subject: Subject) -> str:
        if not subject.output:
            return "it works on outputs"
        name = subject.path.rsplit("/", 1)[-1]
        if "." in name and name.rsplit(".", 1)[-1].lower() in BINARY:
            return "it works on text, and this output is binary by its name"
        return ""

    def made(self, subject: Subject, site: Site) -> str:
        """The container path of the new file."""
        return f"{site.folder}.{self.suffix}"

    def requirement(self, subject: Subject, site: Site) -> str:
        return f"Write `{self.made(subject, site)}`: see `{site.note}`."

    def pair(self, old: Pair | None, subject: Subject, variant: Variant, site: Site) -> Pair:
        return Pair(
            key=f"len:{site.ordinal}",
            scenario=self.scenario,
            skill=variant.label,
            tool=variant.tool,
            origin="owned",
            target=self.made(subject, site),
        )

    def make(self, subject: Subject, variant: Variant, site: Site, rng: Random) -> Part:
        derived = self.derive(subject, variant, rng)
        made = self.made(subject, site)
        names = {"IN": site.folder, "SRC": subject.path, "OUT": made}
        body = f"""
[ -f "$SRC" ] && [ -s "$SRC" ] || fail "$SRC, which this is about, is missing or empty"
[ -f "$OUT" ] && [ ! -L "$OUT" ] || fail "$OUT is missing"

{derived.check.strip()}
"""
        last = f"Write it to `{made}`, after `{subject.path}` is finished.\n{NEWLINES}"
        note = f"# {site.name}\n\n{derived.how.strip()}\n\n{last}\n"
        wanted = {name: names[name] for name in ("SRC", "OUT")}
        title = f"{site.name}: {made} fits {subject.path}"
        return Part(
            delivered={f"{site.folder}/{name}": data for name, data in derived.files.items()},
            needed=tuple(f"{site.folder}/{name}" for name in sorted(derived.files)),
            note=note,
            step=STEP.format(
                title=f"{site.name}: {variant.label}", names=assignments(names), body=derived.write.strip()
            ),
            unit=UNIT.format(title=title, name=site.name, names=assignments(wanted), body=body.strip()),
            artifacts=(subject.path, *derived.about, made),
        )
