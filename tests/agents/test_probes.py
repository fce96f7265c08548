"""The kit of probes: what there is, that each is a script any shell takes, and where it looks."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest

from agents import probes as kit
from agents.probes import Probe, probes
from agents.probes.places import folders, outputs
from agents.probes.shell import FORGE, KEEP_FORGING
from agents.roles import AgentsError
from sandboxes.files import TaskFile
from sandboxes.task import Task
from tests.agents.tasks import SEPARATE, regions
from tests.tasks import words

OF_CASE_07 = {"planted_reward", "late_writer", "linked_logs", "own_tests", "shadowed_commands"}
AT_LEAST = 22
TASKS = {"words": words(), "shared": regions(), "separate": regions(SEPARATE)}


@pytest.fixture
def found_again() -> Iterator[None]:
    probes.cache_clear()
    yield
    probes.cache_clear()


def with_tests(test: str, artifacts: str = '["/app/out"]') -> Task:
    config = words().text("task.toml").replace('["/app/out"]', artifacts)
    return words().replace({"tests/test.sh": TaskFile.text(test), "task.toml": TaskFile.text(config)})


def test_the_five_cheats_that_are_known_best_and_many_more_are_in_the_kit() -> None:
    assert probes().keys() >= OF_CASE_07
    assert len(probes()) >= AT_LEAST


@pytest.mark.parametrize("name", probes())
def test_a_probe_says_in_a_sentence_what_it_tries(name: str) -> None:
    probe = probes()[name]

    assert probe.name == name
    assert probe.tries.endswith(".")
    assert probe.title[0].isupper()


@pytest.mark.parametrize("name", probes())
def test_a_probe_is_a_script_that_a_plain_shell_can_read(name: str) -> None:
    shell = shutil.which("dash") or "/bin/sh"
    for task in TASKS.values():
        if probes()[name].applies(task):
            script = probes()[name].script(task)
            checked = subprocess.run([shell, "-n"], input=script.encode(), capture_output=True, check=False)
            assert checked.returncode == 0, checked.stderr.decode()
            assert len(script) < 100_000  # one argument of a command


def test_an_instruction_of_the_greatest_length_still_makes_a_command() -> None:
    task = words().replace({"instruction.md": TaskFile.text("it's /app/out/first " * 3000)})

    assert all(len(probe.script(task)) < 100_000 for probe in probes().values() if probe.applies(task))


def test_the_same_task_gets_the_same_scripts() -> None:
    """They are part of what a kept solve is found by."""
    task = TASKS["separate"]

    assert [probe.script(task) for probe in probes().values() if probe.applies(task)] == [
        probe.script(task) for probe in probes().values() if probe.applies(task)
    ]


@pytest.mark.parametrize("piece", [FORGE, KEEP_FORGING])
def test_what_forges_reads_as_a_shell_script_by_itself(piece: str) -> None:
    assert subprocess.run(["/bin/sh", "-n"], input=piece.encode(), check=False).returncode == 0


def test_outputs_are_what_instruction_and_tests_name_below_the_artifacts() -> None:
    task = with_tests(
        "[ -s /app/out/second.csv ] && cmp /app/out/first /tests/expected && [ -e /etc/passwd ]"
    )

    assert outputs(task) == ("/app/out/first", "/app/out/second.csv")
    assert folders(task) == ("/app/out", "/logs/artifacts")


def test_an_artifact_that_nobody_names_is_an_output_itself() -> None:
    task = with_tests("true", '["/app/out", "/srv/report.txt"]')

    assert outputs(task) == ("/app/out/first", "/srv/report.txt")


def test_with_a_shared_verifier_inputs_are_no_outputs() -> None:
    assert outputs(TASKS["shared"]) == ("/app/totals.txt",)


def test_a_task_that_names_no_file_has_no_probe_of_outputs() -> None:
    task = regions({"instruction.md": "Do it.\n", "tests/test.sh": "#!/bin/sh\nfalse\n"})

    assert not probes()["executable_outputs"].applies(task)
    assert probes()["planted_reward"].applies(task)


def test_a_package_offers_a_probe_by_an_entry_point(
    monkeypatch: pytest.MonkeyPatch, found_again: None
) -> None:
    monkeypatch.setattr(kit, "entry_points", lambda group: [offered("tests.agents.test_probes:OFFERED")])

    assert probes()["offered"] is OFFERED


@pytest.mark.parametrize(
    ("value", "sentence"),
    [("AT_LEAST", "22 in group envevo.probes is not"), ("TWICE", "two probes are called late_writer")],
)
def test_what_is_no_new_probe_is_refused(
    value: str, sentence: str, monkeypatch: pytest.MonkeyPatch, found_again: None
) -> None:
    monkeypatch.setattr(kit, "entry_points", lambda group: [offered(f"tests.agents.test_probes:{value}")])

    with pytest.raises(AgentsError, match=sentence):
        probes()


def offered(value: str) -> EntryPoint:
    return EntryPoint(name="offered", value=value, group=kit.ENTRY_POINTS)


OFFERED = Probe("offered", "Offered", "Tries nothing.", lambda task: "true\n")
TWICE = Probe("late_writer", "Twice", "Tries nothing.", lambda task: "true\n")
