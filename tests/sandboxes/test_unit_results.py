"""What single tests said, read from what a verifier left."""

from __future__ import annotations

import json

import pytest

from sandboxes.unit_results import (
    MAX_NAME,
    MAX_UNITS,
    UnitResult,
    of_ctrf,
    of_pytest,
    of_runner,
    of_tap,
)

UNITS = {"00-seed": "00-seed", "10-manifest": "10-manifest"}


def said(*units: UnitResult) -> dict[str, bool]:
    return {unit.name: unit.passed for unit in units}


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("== 00-seed: 1\n== 10-manifest: 0\n", {"units/00-seed": True, "units/10-manifest": False}),
        ("== 00-seed: 1.5\n== 10-manifest: 0.99\n", {"units/00-seed": True, "units/10-manifest": False}),
        ("no newline at its end== 00-seed: 1\r\n", {"units/00-seed": True}),
        ("== 00-seed: nan\n", {"units/00-seed": False}),
        ("== 00-seed: \n", {"units/00-seed": False}),
        ("== 99-other: 1\n== 00-seed\n", {}),
        ("== 00-seed: 1 and more\n", {}),
        ("== 00-seed: 0\n== 00-seed: 1\n", {"units/00-seed": False, "units/00-seed (2)": True}),
        ("ok 1 - not the runner's\n", {}),
    ],
)
def test_an_evolved_tasks_runner_tells_its_units(output: str, expected: dict[str, bool]) -> None:
    assert said(*of_runner(output.encode(), UNITS)) == expected


def test_a_unit_that_ran_under_another_name_is_told_by_its_own() -> None:
    output = b"== 00-manifest: 0\n== 01-seed: 1\n"
    names = {"00-manifest": "10-manifest", "01-seed": "00-seed"}
    assert of_runner(output, names) == (
        UnitResult("units/00-seed", passed=True),
        UnitResult("units/10-manifest", passed=False),
    )


def test_without_units_the_runner_tells_nothing() -> None:
    assert of_runner(b"== 00-seed: 1\n== : 1\n", {}) == ()


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("1..2\nok 1 - lock.tsv was written\nnot ok 2 - order\n#   missing\n",
         {"lock.tsv was written": True, "order": False}),
        ("ok 1\nnot ok 2\n", {"1": True, "2": False}),
        ("ok 1 without a dash\n", {"without a dash": True}),
        ("ok 1 - a\nok 2 - a\nnot ok 3 - a\n", {"a": True, "a (2)": True, "a (3)": False}),
        ("    ok 1 - of a test within\n#   ok 2 - quoted\nnot okay 3\nok then\n", {}),
        ("ok 1 - a # SKIP no tool\nnot ok 2 - b # TODO later\nok 3 # skip\nok 4 - b #2\n", {"b #2": True}),
        ("ok 1 - \x1b[32mgreen\x1b[0m\x07 \x1b]8;;x:y\x07link\n", {"green\ufffd link": True}),
        ("ok 1 - a\x00b\u202ec\n", {"a\ufffdb\ufffdc": True}),
    ],
)  # fmt: skip
def test_tap_tells_tests_by_their_descriptions(output: str, expected: dict[str, bool]) -> None:
    assert said(*of_tap(output.encode())) == expected


def test_bytes_that_are_no_text_can_be_stored() -> None:
    (unit,) = of_tap(b"not ok 1 - \xff\xfe \xed\xa0\x80\n")
    assert unit.name.encode() and not unit.passed


def test_long_names_are_cut_and_stay_apart() -> None:
    long = "x" * 5000
    units = of_tap(f"ok 1 - {long}a\nnot ok 2 - {long}b\n".encode())
    assert [len(unit.name) for unit in units] == [MAX_NAME, MAX_NAME + len(" (2)")]


def test_more_than_can_be_kept_are_none_and_not_a_part() -> None:
    lines = [f"ok {number} - n{number}\n" for number in range(MAX_UNITS + 1)]
    assert len(of_tap("".join(lines[:-1]).encode())) == MAX_UNITS
    assert of_tap("".join(lines).encode()) == ()


def ctrf(*tests: object) -> bytes:
    return json.dumps({"results": {"tool": {"name": "pytest"}, "tests": list(tests)}}).encode()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (ctrf({"name": "a", "status": "passed"}, {"name": "b", "status": "failed"}), {"a": True, "b": False}),
        (ctrf({"name": "a", "status": "skipped"}, {"name": "b", "status": "pending"}), {}),
        (ctrf({"name": "a", "status": ["passed"]}, 7, None, {"status": "passed"}),
         {"without a name": True}),
        (ctrf({"name": {"x": 1}, "status": "failed"}), {"{'x': 1}": False}),
        (b'{"results": []}', {}),
        (b'{"results": {"tests": {"name": "a"}}}', {}),
        (b"[" * 100_000, {}),
        (b"\xff", {}),
        (b"", {}),
    ],
)  # fmt: skip
def test_a_ctrf_report_tells_what_passed_and_failed(data: bytes, expected: dict[str, bool]) -> None:
    assert said(*of_ctrf(data)) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"name": "t.py::a", "passed": true}\n{"name": "t.py::b", "passed": false}\n{"shuffled": true}\n',
         {"t.py::a": True, "t.py::b": False}),
        (b'{"name": "t.py::a", "passed": "yes"}\n', {"t.py::a": False}),
        (b'{"name": "t.py::a", "passed": true}\n{"name": "t.py', {}),
        (b"[1]\n", {}),
        (b"", {}),
    ],
)  # fmt: skip
def test_the_pytest_plugins_report_is_whole_or_nothing(data: bytes, expected: dict[str, bool]) -> None:
    assert said(*of_pytest(data)) == expected
