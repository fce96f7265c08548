"""The obstacles of scenarios that replay, patch, page, capture and replicate; the index and the parts.

What all operators have to keep is in `test_operators.py`; here is what is special to these. Scripts of many
shapes run in one sandbox, one after the other, each in a folder of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

import pytest

from agents.offline.families import families
from agents.offline.operator import Obstacle, Operator, Part, Site, Subject, Variant
from agents.plan import Direction, Pair, Sequence
from lineages.difficulty import idle_levers, shipped
from sandboxes.base import Backend, Sandbox
from sandboxes.files import TaskFile
from tests.agents.conftest import LIMITS

NAMES = ("disagreeing_replicas", "interleaved_capture", "journal_replay", "patch_series", "record_store")
SHAPES = [(families()[name], variant) for name in NAMES for variant in families()[name].variants]
TEXT = "".join(f"{n},region {n % 7},{n * 37 % 101}\n" for n in range(1, 200)).encode()
TOTALS = b"alpha 10\nBeta 7\nalpha 3\n\ngamma,delta 0042\nlast line without an end"


@dataclass(frozen=True)
class Case:
    """One use of an operator in a folder of its own; `without` are delivered files that are not there."""

    number: int
    operator: Operator
    variant: Variant
    data: bytes
    without: frozenset[str] = frozenset()

    @property
    def place(self) -> str:
        return f"/work/{self.number}"

    @property
    def name(self) -> str:
        return f"{self.number} {self.operator.name} {self.variant.name}, {len(self.data)} bytes"

    def part(self) -> Part:
        output = not isinstance(self.operator, Obstacle)
        subject = Subject(f"{self.place}/subject", "in", data=b"" if output else self.data, output=output)
        return self.operator.make(
            subject, self.variant, Site(3, self.operator.name, f"{self.place}/desk"), Random("s")
        )

    def files(self) -> dict[str, TaskFile]:
        part = self.part()
        files = {path: TaskFile(data) for path, data in part.delivered.items() if path not in self.without}
        if not isinstance(self.operator, Obstacle):
            files[f"{self.place}/subject"] = TaskFile(self.data)
        files[f"{self.place}/step"] = TaskFile.text(part.step)
        files[f"{self.place}/unit"] = TaskFile.text(part.unit)
        return {path.removeprefix("/work/"): file for path, file in files.items()}


@pytest.fixture
def box(bubblewrap: Backend) -> Iterator[Sandbox]:
    image = bubblewrap.build({"Dockerfile": TaskFile.text("FROM debian:bookworm-slim\n")}, timeout=60)
    with bubblewrap.open(image, LIMITS, labels={"test": "agents"}) as sandbox:
        yield sandbox


@pytest.fixture
def passing(box: Sandbox) -> Callable[[list[Case]], set[str]]:
    """The names of the cases whose step runs and whose unit then holds."""

    def run(cases: list[Case]) -> set[str]:
        box.write_files({path: file for case in cases for path, file in case.files().items()}, "/work")
        script = "".join(
            f"bash {case.place}/step && bash {case.place}/unit && echo 'passed {case.name}'\n"
            for case in cases
        )
        ran = box.exec(["bash", "-c", f"{script}true"], timeout=120)
        assert ran.ok, ran.stderr
        lines = ran.stdout.decode().splitlines()
        return {line.removeprefix("passed ") for line in lines if line.startswith("passed ")}

    return run


def test_every_shape_gives_small_odd_and_binary_content_back(
    passing: Callable[[list[Case]], set[str]],
) -> None:
    contents = (b"0123456789abcdefghijklmnopqrstu\n", bytes(range(256)) * 3 + b"\0\0no end")
    cases = [
        Case(number, operator, variant, data)
        for number, (operator, variant, data) in enumerate(
            (*shape, data) for shape in SHAPES for data in contents
        )
    ]
    assert passing(cases) == {case.name for case in cases}


@pytest.mark.parametrize("name", NAMES)
def test_a_mebibyte_comes_back_too(name: str, passing: Callable[[list[Case]], set[str]]) -> None:
    operator = families()[name]
    case = Case(0, operator, operator.variants[1], Random(name).randbytes(1 << 20))
    assert passing([case]) == {case.name}


def test_what_is_idle_can_be_missing_and_what_is_needed_cannot(
    passing: Callable[[list[Case]], set[str]],
) -> None:
    whole, lacking = list[Case](), list[Case]()
    for number, (operator, variant) in enumerate(SHAPES):
        full = Case(2 * number, operator, variant, TEXT)
        part = full.part()
        whole.append(Case(full.number, operator, variant, TEXT, frozenset(part.delivered) - {*part.needed}))
        other = Case(2 * number + 1, operator, variant, TEXT).part()
        gone = Random(number).choice(other.needed)
        lacking.append(Case(2 * number + 1, operator, variant, TEXT, frozenset({gone})))
    assert passing([*whole, *lacking]) == {case.name for case in whole}


PLAIN = ("plain csv file", "plain text file", "plain log file", "plain json file", "plain config file")
READERS = ("awk", "cut", "grep", "sort", "cat", "sed", "join", "jq", "python3")


@pytest.mark.parametrize(("operator", "variant"), SHAPES, ids=lambda each: each.name)
def test_the_scenario_lever_moves_for_every_usual_input(operator: Operator, variant: Variant) -> None:
    site = Site(1, operator.name, "/app/handover")
    for scenario in PLAIN:
        for tool in READERS:
            old = Pair(key="in:/x", scenario=scenario, skill="read records", tool=tool, origin="implicit")
            new = operator.pair(old, Subject("/x", "in:/x", data=TEXT), variant, site)
            before, after = Sequence(pairs=(old,)), Sequence(pairs=(new,))
            for domain in ("data wrangling", "log forensics", "general", "some other"):
                assert idle_levers(Direction.SCENARIO, before, after, domain, shipped()) == []


FOLLOWERS = [
    (families()[name], variant)
    for name in ("ordered_index", "partition_delivery")
    for variant in families()[name].variants
]


EQUAL_NUMBERS = b"".join(b"%d00 %de2 00%d 0%d\n" % (n, n, n, n) for n in range(1, 10))
"""Words next to each other in order that are different as text and one number to a careless awk."""


def test_index_and_parts_fit_outputs_of_any_text(passing: Callable[[list[Case]], set[str]]) -> None:
    contents = (TOTALS, b"--- ...\n!!!\n", "zoë, 東京\tx\n".encode() * 3, EQUAL_NUMBERS)
    cases = [
        Case(number, operator, variant, data)
        for number, (operator, variant, data) in enumerate(
            (*shape, data) for shape in FOLLOWERS for data in contents
        )
    ]
    assert passing(cases) == {case.name for case in cases}


SPOILS = {
    "output changed afterwards": "for c in {{0..9}} {{a..z}}; do echo $c$c$c; done >> {place}/subject",
    "line missing from the result": "sed -i '$d' {result}",
    "link in place of the result": "cp {result} {place}/copy; ln -sf {place}/copy {result}",
}
SPOILT_PARTS = {
    "further file among the parts": "touch {parts}/further",
    "part that is a link": "set -- {parts}/*; cp $1 {place}/copy; ln -sf {place}/copy $1",
    "part that lost its last line": "set -- $(find {parts} -type f -size +0); sed -i '$d' $1",
    "link in place of the folder": "mv {parts} {place}/moved; ln -s {place}/moved {parts}",
}


def test_a_result_that_does_not_fit_is_refused(box: Sandbox) -> None:
    script, expected = "", list[str]()
    for number, (operator, variant) in enumerate(FOLLOWERS):
        case = Case(number, operator, variant, TOTALS)
        box.write_files(case.files(), "/work")
        made = case.part().artifacts
        names = {"place": case.place, "result": made[1], "parts": made[-1]}
        script += f"bash {case.place}/step && bash {case.place}/unit && cp -a {case.place} /tmp/kept\n"
        for what, spoil in (SPOILS | (SPOILT_PARTS if operator.name == "partition_delivery" else {})).items():
            script += (
                f"rm -r {case.place}; cp -a /tmp/kept {case.place}\n{spoil.format(**names)}\n"
                f"said=$(bash {case.place}/unit 2>&1) || [ $? != 1 ] || [[ $said != 'unit 03-'* ]] ||"
                f" echo '{case.name}: {what}'\n"
            )
            expected.append(f"{case.name}: {what}")
        script += "rm -r /tmp/kept\n"
    ran = box.exec(["bash", "-c", script], timeout=120)
    assert ran.stdout.decode().splitlines() == expected, ran.stderr


def test_the_parts_leave_the_solvers_container_as_a_folder() -> None:
    operator = families()["partition_delivery"]
    part = Case(0, operator, operator.variant("dealt"), TOTALS).part()
    folder = "/work/0/desk/03-partition-delivery.parts"
    assert part.artifacts[-1] == folder
    assert f"`{folder}`" in part.note
