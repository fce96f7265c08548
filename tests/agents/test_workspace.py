"""The files a model works on: where it may write, what it is told where it may not."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agents import workspace as rules
from agents.tools.base import ToolError
from agents.workspace import Workspace
from sandboxes.files import TaskFile
from tests.tasks import words

LINKED = {
    "environment/link": TaskFile(link="data"),
    "environment/data/in.txt": TaskFile.text("in\n"),
    "environment/raw.bin": TaskFile(b"\xff\xfe\x00\x01"),
    "solution/solve.sh": TaskFile.text("#!/bin/sh\necho one\necho two\necho one\n", executable=True),
    "tests/test.sh": TaskFile.text("true\n"),
    "instruction.md": TaskFile.text("Do it.\n"),
    "README.md": TaskFile.text("Read me.\n"),
}


@pytest.fixture
def files() -> Workspace:
    return Workspace(LINKED)


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises(ToolError) as caught:
        act()
    return str(caught.value)


ESCAPES = [
    "../../outside.txt",
    "/etc/cron.d/x",
    "tests/../../x",
    "environment/link/x",
    "task.toml\x00.md",
    "C:\\x",
    "C:/x",
    "solution//./solve.sh",
    "solution/",
    "tests\\x",
    "tests/\u202egpj.sh",
    "tests/\ud800",
    "",
    ".",
    "..",
    "tests",
    "environment/link",
    "tests/test.sh/x",
    "environment/data",
    "home/x",
    "new.md",
    ".git/hooks/post-checkout",
    "testsx/y",
    "tests/" + "x" * 300,
    "tests/" + "x/" * 600 + "y",
]


@pytest.mark.parametrize("path", ESCAPES)
def test_a_path_that_leads_elsewhere_is_refused_and_nothing_changes(files: Workspace, path: str) -> None:
    assert refusal(lambda: files.write(path, "x"))
    assert refusal(lambda: files.replace(path, "data", "x"))
    assert path == "environment/link" or refusal(lambda: files.delete(path))
    assert files.files == LINKED


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "environment/link", "environment/link/in.txt"])
def test_no_link_and_no_way_out_is_read(files: Workspace, path: str) -> None:
    assert refusal(lambda: files.read(path))


PARTS = st.sampled_from(
    [
        "..",
        ".",
        "",
        "/",
        "tests",
        "environment",
        "solution",
        "link",
        "data",
        "in.txt",
        "a",
        "\\",
        "C:",
        "\x00",
    ]
)
ANY_PATH = st.one_of(st.lists(PARTS, max_size=6).map("/".join), st.text(max_size=30))


@settings(deadline=None)
@given(ANY_PATH)
@example("tests/../../x")
@example("environment/link/../../../x")
def test_no_path_escapes(path: str) -> None:
    files = Workspace(LINKED)
    try:
        files.write(path, "x")
    except ToolError:
        assert files.files == LINKED
        return
    assert path == posixpath.normpath(path) and not path.startswith("/")
    assert path.split("/")[0] in rules.ROOTS or path in LINKED
    assert not path.startswith("environment/link")
    assert files.changes().keys() <= {path}
    assert words().replace({**LINKED, **files.changes()})  # it is a task still


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=200)


@settings(deadline=None)
@given(TEXTS, st.sampled_from(["tests/units/60-a", "solution/solve.sh", "instruction.md"]))
@example("a\r\nb\rc\u2028d\x0c", "tests/x")
def test_what_is_written_is_what_is_read(text: str, path: str) -> None:
    files = Workspace(LINKED)
    files.write(path, text)
    assert files.read(path) == text
    assert files.files[path].data == text.encode()


@settings(deadline=None)
@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_a_unique_piece_is_replaced_and_all_around_it_stays(
    before: str, old: str, after: str, new: str
) -> None:
    files = Workspace(LINKED)
    old = f"<{old}>"
    whole = f"{before}{old}{after}"
    files.write("tests/x", whole)
    if len([at for at in range(len(whole)) if whole.startswith(old, at)]) == 1:
        files.replace("tests/x", old, new)
        assert files.read("tests/x") == f"{before}{new}{after}"
    else:
        assert "times" in refusal(lambda: files.replace("tests/x", old, new))
        assert files.read("tests/x") == whole


def test_the_three_faults_of_a_replacement_are_told_apart(files: Workspace) -> None:
    empty = refusal(lambda: files.replace("solution/solve.sh", "", "x"))
    absent = refusal(lambda: files.replace("solution/solve.sh", "echo  two", "x"))
    twice = refusal(lambda: files.replace("solution/solve.sh", "echo one", "x"))
    assert "is empty" in empty
    assert "is not in solution/solve.sh" in absent
    assert "line 3; lines 1 and on really are:\n#!/bin/sh\necho one\necho two" in absent
    assert "2 times, from lines 2, 4" in twice
    assert files.files == LINKED


def test_overlapping_places_are_more_than_one(files: Workspace) -> None:
    files.write("tests/x", "aaa")
    assert "2 times" in refusal(lambda: files.replace("tests/x", "aa", "b"))


def test_a_piece_that_is_everywhere_is_counted_only_so_far(files: Workspace) -> None:
    files.write("tests/x", "a" * 5_000)
    said = refusal(lambda: files.replace("tests/x", "a", "b"))
    assert "at least 1,000 times, from lines 1 and more" in said


def test_text_that_is_like_nothing_in_the_file_is_said_to_be(files: Workspace) -> None:
    assert "Nothing in its 4 lines is like it" in refusal(
        lambda: files.replace("solution/solve.sh", "zzzzzzzzzzzzzzzz", "x")
    )


def test_a_mode_is_kept_and_a_shebang_makes_executable(files: Workspace) -> None:
    files.write("solution/solve.sh", "echo no shebang\n")
    files.write("tests/plain", "text\n")
    files.write("tests/script", "#!/bin/sh\n")
    files.replace("tests/plain", "text", "#!text")
    assert [files.files[p].executable for p in ("solution/solve.sh", "tests/plain", "tests/script")] == [
        True,
        True,
        True,
    ]
    files.write("tests/other", "text\n")
    assert not files.files["tests/other"].executable


def test_a_file_that_is_refused_says_why_and_stays() -> None:
    files = Workspace(LINKED, lambda path: "it is the frame's" if path == "tests/test.sh" else None)
    for act in (
        lambda: files.write("tests/test.sh", "x"),
        lambda: files.replace("tests/test.sh", "true", "false"),
        lambda: files.delete("tests/test.sh"),
    ):
        assert refusal(act) == "tests/test.sh cannot be changed: it is the frame's"
    assert files.read("tests/test.sh") == "true\n"


def test_a_link_is_not_written_through_and_goes_alone(files: Workspace) -> None:
    assert "delete it first" in refusal(lambda: files.write("environment/link", "x"))
    files.delete("environment/link")
    assert files.changes() == {"environment/link": None}
    files.write("environment/link", "x")
    assert files.read("environment/data/in.txt") == "in\n"


def test_bytes_that_are_no_text_are_told_by_their_beginning(files: Workspace) -> None:
    assert "4 bytes, beginning ff fe 00 01" in refusal(lambda: files.read("environment/raw.bin"))


def test_text_that_cannot_be_stored_is_not_written(files: Workspace) -> None:
    for text in ("a\x00b", "a\ud800b"):
        assert "NUL or half a surrogate pair" in refusal(lambda text=text: files.write("tests/x", text))  # type: ignore[misc]
    assert files.files == LINKED


def test_a_path_with_a_detour_is_refused_with_the_plain_one(files: Workspace) -> None:
    assert "write tests/test.sh if that is what you mean" in refusal(lambda: files.read("./tests//test.sh"))
    for path in ("../x", "/x", "a\\b", "tests/../../x", "."):
        assert "if that is what you mean" not in refusal(lambda path=path: files.read(path))


def test_a_missing_file_names_those_that_are_like_it(files: Workspace) -> None:
    assert "there is solution/solve.sh" in refusal(lambda: files.read("solution/solv.sh"))
    assert "is a folder" in refusal(lambda: files.read("environment/data"))
    assert "the root has README.md, environment" in refusal(lambda: files.list("nowhere"))


def test_one_file_and_all_together_have_a_limit(files: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MAX_FILE_BYTES", 10)
    monkeypatch.setattr(rules, "MAX_WRITTEN_BYTES", 15)
    monkeypatch.setattr(rules, "MAX_WRITTEN_FILES", 2)
    assert "a file may have 10" in refusal(lambda: files.write("tests/a", "é" * 6))
    files.write("tests/a", "x" * 10)
    assert "more than 15 bytes" in refusal(lambda: files.write("tests/b", "x" * 6))
    files.write("tests/a", "x" * 9)  # in place of the ten, not on top of them
    files.write("tests/b", "x" * 6)
    assert "no more than 2 files" in refusal(lambda: files.write("tests/c", ""))


def test_a_list_has_the_files_below_a_folder_and_no_neighbour_of_its_name(files: Workspace) -> None:
    files.write("environment/data2", "x")
    assert [each.path for each in files.list("environment/data")] == ["environment/data/in.txt"]
    assert [each.path for each in files.list("environment/data/")] == ["environment/data/in.txt"]
    assert {each.path for each in files.list()} == set(files.files)
    assert next(each for each in files.list() if each.path == "environment/link").link == "data"


def test_changes_are_what_differs_at_the_end(files: Workspace) -> None:
    files.write("tests/x", "x")
    files.delete("tests/x")
    files.delete("README.md")
    files.write("tests/test.sh", "true\n")
    assert files.changes() == {"README.md": None}


def test_files_that_are_no_task_any_more_are_an_error_of_the_call(files: Workspace) -> None:
    assert "no task.toml" in refusal(files.task)
    assert Workspace(words().files).task() == words()
