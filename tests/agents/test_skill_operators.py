"""What the operators of direction skill, and the two that report and export, have to themselves."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from agents.offline.families import families
from agents.offline.operator import MAX_BYTES, Obstacle, Part, Site, Subject, is_text
from agents.plan import Direction, Pair, Sequence
from lineages.difficulty import difficulty, idle_levers, shipped
from sandboxes.files import TaskFile
from sandboxes.task import Task
from sandboxes.trial import Solver, Trial, TrialOutcome, oracle
from tests.agents.conftest import output
from tests.agents.growing import DESK, Grown, built, plan_of
from tests.agents.tasks import ORDERS, TOTALS, regions

NEW = (
    "bit_streams",
    "computed_order",
    "error_corrected",
    "incremental_report",
    "legacy_export",
    "line_sets",
    "packed_binary",
)
SHAPES = [(name, variant.name) for name in NEW for variant in families()[name].variants]
SKILLS = [
    (name, variant.name)
    for name, operator in families().items()
    if operator.direction is Direction.SKILL and name in NEW
    for variant in operator.variants
]
PLAIN = ("plain csv file", "plain text file", "plain log file", "plain json file", "plain binary file")
READERS = frozenset("awk sort grep cut sed cat head".split())
"""What a solution reads a plain input with, where the reference table knows it for that kind of file."""


@pytest.mark.parametrize(("name", "variant"), SKILLS)
def test_the_skill_becomes_rarer_for_every_plain_input(name: str, variant: str) -> None:
    operator, reference = families()[name], shipped()
    domains = sorted({domain for domain, _, _ in reference.joint})
    for scenario in PLAIN:
        known = {tool for _, found, tool in reference.joint if found == reference.classify(scenario)}
        assert known & READERS
        for reader in sorted(known & READERS):
            old = Pair(key="in:x", scenario=scenario, skill="read records", tool=reader, origin="implicit")
            new = operator.pair(old, Subject("/x", "in:x"), operator.variant(variant), Site(1, name, DESK))
            before, after = Sequence(pairs=(old,)), Sequence(pairs=(new,))
            for domain in domains:
                assert idle_levers(Direction.SKILL, before, after, domain, reference) == []
                one, two = (difficulty(sequence, domain, reference) for sequence in (before, after))
                assert two.novelty == one.novelty


CONTENT = {
    "NUL and every other byte": bytes(range(256)) * 3,
    "zeros": bytes(64),
    "thirty-two bytes": b"0123456789abcdef" * 2,
    "thirty-two empty lines": b"\n" * 32,
    "one byte over and over": b"a" * 33,
    "a long line without an end": b"word " * 4000,
    "random bytes": Random("r").randbytes(3001),
    "line that repeats": b"1,north,7\n" * 40,
    "rows that look like rows": b"0000001\tx\n\n0000001\n\t\n" * 9,
}


@pytest.mark.parametrize(("name", "variant"), SKILLS)
def test_bytes_of_any_kind_come_back_from_the_delivery_alone(name: str, variant: str, tmp_path: Path) -> None:
    """Run here, as scripts of ours in a folder: what a sandbox adds is tested with the other operators."""
    operator = families()[name]
    for label, data in CONTENT.items():
        subject = Subject("/app/data/in", "in", data=data)
        if operator.refusal(subject):
            assert isinstance(operator, Obstacle)
            assert operator.text_only
            assert not is_text(data)
            continue
        part = operator.make(subject, operator.variant(variant), Site(3, name, DESK), Random(label))
        root = tmp_path / label
        assert data not in part.delivered.values()
        assert carried_out(part, root) == (0, b""), label
        assert (root / "app/data/in").read_bytes() == data


OUTPUTS = {
    "no last newline": b"one\ntwo",
    "empty lines": b"\n\n a\n\n",
    "tabs and backspaces": b"a\tb\x08\x08\tc\n\t\n\\:\\:\\:\n",
    "carriage returns": b"a\r\nb\r\n",
    "NUL bytes": b"a\0b\n\0\nz\n",
    "long lines": b"x" * 9000 + b"\n" + b"y\t" * 300 + b"\n",
    "high bytes": "naïve 東京\n".encode() * 7 + b"\xff\xfe\n",
    "shell words": b"$(x) `y` %s %d \\n *\n-n\n-- page 1 of 2 --\n== b 3\n" * 3,
    "many": b"".join(b"%d,%d\n" % (n, n * n % 97) for n in range(700)),
}


@pytest.mark.parametrize(("name", "variant"), [shape for shape in SHAPES if shape not in SKILLS])
def test_outputs_of_any_kind_are_reported_and_exported_alike_by_step_and_unit(
    name: str, variant: str, tmp_path: Path
) -> None:
    operator = families()[name]
    for label, data in OUTPUTS.items():
        part = operator.make(
            Subject("/app/out", "", output=True),
            operator.variant(variant),
            Site(3, name, DESK),
            Random(label),
        )
        root = tmp_path / label
        write(root / "app/out", data)
        assert carried_out(part, root) == (0, b""), label


def carried_out(part: Part, root: Path) -> tuple[int, bytes]:
    """The step and then the unit in a folder that stands for `/app`: the unit's exit code, what both say."""
    for path, data in part.delivered.items():
        write(root / path.lstrip("/"), data)
    (root / DESK.lstrip("/")).mkdir(parents=True, exist_ok=True)
    said = b""
    for number, script in enumerate((part.step, part.unit)):
        file = root / f"{number}.sh"
        file.write_text(script.replace("=/app", f"='{root}'/app"))
        done = subprocess.run(["bash", str(file)], capture_output=True, check=False)
        said += done.stdout + done.stderr
    return done.returncode, said


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def test_a_megabyte_of_zeros_can_be_told_apart_by_checksums() -> None:
    """All its pieces have the same sum; their sizes have to do."""
    operator = families()["computed_order"]
    subject = Subject(ORDERS, "in", data=bytes(MAX_BYTES))
    part = operator.make(subject, operator.variant("sums"), Site(3, "computed_order", DESK), Random(1))
    rows = part.delivered[f"{DESK}/03-computed-order/order.txt"].decode().split("\n")[:-1]
    assert {row.split()[0] for row in rows} == {"00000"}
    assert sum(int(row.split()[1]) for row in rows) == MAX_BYTES


def test_a_report_of_another_state_of_the_output_fails(attempt: Callable[[Task, Solver], Trial]) -> None:
    """The report has to fit the output as it was left; here the step runs on an output that changes later."""
    parent = Grown.seed(regions())
    child, made = built(parent, plan_of(parent, "incremental_report", "fresh", TOTALS))
    step = made.bindings[0].solution_block
    early = child.task.text(step).replace("SRC=/app/totals.txt", "SRC=/app/regions.txt")
    assert early != child.task.text(step)
    trial = attempt(child.task.replace({step: TaskFile.text(early)}), oracle)
    assert trial.outcome is TrialOutcome.FAILED, output(trial)
    assert "does not fit" in output(trial)


BASE = frozenset("awk grep sed tar gzip zcat gunzip".split())
COREUTILS = frozenset(
    """
    b2sum base32 base64 basename basenc cat cksum comm cp csplit cut date dd dirname expand expr factor fold
    head join ln ls md5sum mkdir mktemp mv nl numfmt od paste pr printf ptx readlink rm seq sha1sum sha256sum
    sha512sum shuf sort split stat sum tac tail tee touch tr truncate tsort unexpand uniq wc
    """.split()
)


def test_at_least_twelve_families_work_on_any_imported_task() -> None:
    """No tool beyond bash, coreutils, awk, grep, sed, tar and gzip, and any input or any text output."""
    anything = Subject(ORDERS, "in", data=Random("any").randbytes(4000))
    outcome = Subject(TOTALS, "", output=True)
    fitting = {
        name
        for name, operator in families().items()
        if operator.tools <= BASE | COREUTILS
        and not operator.refusal(anything if operator.before else outcome)
    }
    assert len(fitting) >= 12, sorted(fitting)
    assert {families()[name].direction for name in fitting} == set(Direction)
