"""Taking a folder in: mended with a word about it, or refused by name; never dropped."""

import os
from pathlib import Path

import pytest

from sandboxes import intake
from sandboxes.errors import TaskRefused
from sandboxes.files import TaskFile
from sandboxes.intake import find_tasks, read_folder
from sandboxes.trial import environment_context, verifier_context
from tests.sandboxes.tasks import SOLVE, TOML, plant, with_changes

Changes = dict[str, TaskFile | bytes | None]


def refused(folder: Path) -> TaskRefused:
    with pytest.raises(TaskRefused) as caught:
        read_folder(folder)
    return caught.value


def test_a_plain_task_comes_in_as_it_is_without_a_warning(tmp_path: Path) -> None:
    taken = read_folder(plant(tmp_path))
    assert dict(taken.task.files) == with_changes({})
    assert taken.warnings == ()
    assert taken.source_digest == taken.task.source_digest


def test_marks_line_ends_and_modes_are_mended_with_one_warning_each(tmp_path: Path) -> None:
    crlf = {
        "environment/Dockerfile": TaskFile(b"FROM debian:bookworm-slim\r\nWORKDIR /app\r\n"),
        "solution/solve.sh": TaskFile(SOLVE.replace(b"\n", b"\r\n"), 0o644),
        "tests/test.sh": TaskFile(b"#!/bin/bash\r\necho 1 > /logs/verifier/reward.txt\r\n", 0o644),
    }
    plant(tmp_path, {**crlf, "task.toml": b"\xef\xbb\xbf" + TOML, "instruction.md": b"\xef\xbb\xbfGo.\n"})
    taken = read_folder(tmp_path)
    assert taken.warnings == (
        "byte order mark removed: instruction.md, task.toml",
        "CRLF line ends changed to LF: environment/Dockerfile, solution/solve.sh, tests/test.sh",
        "executable bit set: solution/solve.sh, tests/test.sh",
    )
    assert taken.task.files["task.toml"].data == TOML
    assert taken.task.files["instruction.md"].data == b"Go.\n"
    assert taken.task.files["solution/solve.sh"] == TaskFile(SOLVE, 0o755)
    assert all(b"\r" not in file.data for file in taken.task.files.values())
    assert taken.source_digest != taken.task.source_digest  # the first is of the files as found
    assert (tmp_path / "tests/test.sh").read_bytes().count(b"\r") == 2  # the folder itself is left alone


def test_bytes_of_data_are_never_rewritten(tmp_path: Path) -> None:
    data: Changes = {
        "environment/in.csv": b"a,b\r\n1,2\r\n",
        "environment/broken.sh": TaskFile(b"#!/bin/bash\r\necho the task is to mend me\r\n", 0o644),
        "environment/notes.md": b"\xef\xbb\xbfx\r\n",
        "tests/expected.txt": b"x\r\n",
        "tests/self-extracting.sh": TaskFile(b"#!/bin/sh\n\x00\r\n", 0o755),
        "tests/data/windows.sh": TaskFile(b"#!/bin/bash\r\necho\r\n", 0o644),
        "tests/unit/fixtures/deep/out": TaskFile(b"#!/bin/bash\r\n", 0o644),
        "solution/expected/answer.sh": TaskFile(b"\xef\xbb\xbfecho\r\n", 0o644),
    }
    taken = read_folder(plant(tmp_path, data))
    assert {path: taken.task.files[path] for path in data} == {
        path: content if isinstance(content, TaskFile) else TaskFile(content or b"")
        for path, content in data.items()
    }
    assert taken.warnings == ()


def test_a_script_is_mended_in_any_other_folder_of_the_tests_and_the_solution(tmp_path: Path) -> None:
    scripts = ("tests/lib/data.sh", "tests/database/check", "solution/steps/one")
    taken = read_folder(plant(tmp_path, {path: TaskFile(b"#!/bin/bash\r\n", 0o644) for path in scripts}))
    assert {taken.task.files[path] for path in scripts} == {TaskFile(b"#!/bin/bash\n", 0o755)}


def test_unknown_keys_comments_and_variables_of_task_toml_stay_byte_for_byte(tmp_path: Path) -> None:
    toml = TOML + b'# keep me\n[verifier]\nenv = { K = "${K}" }\nbrand_new = true\n[[table]]\nx = 1\n'
    taken = read_folder(plant(tmp_path, {"task.toml": toml}))
    assert taken.task.files["task.toml"].data == toml
    assert taken.task.config.verifier.env == {"K": "${K}"}


def test_what_harbor_does_not_count_to_a_task_is_left_out_by_name(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            "README.md": b"r\n",
            "trajectory.json": b"{}",
            "notes.txt": b"",
            ".git/config": b"",
            "data/x": b"",
            "tests/__pycache__/a.pyc": b"",
            "solution/.harborignore": b"draft*\n",
            "solution/draft.sh": b"",
        },
    )
    (tmp_path / "environment/empty").mkdir()
    taken = read_folder(tmp_path)
    assert taken.warnings == (
        "left out: .git, data, environment/empty/ (an empty folder), notes.txt, solution/draft.sh, "
        "tests/__pycache__/a.pyc",
    )
    assert set(taken.task.files) == {
        *with_changes({}),
        "README.md",
        "trajectory.json",
        "solution/.harborignore",
    }


def test_what_gitignore_names_is_kept_with_a_warning_since_a_run_needs_it(tmp_path: Path) -> None:
    taken = read_folder(plant(tmp_path, {".gitignore": b"*.log\n", "environment/app.log": b"x"}))
    assert "environment/app.log" in taken.task
    assert taken.warnings == ("kept, though Harbor publishes the task without it: environment/app.log",)


def test_relative_links_inside_the_task_are_kept(tmp_path: Path) -> None:
    link = TaskFile(link="../environment/Dockerfile")
    assert read_folder(plant(tmp_path, {"tests/same": link})).task.files["tests/same"] == link


@pytest.mark.parametrize("target", ["/etc/passwd", "../../secret", "../../../../../../etc/passwd", "."])
def test_other_links_are_refused_by_name_and_never_followed(tmp_path: Path, target: str) -> None:
    (tmp_path / "secret").write_text("secret")
    refusal = refused(plant(tmp_path / "task", {"tests/link": TaskFile(link=target)}))
    assert refusal.path == "tests/link"
    assert "link" in refusal.reason


@pytest.mark.parametrize("path", ["task.toml", "instruction.md", "tests/test.sh", "environment/Dockerfile"])
def test_a_required_file_may_not_be_a_link(tmp_path: Path, path: str) -> None:
    depth = "../" * path.count("/")
    plant(tmp_path, {path: TaskFile(link=f"{depth}solution/real"), "solution/real": TOML})
    assert (refused(tmp_path).path, "is a link" in refused(tmp_path).reason) == (path, True)


def test_a_folder_of_a_task_that_is_a_link_is_refused(tmp_path: Path) -> None:
    plant(tmp_path / "task", {"tests/test.sh": None})
    plant(tmp_path / "other")
    (tmp_path / "task/tests").symlink_to("../other/tests")
    assert refused(tmp_path / "task").path == "tests"


def test_special_files_are_refused_without_being_opened(tmp_path: Path) -> None:
    os.mkfifo(plant(tmp_path) / "environment/pipe")
    refusal = refused(tmp_path)
    assert refusal.path == "environment/pipe"
    assert "special file" in refusal.reason


@pytest.mark.parametrize(
    "path", ["instruction.md", "environment/Dockerfile", "tests/test.sh", "solution/solve.sh"]
)
def test_a_missing_file_is_refused_by_name_with_what_to_do(tmp_path: Path, path: str) -> None:
    refusal = refused(plant(tmp_path, {path: None}))
    assert refusal.path == path
    assert "missing; add the" in refusal.reason


@pytest.mark.parametrize("path", ["environment/Dockerfile", "tests/test.sh", "solution/solve.sh"])
@pytest.mark.parametrize("inside", ["", "x"])
def test_a_folder_where_a_file_belongs_is_called_one(tmp_path: Path, path: str, inside: str) -> None:
    plant(tmp_path, {path: None})
    (tmp_path / path).mkdir(parents=True)
    if inside:
        (tmp_path / path / inside).touch()
    refusal = refused(tmp_path)
    assert (refusal.path, refusal.reason) == (path, "this is a folder where a file belongs")


def test_a_folder_without_task_toml_is_refused_by_that_name(tmp_path: Path) -> None:
    assert refused(plant(tmp_path, {"task.toml": None})).path == "task.toml"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"task.toml": TOML + b'[metadata]\nnote = "\\s"\n'}, "not valid TOML"),
        ({"task.toml": TOML + b"[agent]\ntimeout_sec = 'x'\n"}, "agent.timeout_sec"),
        ({"task.toml": TOML + b"[[steps]]\nname = 'one'\n", "instruction.md": None}, "multi-step"),
        ({"environment/docker-compose.yaml": b"services: {}\n"}, "docker-compose.yaml"),
        (
            {"task.toml": TOML + b"[verifier.environment]\ndocker_image = 'x'\n"},
            "without tests/Dockerfile",
        ),
        ({"instruction.md": b"ok\n\xff\n"}, "not UTF-8"),
        ({"instruction.md": b" \n"}, "empty"),
        ({"environment/Dockerfile": b"FROM envevo/base\n"}, "envevo/base"),
        ({"environment/Dockerfile": b"FROM a\nRUN --network=host x\n"}, "--network=host"),
        ({"tests/Dockerfile": b"# syntax=evil/x\nFROM a\n"}, "syntax"),
    ],
)
def test_what_is_not_supported_is_refused_in_so_many_words(
    tmp_path: Path, changes: Changes, words: str
) -> None:
    assert words in str(refused(plant(tmp_path, changes)))


def test_the_line_of_a_refusal_is_in_its_text(tmp_path: Path) -> None:
    assert str(refused(plant(tmp_path, {"instruction.md": b"ok\n\xff\n"}))).startswith("instruction.md:2: ")
    folder = plant(tmp_path / "b", {"environment/Dockerfile": b"FROM a\nRUN --security=insecure x\n"})
    assert str(refused(folder)).startswith("environment/Dockerfile:2: ")


def test_an_old_terminal_bench_task_without_its_files_is_refused_with_those_words(tmp_path: Path) -> None:
    (tmp_path / "task.yaml").write_text("instruction: x\n")
    assert "Terminal-Bench task.yaml" in str(refused(tmp_path))


def test_settings_without_effect_here_are_named_in_a_warning(tmp_path: Path) -> None:
    toml = TOML + b"[environment]\ndocker_image = 'x'\n[environment.healthcheck]\ncommand = 'true'\n"
    warnings = read_folder(plant(tmp_path, {"task.toml": toml})).warnings
    assert [word in text for word, text in zip(("healthcheck", "docker_image"), warnings, strict=True)] == [
        True,
        True,
    ]


def test_a_prebuilt_image_is_said_to_win_over_the_dockerfile(tmp_path: Path) -> None:
    toml = TOML + b"[environment]\ndocker_image = 'x'\n[verifier.environment]\ndocker_image = 'y'\n"
    files = {"task.toml": toml, "tests/Dockerfile": b"FROM debian:bookworm-slim\n"}
    intake_ = read_folder(plant(tmp_path, files))
    assert [text.partition(" is ")[0] for text in intake_.warnings] == [
        "environment.docker_image",
        "verifier.environment.docker_image",
    ]
    assert all("Dockerfile is not built" in text for text in intake_.warnings)
    assert environment_context(intake_.task)["Dockerfile"].data == b"FROM x\n"
    assert verifier_context(intake_.task)["Dockerfile"].data == b"FROM y\n"


@pytest.mark.parametrize(
    ("cap", "value", "words"),
    [
        ("MAX_FILES", 5, "more than 5 files"),
        ("MAX_FILE_BYTES", 100, "larger"),
        ("MAX_TOTAL_BYTES", 300, "together"),
    ],
)
def test_a_task_over_a_cap_is_refused_never_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cap: str, value: int, words: str
) -> None:
    plant(tmp_path, {"environment/z.bin": b"x" * 101})
    monkeypatch.setattr(intake, cap, value)
    assert words in refused(tmp_path).reason


@pytest.mark.parametrize("name", [b"back\\slash", b"new\nline", b"not-utf8-\xff", b"tab\t"])
def test_a_name_that_cannot_be_kept_is_refused(tmp_path: Path, name: bytes) -> None:
    place = os.path.join(os.fsencode(plant(tmp_path) / "environment"), name)
    Path(os.fsdecode(place)).write_bytes(b"")
    refusal = refused(tmp_path)
    assert "file name" in refusal.reason
    str(refusal).encode()


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "no such folder" in refused(tmp_path / "nowhere").reason
    with pytest.raises(TaskRefused, match="no such folder"):
        find_tasks(tmp_path / "nowhere")


def test_a_batch_finds_good_broken_and_old_tasks_alike(tmp_path: Path) -> None:
    plant(tmp_path / "b/good")
    plant(tmp_path / "a-broken", {"task.toml": b"note = '"})
    plant(tmp_path / "c-without-config", {"task.toml": None})
    plant(tmp_path / "b/good/environment/inner")  # part of its task
    plant(tmp_path / ".hidden/task")
    (tmp_path / "d-old").mkdir()
    (tmp_path / "d-old/task.yaml").write_text("x: 1\n")
    (tmp_path / "not-a-task").mkdir()
    (tmp_path / "not-a-task/readme.txt").write_text("x")
    found = find_tasks(tmp_path)
    assert [str(path.relative_to(tmp_path)) for path in found] == [
        "a-broken",
        "b/good",
        "c-without-config",
        "d-old",
    ]
    imported = [path for path in found if not _refuses(path)]
    assert imported == [tmp_path / "b/good"]


def _refuses(path: Path) -> bool:
    try:
        read_folder(path)
    except TaskRefused:
        return True
    return False


def test_a_task_folder_is_its_own_only_task(tmp_path: Path) -> None:
    assert find_tasks(plant(tmp_path)) == [tmp_path]


def test_links_are_not_searched_but_a_link_to_a_task_is_found_and_read(tmp_path: Path) -> None:
    plant(tmp_path / "elsewhere/task")
    (tmp_path / "here").mkdir()
    (tmp_path / "here/direct").symlink_to("../elsewhere/task")
    (tmp_path / "here/round").symlink_to("..")
    assert find_tasks(tmp_path / "here") == [tmp_path / "here/direct"]
    assert dict(read_folder(tmp_path / "here/direct").task.files) == with_changes({})
