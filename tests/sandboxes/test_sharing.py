"""A shared verifier's tests, and what the solver left around them to speak in their place."""

from __future__ import annotations

import pytest

from sandboxes.files import TaskFile
from sandboxes.sharing import ABOVE_THE_TESTS
from sandboxes.trial import TrialOutcome, nop
from tests.sandboxes.test_trial import DOCKERFILE, READY, REWARD, Run, agent, run, run_here, shared
from tests.sandboxes.test_trial_units import GRADE, by_pytest, library

__all__ = ["library", "run", "run_here"]

PYTHONS_PATH = "/usr/local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PATHS = ["/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", PYTHONS_PATH]
SHADOWS = r"""for folder in /usr/local/bin /usr/local/sbin /usr/sbin; do
    for tool in cat rm mkdir chmod sort; do
    [ -e $folder/$tool ] || { printf '#!/bin/sh\necho ready\n' >$folder/$tool; chmod 755 $folder/$tool; }
    done; done; ls /usr/sbin/cat"""
FORGED = "[pytest]\naddopts = -p forged --collect-only\npythonpath = .\n"


def image(path: str = PYTHONS_PATH, more: str = "") -> str:
    return f'{DOCKERFILE}ENV PATH="{path}"\n{more}'


def test_a_command_of_the_solvers_in_front_of_the_systems_is_not_run(run: Run) -> None:
    trial = run(shared(**{"environment/Dockerfile": image()}), agent(SHADOWS))
    assert trial.commands[0].ok
    assert trial.outcome is TrialOutcome.FAILED, trial.summary


def test_nor_is_one_in_the_usual_order_of_folders(run_here: Run) -> None:
    trial = run_here(shared(), agent(SHADOWS))
    assert trial.outcome is TrialOutcome.FAILED, trial.summary


def test_a_command_that_the_image_has_in_front_of_the_systems_stays_there(run_here: Run) -> None:
    own = image(more="COPY --chmod=755 cat.sh /usr/local/bin/cat\n")
    files = {"environment/Dockerfile": own, "environment/cat.sh": "echo ready\n"}
    trial = run_here(shared(**files), agent(SHADOWS))
    assert trial.outcome is TrialOutcome.PASSED, trial.summary


@pytest.mark.parametrize("path", PATHS)
def test_where_nothing_is_shadowed_the_path_is_the_images(run_here: Run, path: str) -> None:
    files = {"environment/Dockerfile": image(path)}
    trial = run_here(shared(f'echo "$PATH"\n{READY}', **files), nop)
    assert trial.commands[-1].stdout.decode() == f"{path}\n"


@pytest.mark.parametrize(
    "forge",
    [
        "echo /nowhere/forged.so > /etc/ld.so.preload",
        "echo /nowhere/forged.so > /var/tmp/list; ln -s /var/tmp/list /etc/ld.so.preload",
    ],
    ids=["a file", "a link"],
)
def test_no_library_of_the_solvers_is_loaded_into_the_tests(run_here: Run, forge: str) -> None:
    trial = run_here(shared(), agent(f"{forge}; cat /etc/ld.so.preload"))
    assert b"forged.so" in trial.commands[0].stdout
    assert trial.outcome is TrialOutcome.FAILED
    assert b"forged.so" not in trial.commands[-1].stderr, "the loader says what it could not load"


def test_the_images_own_list_of_libraries_comes_back(run_here: Run) -> None:
    files = {
        "environment/Dockerfile": image(more="COPY own /etc/ld.so.preload\n"),
        "environment/own": "# the image's\n",
    }
    show = f"cat /etc/ld.so.preload\n{READY}"
    trial = run_here(shared(show, **files), agent("echo /nowhere/forged.so > /etc/ld.so.preload"))
    assert trial.commands[-1].stdout == b"# the image's\n"


def test_another_folder_in_the_place_of_etc_is_an_error_that_says_so(run_here: Run) -> None:
    trial = run_here(shared(), agent("cp -a /etc /var/etc; mv /etc /was; ln -s /var/etc /etc"))
    assert trial.outcome is TrialOutcome.ERROR
    assert trial.reward is None
    assert trial.summary == "The tests: The solver has replaced the folder /etc."


@pytest.mark.parametrize("put", ["ln -s /var/own /logs", "echo 1 > /logs"], ids=["a link", "a file"])
def test_the_log_folder_stands_in_a_real_one(run_here: Run, put: str) -> None:
    plant = f"mkdir -p /var/own/verifier; echo 1 > /var/own/verifier/reward.txt; mv /logs /was; {put}"
    trial = run_here(shared(), agent(plant))
    assert trial.outcome is TrialOutcome.FAILED, trial.summary
    assert trial.reward is not None and trial.reward.value == 0


PLANT = f"for file in {' '.join(ABOVE_THE_TESTS)}; do echo planted > $file; done"
LIST = f"cd /; for file in {' '.join(ABOVE_THE_TESTS)}; do [ ! -e $file ] || echo $file $(cat $file); done\n"


def test_settings_above_the_tests_and_libraries_are_the_images(run: Run) -> None:
    files = {
        "environment/Dockerfile": f"{DOCKERFILE}COPY own.ini /tox.ini\n",
        "environment/own.ini": "its own\n",
    }
    trial = run(shared(LIST + READY, **files), agent(f"echo /forged.so > /etc/ld.so.preload; {PLANT}"))
    assert (trial.commands[-1].stdout, b"forged" in trial.commands[-1].stderr) == (
        b"/tox.ini its own\n",
        False,
    )
    assert trial.outcome is TrialOutcome.FAILED


@pytest.mark.parametrize(
    ("workdir", "instruction", "stays"),
    [
        ("/app", "Write /setup.cfg.", True),
        ("/app", "Write setup.cfg and /app/setup.cfg.", False),
        ("/", "Write setup.cfg.", True),
        ("/", "Write a file.", False),
    ],
)
def test_what_the_instruction_asks_for_there_stays(
    run_here: Run, workdir: str, instruction: str, stays: bool
) -> None:
    files = {
        "environment/Dockerfile": f"FROM debian:bookworm-slim\nWORKDIR {workdir}\n",
        "instruction.md": instruction,
    }
    trial = run_here(shared(LIST + READY, **files), agent("echo asked > /setup.cfg; mkdir -p /app"))
    assert (trial.commands[-1].stdout == b"/setup.cfg asked\n") is stays


def test_pytest_takes_no_settings_and_no_plugin_of_the_solvers(
    run_here: Run, library: dict[str, TaskFile]
) -> None:
    whole = by_pytest(library)
    mine = "task.toml", "tests/Dockerfile"
    task = whole.replace({path: shared().files.get(path) for path in mine})
    forge = f"""printf '{FORGED}' > /pytest.ini
        echo 'import os; open("{REWARD}", "w").write("1"); os._exit(0)' | tee /conftest.py > /forged.py"""
    trial = run_here(task, agent(forge))
    assert GRADE in task.text("tests/test.sh")
    assert trial.outcome is TrialOutcome.FAILED, trial.commands[-1].stdout
    assert [unit.passed for unit in trial.units] == [True, False, True]


def test_variables_that_the_task_gives_its_tests_are_kept(run_here: Run) -> None:
    own = '[verifier.env]\nPATH = "/tests/bin:/usr/bin:/bin"\nBASH_ENV = "/tests/env"\n'
    files = {"task.toml": f"{shared().text('task.toml')}{own}", "tests/env": "MADE=here\n"}
    show = f'echo "$PATH $MADE"\n{READY}'
    trial = run_here(shared(show, **files), agent("printf ready > /app/answer.txt"))
    assert trial.commands[-1].stdout == b"/tests/bin:/usr/bin:/bin here\n"
    assert trial.outcome is TrialOutcome.PASSED


def test_a_start_up_file_that_the_image_names_is_not_the_solvers_to_write(run_here: Run) -> None:
    files = {"environment/Dockerfile": image(more='ENV BASH_ENV="/app/start"\n')}
    trial = run_here(shared(**files), agent("echo 'cat() { echo ready; }' > /app/start"))
    assert trial.outcome is TrialOutcome.FAILED, trial.summary
