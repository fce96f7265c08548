"""What the single tests of a verifier said, where it tells them apart.

All of it is text that a task's tests wrote, some of it with a solver's words in it. It is shown and compared;
no reward is made from it. Whatever is too much, cut or malformed gives no units at all: a part of them would
look like the whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from sandboxes.text import clean

MAX_UNITS = 2000
MAX_NAME = 200  # characters; the rest of a longer name is left out
MAX_REPORT_BYTES = 1 << 20  # of a report in a file

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")
_TAP = re.compile(r"^(not )?ok[ \t]+([0-9]+)\b[ \t]*(?:-[ \t]+)?(.*)$", re.MULTILINE)
_TAP_NO_ANSWER = re.compile(r"(?:^|\s)#\s*(?:skip|todo)\b.*", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class UnitResult:
    """One test's answer. `name` is the verifier's own for it, unique in one run.

    A test that was skipped, or is expected to fail, gives no answer.
    """

    name: str
    passed: bool


def of_runner(output: bytes, units: Mapping[str, str]) -> tuple[UnitResult, ...]:
    """From the lines `== NN-name: value` of an evolved task's runner.

    `units` leads from the name of each file that ran, others are not looked for, to what it is to be called.
    `value` is the unit's reward; 1 or more has passed. Names come out as `units/NN-name`.
    """
    if not units:
        return ()
    names = "|".join(map(re.escape, units))
    # Not only where a line begins: a unit need not end its last one.
    lines = re.compile(rf"== ({names}): (\S*)[ \t]*$", re.MULTILINE)
    return _named((f"units/{units[name]}", _full(value)) for name, value in lines.findall(_text(output)))


def _full(value: str) -> bool:
    return bool(_NUMBER.fullmatch(value)) and float(value) >= 1


def of_tap(output: bytes) -> tuple[UnitResult, ...]:
    """From lines `ok N - name` and `not ok N - name` of TAP that stand at a line's beginning.

    A test is named by its description, else by its number.
    """
    return _named(_tap_answers(_text(output)))


def _tap_answers(text: str) -> Iterable[tuple[str, bool]]:
    for failed, number, said in _TAP.findall(text):
        if not _TAP_NO_ANSWER.search(said):
            yield said.strip() or number, not failed


def of_ctrf(data: bytes) -> tuple[UnitResult, ...]:
    """From a report in the Common Test Report Format (`results.tests`, each with `name` and `status`)."""
    report = _json(data)
    results = report.get("results") if isinstance(report, dict) else None
    tests = results.get("tests") if isinstance(results, dict) else None
    if not isinstance(tests, list):
        return ()
    return _named(
        (str(test.get("name", "")), test["status"] == "passed")
        for test in tests
        if isinstance(test, dict) and test.get("status") in ("passed", "failed")
    )


def of_pytest(data: bytes) -> tuple[UnitResult, ...]:
    """From the report of our pytest plugin: a JSON object a line (`sandboxes/pytest_report.py`)."""
    rows = pytest_rows(data)
    return _named((str(row["name"]), row.get("passed") is True) for row in rows if "name" in row)


def pytest_rows(data: bytes) -> list[Mapping[str, object]]:
    """The lines of the plugin's report; none where one of them is no JSON object."""
    rows = [_json(line) for line in data.splitlines()]
    return [row for row in rows if isinstance(row, dict)] if all(isinstance(r, dict) for r in rows) else []


def _json(data: bytes) -> object:
    try:
        found: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace").replace("\r\n", "\n")


def _named(answers: Iterable[tuple[str, bool]]) -> tuple[UnitResult, ...]:
    """By name, which can be stored and shown, and is unique; none at all where there are too many."""
    found: dict[str, UnitResult] = {}
    for said, passed in answers:
        name = _unique(_shown(said), found)
        found[name] = UnitResult(name, passed)
        if len(found) > MAX_UNITS:
            return ()
    # Two runs compare, in whatever order each of them was.
    return tuple(found[name] for name in sorted(found))


def _unique(name: str, taken: Collection[str]) -> str:
    number, tried = 1, name
    while tried in taken:
        number += 1
        tried = f"{name} ({number})"
    return tried


def _shown(said: str) -> str:
    plain = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in _stripped(said))
    return (plain if len(plain) <= MAX_NAME else f"{plain[: MAX_NAME - 1]}…") or "without a name"


def _stripped(said: str) -> str:
    return _ESCAPE.sub("", clean(said[: 8 * MAX_NAME])).strip()
