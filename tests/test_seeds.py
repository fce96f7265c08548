"""The bundled seeds: their data are their generators', and only the whole work gets the reward."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from agents.authors import author
from agents.offline.objects import subjects
from agents.plan import Composition
from sandboxes.backends import open_backend
from sandboxes.base import Backend, Limits, Sandbox
from sandboxes.errors import MachineFault
from sandboxes.intake import find_tasks, read_folder
from sandboxes.task import Task
from sandboxes.trial import Solver, nop, oracle, run_trial

SEEDS = find_tasks(settings.SEEDS)
NAMES = [folder.name for folder in SEEDS]
GENERATORS = settings.SEEDS.parent / "scripts" / "seed-data"
LIMITS = Limits(memory_mb=1024, disk_mb=512)

HALVES = {
    "log-forensics": {
        "no request is held to be hostile": (
            "head -n 1 /app/out/hostile.csv >/tmp/f; cat /tmp/f >/app/out/hostile.csv"
        ),
        "no byte is held to be lost": (
            "sed -i 's/^exfiltrated_bytes=.*/exfiltrated_bytes=0/' /app/out/report.txt"
        ),
    },
    "data-wrangling": {
        "no exception is listed": (
            "head -n 1 /app/out/exceptions.csv >/tmp/f; cat /tmp/f >/app/out/exceptions.csv"
        ),
        "the totals are left at nothing": ("sed -i -E '2,$s/[0-9.]+$/0.00/' /app/out/totals.csv"),
    },
    "build-repair": {
        "no fault is listed": "head -n 1 /app/out/faults.tsv >/tmp/f; cat /tmp/f >/app/out/faults.tsv",
        "the old lock is handed in": "cat /app/data/lock.tsv >/app/out/lock.tsv",
    },
    "service-debugging": {
        "the recorded responses are handed in": "cat /app/data/spans-desk.tsv >/app/out/responses.tsv",
        "every wrong response is put down to the desk": (
            "sed -i -E '2,$s/\\t(intake|route|price)\\t/\\tdesk\\t/' /app/out/wrong.tsv"
        ),
    },
    "database-rescue": {
        "no loss is owned up to": "head -n 1 /app/out/lost.csv >/tmp/f; cat /tmp/f >/app/out/lost.csv",
        "the old dump is handed in": "cut -d, -f4- /app/store/dump/loans.csv >/app/out/loans.csv",
    },
    "text-recovery": {
        "lost characters are left out": "sed -i 's/\\xef\\xbf\\xbd//g' /app/out/letters.txt",
        "a copy is handed in as it is": "cat /app/archive/terminal.txt >/app/out/letters.txt",
    },
}
"""What spoils a whole solution so that half of the work is left."""


@pytest.fixture(scope="module")
def bubblewrap(tmp_path_factory: pytest.TempPathFactory) -> Backend:
    try:
        return open_backend("bubblewrap", instance="tests-seeds", folder=tmp_path_factory.mktemp("boxes"))
    except MachineFault as fault:
        pytest.skip(f"no sandbox: {fault}")


def reward(backend: Backend, task: Task, solver: Solver) -> float | None:
    trial = run_trial(backend, task, solver, limits=LIMITS, labels={"test": "seeds"})
    return trial.reward.value if trial.reward else None


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("seed", SEEDS, ids=NAMES)
def test_a_seeds_generator_writes_the_bytes_that_are_committed(seed: Path, tmp_path: Path) -> None:
    made = tmp_path / "seed"
    shutil.copytree(seed, made, ignore=shutil.ignore_patterns("expected"))
    for path in (made / "environment" / "data").rglob("*"):
        if path.is_file() and path.name != "README.md":
            path.unlink()

    generator = GENERATORS / f"{seed.name.replace('-', '_')}.py"
    subprocess.run([sys.executable, str(generator), str(made)], check=True, timeout=60)

    assert contents(made) == contents(seed)


@pytest.mark.parametrize("seed", SEEDS, ids=NAMES)
def test_a_seed_pays_for_its_solution_and_for_no_work_nothing(seed: Path, bubblewrap: Backend) -> None:
    task = read_folder(seed).task

    assert reward(bubblewrap, task, oracle) == 1
    assert reward(bubblewrap, task, nop) == 0


@pytest.mark.parametrize("name", HALVES)
def test_half_of_the_work_is_worth_nothing(name: str, bubblewrap: Backend) -> None:
    task = read_folder(settings.SEEDS / name).task
    for half, spoil in HALVES[name].items():

        def solve(task: Task, sandbox: Sandbox, spoil: str = spoil) -> None:
            oracle(task, sandbox)
            assert sandbox.exec(["bash", "-c", spoil], timeout=30).exit_code == 0

        assert reward(bubblewrap, task, solve) == 0, half


SPOILS = {
    "nothing": "rm {file}",
    "an empty file": ": >{file}",
    "a folder": "rm {file}; mkdir {file}; cp {expected} {file}/",
    "a FIFO": "rm {file}; mkfifo {file}",
    "a link to what is expected": "ln -sf {expected} {file}",
    "a link to a device": "ln -sf /dev/zero {file}",
    "a file that is far too large": "truncate -s 3G {file}",
    "one line of almost five million bytes": "head -c 4900000 /dev/zero | tr '\\0' x >{file}",
    "a byte too many": "printf '\\0' >>{file}",
    "a last line without its end": "truncate -s -1 {file}",
    "carriage returns": "sed -i 's/$/\\r/' {file}",
    "its rows twice": "cat {expected} >>{file}",
    "its rows but for the last": "sed -i '$d' {file}",
}
"""What a solver may leave in the place of a right result."""


@pytest.mark.parametrize("seed", SEEDS, ids=NAMES)
def test_a_seeds_test_wants_each_result_to_be_the_file_that_is_expected(seed: Path, tmp_path: Path) -> None:
    """The script itself, in folders of ours: it has to end and to leave a reward, whatever it finds."""
    expected, out, logs = seed / "tests" / "expected", tmp_path / "out", tmp_path / "logs"
    script = (seed / "tests" / "test.sh").read_text()
    for place, ours in (("/app/out", out), ("/tests/expected", expected), ("/logs/verifier", logs)):
        assert place in script
        script = script.replace(place, str(ours))

    def graded(file: str, spoil: str) -> str:
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(expected, out)
        command = spoil.format(file=out / file, expected=expected / file)
        subprocess.run(["bash", "-c", command], check=True)
        subprocess.run(["bash", "-c", script], check=True, timeout=60, capture_output=True)
        return (logs / "reward.txt").read_text()

    files = sorted(path.name for path in expected.iterdir())
    assert graded(files[0], "true") == "1\n"
    for number, (what, spoil) in enumerate(SPOILS.items()):
        file = files[number % len(files)]
        assert graded(file, spoil) == "0\n", f"{file} is {what}"


@pytest.mark.parametrize("seed", SEEDS, ids=NAMES)
def test_a_seed_offers_enough_to_grow(seed: Path) -> None:
    task = read_folder(seed).task
    sequence = author("offline").extractor.extract(task)

    found = subjects(task, sequence, Composition())

    assert len([subject for subject in found if not subject.output]) >= 6
    assert len([subject for subject in found if subject.output]) >= 3
