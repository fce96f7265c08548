"""Our pytest plugin, in runs of pytest that are as a task's tests might be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sandboxes.pytest_report import FILES, ORDER, REPORT, with_plugin
from sandboxes.unit_results import of_pytest, pytest_rows

PLAIN = "def test_a(): pass\ndef test_b(): pass\ndef test_c(): pass\n"
ODD = """
import pytest, subprocess, sys

@pytest.fixture
def broken():
    raise ValueError

@pytest.fixture
def broken_later():
    yield
    raise ValueError

def test_setup(broken): pass

def test_teardown(broken_later): pass

@pytest.mark.skip
def test_skipped(): pass

@pytest.mark.xfail
def test_expected_to_fail(): assert False

@pytest.mark.parametrize("x", ["a", "b::c"])
def test_each(x): pass

def test_starts_another(tmp_path):
    inner = tmp_path / "test_inner.py"
    inner.write_text("def test_inner(): assert False")
    assert subprocess.call([sys.executable, "-m", "pytest", "-q", str(inner)]) == 1
    assert pytest.main(["-q", str(inner)]) == 1
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    folder = tmp_path / "envevo-x"
    for name, file in FILES.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.data)
    return folder


def ran(
    plugin: Path, *options: str, env: dict[str, str] | None = None, **files: str
) -> tuple[int, list[str]]:
    """Exit code and the tests in the order in which they ran."""
    work = plugin.parent / "work"
    work.mkdir(exist_ok=True)
    for name, text in files.items():
        (work / f"{name}.py").write_text(text)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-v",
            "-p",
            "no:cacheprovider",
            "--rootdir=.",
            *options,
            *(f"{n}.py" for n in files),
        ],
        cwd=work,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": with_plugin({}, str(plugin)), **(env or {})},
        capture_output=True,
        text=True,
        timeout=60,
    )
    lines = [line.split()[0] for line in done.stdout.splitlines() if " PASSED" in line or " FAILED" in line]
    return done.returncode, lines


def said(plugin: Path) -> dict[str, bool]:
    return {unit.name: unit.passed for unit in of_pytest((plugin / REPORT).read_bytes())}


def test_every_test_is_told_by_its_own_answer(plugin: Path) -> None:
    ran(plugin, "--continue-on-collection-errors", test_odd=ODD, test_broken="import no_such_module\n")
    assert said(plugin) == {
        "test_broken.py": False,
        "test_odd.py::test_setup": False,
        "test_odd.py::test_teardown": False,
        "test_odd.py::test_each[a]": True,
        "test_odd.py::test_each[b::c]": True,
        "test_odd.py::test_starts_another": True,
    }


def test_runs_one_after_the_other_are_told_together(plugin: Path) -> None:
    ran(plugin, test_one=PLAIN)
    ran(plugin, test_two="def test_a(): assert False\n")
    assert len(said(plugin)) == 4 and not said(plugin)["test_two.py::test_a"]


def test_the_order_is_another_one_and_the_same_for_a_seed(plugin: Path) -> None:
    _, plain = ran(plugin, test_one=PLAIN, test_two=PLAIN)
    (plugin / ORDER).write_text("5\n")
    (_, once), (_, again) = (ran(plugin, test_one=PLAIN, test_two=PLAIN) for _ in range(2))
    assert plain != once == again and sorted(plain) == sorted(once) and len(plain) == 6
    files = [name.split("::")[0] for name in once]
    assert files in (sorted(files), sorted(files, reverse=True)), "a file's tests stay together"
    assert {"shuffled": True} in pytest_rows((plugin / REPORT).read_bytes())


def test_one_test_alone_is_not_called_shuffled(plugin: Path) -> None:
    (plugin / ORDER).write_text("5\n")
    assert ran(plugin, test_one="def test_a(): pass\n")[0] == 0
    assert pytest_rows((plugin / REPORT).read_bytes()) == [{"name": "test_one.py::test_a", "passed": True}]


@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONPATH": ""},
        {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        {"PYTEST_ADDOPTS": "-p no:envevo_units"},
    ],
)
def test_where_pytest_does_not_find_it_the_tests_run_as_ever(plugin: Path, env: dict[str, str]) -> None:
    code, names = ran(plugin, test_one=PLAIN, env=env)
    assert (code, len(names), said(plugin)) == (0, 3, {})


@pytest.mark.parametrize("spoil", ["order", "report"])
def test_what_it_cannot_read_or_write_fails_no_test(plugin: Path, spoil: str) -> None:
    if spoil == "order":
        (plugin / ORDER).write_text("seven")
    else:
        (plugin / REPORT).unlink()
        (plugin / REPORT).mkdir()
    assert ran(plugin, test_one=PLAIN)[0] == 0


@pytest.mark.parametrize(
    ("known", "path"),
    [({}, "/opt/x"), ({"PYTHONPATH": ""}, "/opt/x"), ({"PYTHONPATH": "/app:/lib"}, "/app:/lib:/opt/x")],
)
def test_the_plugins_folder_comes_last(known: dict[str, str], path: str) -> None:
    assert with_plugin(known, "/opt/x") == path
