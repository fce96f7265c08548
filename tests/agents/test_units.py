"""What each unit says of each result, as scripts of ours in a folder; sandboxes run a sample elsewhere."""

from __future__ import annotations

import subprocess
from pathlib import Path
from random import Random

import pytest

from agents.offline.families import families
from agents.offline.operator import Dependent, Part, Site, Subject
from tests.agents.growing import DESK
from tests.agents.tasks import orders

SHAPES = [(name, variant.name) for name, operator in families().items() for variant in operator.variants]
DEPENDENTS = frozenset(name for name, operator in families().items() if isinstance(operator, Dependent))
SITE = Site(7, "any_operator", DESK)


@pytest.mark.parametrize(("name", "variant"), SHAPES)
def test_a_unit_holds_after_its_step_and_not_without_it(name: str, variant: str, tmp_path: Path) -> None:
    part = part_in(tmp_path / "app", name, variant)
    status, said = run(part.unit)
    assert status == 1
    assert said.startswith(f"unit {SITE.name}: ")
    assert run(part.step) == (0, "")
    assert run(part.unit) == (0, "")


def part_in(app: Path, name: str, variant: str) -> Part:
    """What a shape makes of a file in a folder of ours, with all that it delivers in place."""
    operator, output_, sibling = families()[name], app / "totals.txt", app / "other.txt"
    if name in DEPENDENTS:
        subject = Subject(str(output_), "", output=True, siblings=(str(sibling),))
    else:
        subject = Subject(str(app / "orders.csv"), "", data=orders().encode())
    site = Site(SITE.ordinal, SITE.operator, str(app / "handover"))
    part = operator.make(subject, operator.variant(variant), site, Random(variant))
    (app / "handover").mkdir(parents=True)
    for path, data in part.delivered.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(data)
    if name in DEPENDENTS:
        output_.write_text("east 7\nnorth 42\nsouth 042\n")
        sibling.write_text("one more\n")
    return part


def run(script: str) -> tuple[int, str]:
    """Its exit code, and what it said."""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(("name", "variant"), [shape for shape in SHAPES if shape[0] not in DEPENDENTS])
def test_a_reports_last_newline_decides_nothing(name: str, variant: str, tmp_path: Path) -> None:
    part = part_in(tmp_path / "app", name, variant)
    assert run(part.step) == (0, "")
    report = Path(part.artifacts[-1])
    report.write_bytes(report.read_bytes().rstrip(b"\n"))
    assert run(part.unit) == (0, "")


SPOILS = {
    "nothing": "rm {file}",
    "an empty file": ": > {file}",
    "a link to the right content": "cp {file} {file}.copy; ln -sf {file}.copy {file}",
    "a folder": "rm {file}; mkdir {file}",
    "a FIFO": "rm {file}; mkfifo {file}",
    "a byte too many": "printf x >> {file}",
    "a first byte too few": "tail -c +2 {file} > {file}.rest; mv {file}.rest {file}",
}


@pytest.mark.parametrize("name", sorted(families()))
def test_a_unit_refuses_whatever_else_stands_in_the_place_of_a_result(name: str, tmp_path: Path) -> None:
    """Of obstacles one shape, since the frame judges; a dependent step's shapes judge by themselves."""
    variants = families()[name].variants
    for variant in variants if name in DEPENDENTS else variants[:1]:
        app = tmp_path / variant.name
        part = part_in(app, name, variant.name)
        assert run(part.step) == (0, "")
        given = (str(app / "totals.txt"), str(app / "other.txt"))
        results = [path for path in part.artifacts if Path(path).is_file() and path not in given]
        assert results
        run(f"cp -a {app} {app}.right")
        for file in results:
            for what, spoil in SPOILS.items():
                if (name, what) == ("sealed_archive", "a byte too many"):
                    continue  # What comes behind the end of an archive is not in it.
                assert run(spoil.format(file=file)) == (0, "")
                status, said = run(part.unit)
                assert status == 1, (variant.name, file, what)
                assert f"unit {SITE.name}: " in said
                run(f"rm -r {app}; cp -a {app}.right {app}")
        assert run(part.unit) == (0, "")


def test_nothing_that_an_index_of_members_says_is_carried_out(tmp_path: Path) -> None:
    """An empty output can be unpacked from any length, and bash would look up what stands in brackets."""
    part = part_in(tmp_path / "app", "sealed_archive", "members")
    (tmp_path / "app" / "other.txt").write_text("")
    assert run(part.step) == (0, "")
    package = Path(next(path for path in part.artifacts if path.endswith(".pkg")))
    index, mark, streams = package.read_bytes().partition(b"--\n")
    member, offset, _, _ = next(line for line in index.splitlines() if line.endswith(b" 0")).split()
    planted = b"%s %s count[$(touch${IFS}%s/done)] 0" % (member, offset, str(tmp_path).encode())
    lines = [planted if line.startswith(member) else line for line in index.splitlines()]
    package.write_bytes(b"".join(line + b"\n" for line in lines) + mark + streams)
    status, said = run(part.unit)
    assert (status, f"the length of {member.decode()} is no number" in said) == (1, True)
    assert not (tmp_path / "done").exists()
