"""Trials that tell what each single test said, vary their surroundings, and change the tests' order."""

from __future__ import annotations

import importlib.util
import io
import py_compile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agents.offline.runners import TEST_RUNNER
from sandboxes.base import Backend
from sandboxes.files import TaskFile
from sandboxes.task import Task
from sandboxes.trial import Solver, Trial, TrialOutcome, grade, nop, oracle, run_trial
from sandboxes.unit_results import UnitResult
from sandboxes.variation import PLAIN, Variation
from tests.sandboxes.test_trial import (
    LIMITS,
    MODES,
    READY,
    REWARD,
    SEPARATE,
    VERIFIER,
    agent,
    separate,
    shared,
)

Run = Callable[..., Trial]
WHOLE_FOLDER = SEPARATE.replace("/app/answer.txt", "/app")
SHUFFLED = Variation("shuffled", order=3)
UNCHECKED = py_compile.PycInvalidationMode.UNCHECKED_HASH
CTRF = '{"results": {"tests": [{"name": "a", "status": "passed"}, {"name": "b", "status": "failed"}]}}'


@pytest.fixture
def run(backend: Backend) -> Run:
    return trials(backend)


@pytest.fixture
def run_here(make_backend: Callable[..., Backend]) -> Run:
    return trials(make_backend("bubblewrap"))


def trials(backend: Backend) -> Run:
    def run(task: Task, solver: Solver = oracle, variation: Variation = PLAIN) -> Trial:
        limits = replace(LIMITS, output_bytes=4096)
        return run_trial(backend, task, solver, limits=limits, labels={"test": "units"}, variation=variation)

    return run


def said(trial: Trial) -> dict[str, bool]:
    return {unit.name: unit.passed for unit in trial.units}


def evolved(mode: Callable[..., Task] = separate, **units: str) -> Task:
    """A task whose tests are run as an evolved one's are."""
    named = {f"tests/units/{name.replace('_', '-').lstrip('n')}": text for name, text in units.items()}
    return mode(**named).replace({"tests/test.sh": TaskFile.text(TEST_RUNNER, executable=True)})


SEED = 'echo "ok 1 - within"; grep -q ready /app/answer.txt\n'


@MODES
def test_an_evolved_task_tells_its_units(run: Run, mode: Callable[..., Task]) -> None:
    task = evolved(mode, n00_seed=SEED, n10_more="exit 3\n", n20_last="exit 0\n")
    trial = run(task)
    assert trial.outcome is TrialOutcome.FAILED and not trial.shuffled
    assert said(trial) == {"units/00-seed": True, "units/10-more": False, "units/20-last": True}
    assert said(run(task, nop))["units/00-seed"] is False


def test_the_seeds_own_test_may_give_a_part_and_no_later_unit_gives_anything(run_here: Run) -> None:
    half = evolved(n00_seed=f"echo 0.5 > {REWARD}\n", n10_more=f"echo 1 > {REWARD}; exit 1\n")
    trial = run_here(half)

    assert (trial.reward and trial.reward.value) == 0
    assert said(trial) == {"units/00-seed": False, "units/10-more": False}


def test_a_unit_that_writes_the_reward_and_ends_the_runner_gets_none(run_here: Run) -> None:
    forging = f"echo 1 > {REWARD}; kill -9 $(cut -d' ' -f4 /proc/$$/stat)\n"
    trial = run_here(evolved(n00_seed="exit 1\n", n10_more=forging))

    assert trial.outcome is TrialOutcome.ERROR
    assert "ended by signal 9" in trial.summary


def test_the_runner_imports_nothing_from_where_it_is_started(run_here: Run) -> None:
    json = "echo '{\"reward\": 0}' > /logs/verifier/reward.json\n"
    forge = "printf 'import os; os.write(1, b\"1\\\\n\"); os._exit(0)\\n' > /app/json.py"
    started = {"tests/Dockerfile": VERIFIER.replace("/srv", "/app"), "task.toml": WHOLE_FOLDER}
    task = evolved(n00_seed=json).replace({p: TaskFile.text(text) for p, text in started.items()})
    trial = run_here(task, agent(f"{forge}; python3 -c 'import json'"))
    assert trial.commands[0].stdout == b"1\n", "it would be imported"
    assert trial.outcome is TrialOutcome.FAILED, trial.summary
    assert said(trial) == {"units/00-seed": False}


def unbaked(**files: str) -> Task:
    """Tests that are put into the verifier's sandbox, and not by its image."""
    return Task.of(
        {path: file for path, file in separate(**files).files.items() if path != "tests/Dockerfile"}
    )


@pytest.mark.parametrize("mode", [shared, separate, unbaked])
def test_units_run_in_another_order_and_keep_their_names(run: Run, mode: Callable[..., Task]) -> None:
    log = "echo {} >> /tmp/order; cat /tmp/order | tr '\\n' ' '\n"
    task = evolved(mode, n00_seed=log.format("seed"), n10_b=log.format("b"), n20_c=log.format("c"))
    plain, shuffled = run(task), run(task, variation=SHUFFLED)
    assert plain.outcome is shuffled.outcome is TrialOutcome.PASSED
    assert (plain.shuffled, shuffled.shuffled) == (False, True)
    assert plain.units == shuffled.units and len(plain.units) == 3
    assert b"seed b c " in plain.commands[-1].stdout and b"seed b c " not in shuffled.commands[-1].stdout


def test_a_unit_that_needs_another_before_it_shows(run_here: Run) -> None:
    task = evolved(n00_seed="touch /tmp/mark\n", n10_b="[ -e /tmp/mark ]\n")
    assert run_here(task).outcome is TrialOutcome.PASSED
    trial = run_here(task, variation=SHUFFLED)
    assert trial.outcome is TrialOutcome.FAILED
    assert said(trial) == {"units/00-seed": True, "units/10-b": False}


def test_the_grading_of_earlier_work_is_shuffled_too(make_backend: Callable[..., Backend]) -> None:
    backend = make_backend("bubblewrap")
    task = evolved(n00_seed=SEED, n10_b="exit 0\n")
    first = trials(backend)(task)
    assert first.solved is not None
    again = grade(backend, task, first.solved, limits=LIMITS, labels={}, variation=SHUFFLED)
    assert (again.graded_again, again.shuffled, again.units) == (True, True, first.units)


def test_an_image_with_units_of_its_own_keeps_their_order(run_here: Run) -> None:
    task = evolved(n00_seed="exit 0\n", n10_b="exit 0\n")
    verifier = TaskFile.text(f"{VERIFIER}COPY test.sh /tests/units/99-more\n")
    changed = {"tests/Dockerfile": verifier, "tests/test.sh": TaskFile.text(f": {TEST_RUNNER}")}
    trial = run_here(task.replace(changed), variation=SHUFFLED)
    assert not trial.shuffled


def test_a_single_unit_is_told_by_its_own_tests(run_here: Run) -> None:
    assert said(run_here(evolved(n00_seed=SEED))) == {"within": True}
    assert said(run_here(evolved(n00_seed="exit 1\n"))) == {"units/00-seed": False}


def test_tap_is_told_and_its_order_stays(run_here: Run) -> None:
    trial = run_here(separate(f"echo 'ok 1 - a'; echo 'not ok 2 - b'\n{READY}"), variation=SHUFFLED)
    assert trial.units == (UnitResult("a", passed=True), UnitResult("b", passed=False))
    assert trial.outcome is TrialOutcome.PASSED and not trial.shuffled


@pytest.mark.parametrize("before", ["echo 'ok 1 - a'", "echo '== 00-seed: 1'"])
def test_output_that_was_cut_tells_no_units(run_here: Run, before: str) -> None:
    trial = run_here(evolved(n00_seed=f"{before}; head -c 9000 /dev/zero\n", n10_b="exit 0\n"))
    assert trial.commands[-1].cut and trial.units == ()


def test_tests_that_did_not_end_tell_no_units(run_here: Run) -> None:
    config = separate().files["task.toml"].data.replace(b"timeout_sec = 30", b"timeout_sec = 1")
    trial = run_here(separate("echo 'ok 1 - a'; sleep 9").replace({"task.toml": TaskFile(config)}))
    assert trial.outcome is TrialOutcome.TIMEOUT and trial.units == ()


@MODES
def test_a_ctrf_report_is_told(run: Run, mode: Callable[..., Task]) -> None:
    trial = run(mode(f"echo '{CTRF}' > /logs/verifier/ctrf.json; echo 'ok 1 - x'\n{READY}"))
    assert said(trial) == {"a": True, "b": False} and trial.outcome is TrialOutcome.PASSED


@pytest.mark.parametrize(
    "make",
    [
        "ln -s /tmp/real ctrf.json",
        "mv ../verifier /tmp/v; ln -s /tmp/v ../verifier; cp /tmp/real ctrf.json",
        "cp /tmp/real ctrf.json; head -c 2000000 /dev/zero | tr '\\0' ' ' >> ctrf.json",
        "mkfifo ctrf.json",
        "mkdir ctrf.json",
    ],
)
def test_a_ctrf_report_that_is_no_plain_small_file_is_not_read(run_here: Run, make: str) -> None:
    trial = run_here(separate(f"echo '{CTRF}' > /tmp/real; cd /logs/verifier; {make}"))
    assert trial.units == () and trial.outcome is TrialOutcome.ERROR


# pytest, as the tests of a task bring it: its files stand below /tests/lib.

PYTEST = """
import os

def test_first():
    pass

def test_second():
    assert open("/app/answer.txt").read() == "ready"

def test_third():
    print("third", os.environ.get("PYTHONPATH"))
"""
RUN_PYTEST = (
    "cd /tests; export PYTHONPATH=$PYTHONPATH:/tests/lib.zip; python3 -m pytest -v -p no:cacheprovider t_*.py"
)
GRADE = f"if [ $? = 0 ]; then echo 1; else echo 0; fi > {REWARD}\n"
NEEDED = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments")
LEXERS = ("__init__.py", "_mapping.py", "python.py", "diff.py")


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TaskFile]:
    """pytest as one file, with what Python makes of each module beside it."""
    compiled = tmp_path_factory.mktemp("compiled") / "module.pyc"
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for name, file in modules():
            packed.write(file, name)
            py_compile.compile(str(file), str(compiled), invalidation_mode=UNCHECKED)
            packed.write(compiled, f"{name}c")
        packed.writestr("pluggy-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: pluggy\nVersion: 1\n")
    return {"tests/lib.zip": TaskFile(archive.getvalue())}


def modules() -> Iterator[tuple[str, Path]]:
    for name in NEEDED:
        spec = importlib.util.find_spec(name)
        assert spec and spec.origin
        origin = Path(spec.origin)
        package = origin.stem == "__init__"
        root = origin.parents[1] if package else origin.parent
        for file in origin.parent.rglob("*.py") if package else [origin]:
            if file.parent.name not in ("lexers", "styles") or file.name in LEXERS:
                yield str(file.relative_to(root)), file


def by_pytest(library: dict[str, TaskFile], script: str = RUN_PYTEST, **files: str) -> Task:
    texts = {f"tests/{name}.py": text for name, text in (files or {"t_a": PYTEST}).items()}
    return separate(f"{script}\n{GRADE}", **texts).replace(library)


def output(trial: Trial) -> bytes:
    return trial.commands[-1].stdout + trial.commands[-1].stderr


def ran(trial: Trial) -> list[str]:
    lines = trial.commands[-1].stdout.decode().splitlines()
    return [line.split()[0] for line in lines if line.startswith("t_") and "%]" in line]


def test_pytest_tells_its_tests_and_runs_them_in_another_order(
    run_here: Run, library: dict[str, TaskFile]
) -> None:
    task = by_pytest(library, t_a=PYTEST, t_b=PYTEST)
    plain, shuffled = run_here(task), run_here(task, nop, SHUFFLED)
    assert (plain.outcome, shuffled.outcome) == (TrialOutcome.PASSED, TrialOutcome.FAILED), output(plain)
    assert (plain.shuffled, shuffled.shuffled) == (False, True)
    assert ran(plain) != ran(shuffled) and sorted(ran(plain)) == sorted(ran(shuffled))
    names = [f"t_{file}.py::test_{name}" for file in "ab" for name in ("first", "second", "third")]
    assert said(plain) == dict.fromkeys(names, True)
    assert said(shuffled) == {name: "second" not in name for name in names}


def test_tests_that_settle_their_surroundings_run_as_ever(
    run_here: Run, library: dict[str, TaskFile]
) -> None:
    trial = run_here(by_pytest(library, RUN_PYTEST.replace("$PYTHONPATH:", "")), variation=SHUFFLED)
    assert trial.outcome is TrialOutcome.PASSED, output(trial)
    assert trial.units == () and not trial.shuffled


def test_a_task_that_does_not_name_pytest_sees_nothing_of_it(run_here: Run) -> None:
    trial = run_here(separate(f'echo "[$PYTHONPATH]"; ls /opt\n{READY}'), variation=SHUFFLED)
    assert trial.commands[-1].stdout == b"[]\n"


# Surroundings.


@MODES
def test_a_variation_reaches_the_solver_and_the_tests(run: Run, mode: Callable[..., Task]) -> None:
    show = "date +%H:%M -d @0; echo $LC_ALL"
    task = mode(f"{show}\n{READY}", f"{show}; printf ready > /app/answer.txt")
    variation = Variation("far east", {"TZ": "<+1245>-12:45", "LC_ALL": "C"})
    trial = run(task, variation=variation)
    assert [command.stdout for command in trial.commands] == [b"12:45\nC\n", b"12:45\nC\n"]
    assert trial.outcome is TrialOutcome.PASSED
    assert run(task).commands[-1].stdout == b"00:00\n\n"


@MODES
def test_what_a_task_sets_itself_does_not_vary(run: Run, mode: Callable[..., Task]) -> None:
    config = mode().files["task.toml"].data.decode()
    config += 'env = {TZ = "AAA-1"}\n[environment.env]\nTZ = "BBB-2"\n[solution.env]\nTZ = "CCC-3"\n'
    task = mode(f"date +%H -d @0\n{READY}", "date +%H -d @0", **{"task.toml": config})
    trial = run(task, variation=Variation("far east", {"TZ": "<+1245>-12:45"}))
    assert [command.stdout for command in trial.commands] == [b"03\n", b"01\n"]
