"""Whole kinds of odd input, each from the folder to what it comes to; the inputs are written here.

Kind 01: saved by Windows tools. Kind 03: formats of another age, or of another shape.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandboxes.base import Backend, Limits
from sandboxes.bubblewrap import BubblewrapBackend
from sandboxes.bubblewrap.view import remove_tree
from sandboxes.bundle import BundleFormat, write_bundle
from sandboxes.errors import TaskRefused
from sandboxes.intake import Intake, find_tasks, read_folder
from sandboxes.task import Task
from sandboxes.trial import Solver, Trial, nop, oracle, run_trial

TOML = """\
# keep this remark
schema_version = "1.4"

[task]
name = "kinds/windows"

[metadata]
weight = 0.5
seen = { on = 2026-02-03T04:05:06Z, parts = [1, 2] }

[verifier]
timeout_sec = 30
env = { JUDGE = "${JUDGE}" }
not_known_yet = true

[[a_table_of_tomorrow]]
x = 1
"""
VARIABLE = 'env = { JUDGE = "${JUDGE}" }\n'
"""Nobody gives it a value here, and then nothing is graded."""
SOLVE = "#!/bin/bash\nset -e\ncat > /app/list.txt <<'END'\nfirst\nsecond\nEND\n"
TEST = (
    "#!/bin/bash\nset -u\nmkdir -p /logs/verifier\n"
    "if cmp -s /app/list.txt <(printf 'first\\nsecond\\n'); then r=1; else r=0; fi\n"
    "echo $r > /logs/verifier/reward.txt\n"
)
DATA = b"\xef\xbb\xbfname;size\r\nx;1\r\n"


def put(folder: Path, files: dict[str, bytes]) -> Path:
    for path, data in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        place.chmod(0o644)
    return folder


def plain(toml: str = TOML) -> dict[str, bytes]:
    return {
        "task.toml": toml.encode(),
        "instruction.md": b"Write first and second to /app/list.txt, a line each.\n",
        "environment/Dockerfile": b"FROM debian:bookworm-slim\nWORKDIR /app\nCOPY in.csv /app/\n",
        "environment/in.csv": DATA,
        "solution/solve.sh": SOLVE.encode(),
        "tests/test.sh": TEST.encode(),
    }


def from_windows(data: bytes, *, mark: bool = False) -> bytes:
    return (b"\xef\xbb\xbf" if mark else b"") + data.replace(b"\n", b"\r\n")


@pytest.fixture
def windows(tmp_path: Path) -> Intake:
    files = plain(TOML.replace(VARIABLE, ""))
    for path in ("solution/solve.sh", "tests/test.sh", "environment/Dockerfile"):
        files[path] = from_windows(files[path])
    for path in ("task.toml", "instruction.md"):
        files[path] = from_windows(files[path], mark=True)
    return read_folder(put(tmp_path / "windows", files))


@pytest.fixture
def backend() -> Iterator[Backend]:
    """pytest's own folders are closed to the sandboxes' user."""
    folder = Path(tempfile.mkdtemp(prefix="envevo-kinds-"))
    folder.chmod(0o755)
    yield BubblewrapBackend(folder=folder)
    remove_tree(folder)


def run(backend: Backend, task: Task, solver: Solver) -> Trial:
    limits = Limits(memory_mb=512, pids=64)
    return run_trial(backend, task, solver, limits=limits, labels={"test": "kinds"})


def test_a_task_from_windows_comes_in_with_a_warning_for_each_kind_of_change(windows: Intake) -> None:
    assert windows.warnings == (
        "byte order mark removed: instruction.md, task.toml",
        "CRLF line ends changed to LF: environment/Dockerfile, instruction.md, solution/solve.sh, task.toml,"
        " tests/test.sh",
        "executable bit set: solution/solve.sh, tests/test.sh",
    )


def test_its_data_keep_every_byte_and_its_scripts_lose_every_carriage_return(windows: Intake) -> None:
    files = windows.task.files
    assert files["environment/in.csv"].data == DATA
    assert dict(windows.task.under("tests")) == {"test.sh": files["tests/test.sh"]}
    assert files["tests/test.sh"].data == TEST.encode() and files["tests/test.sh"].executable
    assert files["solution/solve.sh"].data == SOLVE.encode() and files["solution/solve.sh"].executable


def test_it_is_worth_nothing_untouched_and_the_full_reward_solved(windows: Intake, backend: Backend) -> None:
    runs = [run(backend, windows.task, solver) for solver in (nop, oracle)]
    assert [each.reward.value if each.reward else None for each in runs] == [0, 1]
    said = b"".join(command.stdout + command.stderr for each in runs for command in each.commands)
    assert b"bad interpreter" not in said and b"\\r" not in said


def test_fields_of_tomorrow_remarks_dates_and_variables_come_back_byte_for_byte(tmp_path: Path) -> None:
    task = read_folder(put(tmp_path / "in", plain())).task
    write_bundle(task, "task", tmp_path / "out", BundleFormat.DIR)
    assert (tmp_path / "out" / "task.toml").read_bytes() == TOML.encode()


def test_bad_toml_in_one_of_three_tasks_is_refused_at_its_place_and_no_task_is_lost(tmp_path: Path) -> None:
    bad = plain('schema_version = "1.4"\n[metadata]\nnote = "look for \\s+"\n')
    for name, files in (("a", plain()), ("b", bad), ("c", plain())):
        put(tmp_path / name, files)
    assert [folder.name for folder in find_tasks(tmp_path)] == ["a", "b", "c"]
    with pytest.raises(TaskRefused) as caught:
        read_folder(tmp_path / "b")
    assert (caught.value.path, caught.value.line, caught.value.column) == ("task.toml", 3, 20)


def test_a_task_of_several_steps_is_found_and_refused_by_that_word(tmp_path: Path) -> None:
    files = {
        "task.toml": b'schema_version = "1.4"\n[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n',
        "environment/Dockerfile": b"FROM debian:bookworm-slim\n",
        "steps/one/instruction.md": b"Write one.\n",
        "steps/two/instruction.md": b"Write two.\n",
    }
    put(tmp_path / "steps", files)
    assert [folder.name for folder in find_tasks(tmp_path)] == ["steps"]
    with pytest.raises(TaskRefused, match="multi-step"):
        read_folder(tmp_path / "steps")


def test_a_terminal_bench_task_is_converted_and_its_words_stay(tmp_path: Path, backend: Backend) -> None:
    files = {
        "task.yaml": b'instruction: |-\n  Write ready to /app/a.txt.\n  A colon: "quotes", a backslash \\\n'
        b"tags: [no, on, 1.10]\ndifficulty: easy\n",
        "Dockerfile": b"FROM debian:bookworm-slim\nWORKDIR /app\n",
        "docker-compose.yaml": b"services:\n  client:\n    build: {dockerfile: Dockerfile}\n"
        b'    command: ["sh", "-c", "sleep infinity"]\n',
        "solution.sh": b"#!/bin/bash\nprintf ready > /app/a.txt\n",
        "run-tests.sh": b'[ "$(cat /app/a.txt)" = ready ] && v=PASSED || v=FAILED\n'
        b'echo "=== short test summary info ==="\necho "$v a.py::t"\n',
        "tests/note.txt": b"none\n",
    }
    task = read_folder(put(tmp_path / "old", files)).task
    assert task.text("instruction.md") == 'Write ready to /app/a.txt.\nA colon: "quotes", a backslash \\'
    assert task.config.metadata["tags"] == ["no", "on", "1.10"]
    runs = [run(backend, task, solver) for solver in (nop, oracle)]
    assert [each.reward.value if each.reward else None for each in runs] == [0, 1]
