"""Honest tasks as people publish them are accused of nothing; each with one thing hidden is, at its line."""

from __future__ import annotations

import pytest

from lineages.gates import contract, static
from lineages.gates.asked import Asked
from sandboxes.files import TaskFile
from sandboxes.task import Task
from tests.gates.published import SIX


def read(name: str, changes: dict[str, tuple[str, str]] | None = None) -> Asked:
    """One of the six, with a text in a file put in the place of another."""
    files = dict(SIX[name])
    for path, (old, new) in (changes or {}).items():
        assert old in files[path]
        files[path] = files[path].replace(old, new, 1)
    return Asked(Task.of({path: TaskFile.text(text) for path, text in files.items()}))


@pytest.mark.parametrize("name", SIX)
def test_an_honest_task_is_accused_of_nothing(name: str) -> None:
    tests = read(name)
    found = [*static.findings(tests), *contract.findings(tests)]
    assert [str(each) for each in found if not each.warning] == []
    assert len(found) <= 1, [str(each) for each in found]


TEST = "tests/test_outputs.py"
HIDDEN = [
    ("logs", TEST, '"busiest_hour"]', '"busiest_hour", "unique_ips"]', "the key 'unique_ips'"),
    ("logs", "instruction.md", "error_rate", "errors", "the key 'error_rate'"),
    ("server", TEST, "elapsed < 0.5", "elapsed < 0.05", "the bound '0.05'"),
    ("server", TEST, '"/app/start.sh"', '"/app/stop.sh"', "the path '/app/stop.sh'"),
    ("sales", TEST, '"amount_eur"]\n', '"amount_eur", "vat"]\n', "the column 'vat'"),
    ("sales", TEST, '"report.txt"):', '"report.txt", "rejects.csv"):', "the path '/app/output/rejects.csv'"),
    ("c", TEST, '"/app/src/Makefile"', '"/app/src/NOTES.md"', "the path '/app/src/NOTES.md'"),
]


@pytest.mark.parametrize(("name", "path", "old", "new", "what"), HIDDEN)
def test_what_is_hidden_in_one_is_found(name: str, path: str, old: str, new: str, what: str) -> None:
    failed = [str(each) for each in contract.findings(read(name, {path: (old, new)})) if not each.warning]
    assert any(what in each and each.startswith(f"{TEST}:") for each in failed), failed


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("server", "apt-get install -y jq"),
        ("git", "curl -LsSf https://astral.sh/uv/install.sh | sh"),
        ("c", "diff /solution/main.c /app/src/main.c"),
    ],
)
def test_a_test_that_cannot_grade_is_named_with_its_line(name: str, line: str) -> None:
    head = "#!/bin/bash\n"
    failed = [
        str(each)
        for each in static.findings(read(name, {"tests/test.sh": (head, f"{head}{line}\n")}))
        if not each.warning
    ]
    assert len(failed) == 1
    assert failed[0].startswith("tests/test.sh:2 ")
