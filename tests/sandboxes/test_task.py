"""A task as a value: how it is made, compared and changed."""

from dataclasses import FrozenInstanceError

import pytest

from sandboxes.errors import TaskRefused
from sandboxes.files import TaskFile, follow
from sandboxes.task import Task
from tests.sandboxes.tasks import with_changes


def task(**changes: TaskFile | None) -> Task:
    return Task.of(with_changes(dict(changes)))


def test_files_are_sorted_and_cannot_be_changed() -> None:
    made = Task.of(dict(reversed(with_changes({}).items())))
    assert list(made.files) == sorted(made.files)
    with pytest.raises(TypeError):
        made.files["x"] = TaskFile()  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        made.config = made.config  # type: ignore[misc]


def test_tasks_with_the_same_files_are_equal_and_hash_alike() -> None:
    assert task() == task()
    assert len({task(), task()}) == 1


def test_without_a_task_toml_it_is_no_task() -> None:
    with pytest.raises(TaskRefused, match="no task.toml"):
        Task.of({"instruction.md": TaskFile(b"x")})


def test_a_change_makes_a_new_task_and_leaves_the_old_one() -> None:
    old = task()
    new = old.replace({"tests/extra": TaskFile(b"x"), "README.md": TaskFile(b"r"), "instruction.md": None})
    assert "instruction.md" in old
    assert "instruction.md" not in new
    assert list(new.changed_paths(old)) == ["README.md", "instruction.md", "tests/extra"]
    assert new.digest != old.digest


def test_changing_only_the_executable_bit_changes_the_digest() -> None:
    old = task()
    new = old.replace({"tests/test.sh": TaskFile(old.files["tests/test.sh"].data)})
    assert list(new.changed_paths(old)) == ["tests/test.sh"]
    assert new.digest != old.digest
    assert new.source_digest == old.source_digest


def test_under_gives_paths_relative_to_the_folder() -> None:
    assert sorted(task().under("tests")) == ["test.sh"]
    assert task().under("test") == {}


def test_text_never_raises_for_bytes_that_are_not_utf8() -> None:
    made = task().replace({"tests/data": TaskFile(b"\xff")})
    assert made.text("tests/data") == "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    "path",
    [
        "../out",
        "tests/../../out",
        "/etc/passwd",
        "tests//x",
        "./x",
        "tests/",
        "",
        "tests\\x",
        "tests/\x00",
        "tests/\n",
        "tests/\udcff",
        "tests/\u202etxt.exe",
        "tests/" + "x" * 2000,
    ],
)
def test_no_task_holds_an_unsafe_path(path: str) -> None:
    with pytest.raises(TaskRefused):
        task().replace({path: TaskFile(b"x")})


@pytest.mark.parametrize(
    "target",
    ["/etc/passwd", "../../etc/passwd", "../tests/../../x", "", "a\\b", "..", "link", "../tests/link"],
)
def test_no_task_holds_a_link_that_leads_out_or_in_a_circle(target: str) -> None:
    with pytest.raises(TaskRefused) as caught:
        task().replace({"tests/link": TaskFile(link=target)})
    assert caught.value.path == "tests/link"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("link", "goes round in a circle"),
        ("../tests", "goes round in a circle"),
        ("pool", "leaves the task or goes round in a circle"),
        ("../../x", "leaves the task;"),
    ],
)
def test_a_link_that_leads_nowhere_is_told_why(target: str, said: str) -> None:
    with pytest.raises(TaskRefused, match=said):
        task().replace({"tests/link": TaskFile(link=target), "tests/pool": TaskFile(link="link")})


def test_a_link_may_not_lead_out_through_another_link() -> None:
    # By name a/up is a/../x = x; really it is deep/er/../../../x, one above the task.
    with pytest.raises(TaskRefused, match="leaves the task"):
        task().replace({"tests/a": TaskFile(link="../solution"), "tests/b": TaskFile(link="a/../../x/..")})


def test_nothing_lies_below_a_file_or_a_link() -> None:
    for parent in (TaskFile(b"x"), TaskFile(link="../solution")):
        with pytest.raises(TaskRefused, match="nothing can be below"):
            task().replace({"tests/a": parent, "tests/a/b": TaskFile(b"x")})


def test_following_links_goes_as_linux_does() -> None:
    files = {
        "a/file": TaskFile(b"x"),
        "b": TaskFile(link="a"),
        "c": TaskFile(link="b/../a/file"),
        "loop": TaskFile(link="pool"),
        "pool": TaskFile(link="loop"),
        "out": TaskFile(link="../x"),
    }
    assert follow(files, "b/file") == "a/file"
    assert follow(files, "c") == "a/file"
    assert follow(files, "b") == "a"
    assert follow(files, "nothing/here") == "nothing/here"
    assert follow(files, "loop") is None
    assert follow(files, "out") is None
