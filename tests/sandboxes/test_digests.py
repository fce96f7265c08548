"""The two digests. The values of Harbor's were computed with harbor 0.26 on the same files."""

import hashlib

import pytest

from sandboxes.digests import content_digest, harbor_digest, packaged
from sandboxes.errors import TaskRefused
from sandboxes.files import TaskFile
from tests.sandboxes.tasks import with_changes


@pytest.mark.parametrize("path", [".gitignore", "tests/.harborignore", "solution/a/.harborignore"])
@pytest.mark.parametrize("pattern", [b"[z-a]", b"!"])
def test_a_pattern_that_cannot_be_read_is_refused_with_its_line(path: str, pattern: bytes) -> None:
    with pytest.raises(TaskRefused, match="this pattern cannot be read") as caught:
        harbor_digest(with_changes({path: b"*.tmp\n\n" + pattern + b"\n"}))
    assert (caught.value.path, caught.value.line) == (path, 3)


def test_order_of_insertion_does_not_count() -> None:
    files = with_changes({})
    assert content_digest(files) == content_digest(dict(reversed(files.items())))


@pytest.mark.parametrize(
    "changed",
    [
        {"tests/test.sh": TaskFile(b"#!/bin/bash\n", 0o755)},
        {"tests/test.sh": TaskFile(with_changes({})["tests/test.sh"].data, 0o644)},
        {"tests/more.txt": TaskFile(b"")},
        {"solution/solve.sh": None},
    ],
)
def test_content_executable_bit_and_presence_count(changed: dict[str, TaskFile | bytes | None]) -> None:
    assert content_digest(with_changes(changed)) != content_digest(with_changes({}))


def test_other_permission_bits_do_not_count() -> None:
    assert content_digest({"a": TaskFile(b"x", 0o600)}) == content_digest({"a": TaskFile(b"x", 0o644)})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": TaskFile(link="b")}, {"a": TaskFile(b"b")}),
        ({"a": TaskFile(b""), "b": TaskFile(b"")}, {"ab": TaskFile(b"")}),
        ({"1:a-": TaskFile(b"")}, {"a": TaskFile(b"")}),
    ],
)
def test_different_files_never_share_a_digest(one: dict[str, TaskFile], other: dict[str, TaskFile]) -> None:
    assert content_digest(one) != content_digest(other)


def test_harbors_digest_is_its_five_lines_over_a_plain_task() -> None:
    files = with_changes({"README.md": b"hi\n"})
    outer = hashlib.sha256()
    for path in sorted(files):
        outer.update(f"{path}\0{hashlib.sha256(files[path].data).hexdigest()}\n".encode())
    assert harbor_digest(files) == outer.hexdigest()
    assert harbor_digest(files) == HARBOR_PLAIN


def test_harbors_digest_knows_nothing_of_modes() -> None:
    bare = with_changes({"tests/test.sh": TaskFile(with_changes({})["tests/test.sh"].data, 0o644)})
    assert harbor_digest(bare) == harbor_digest(with_changes({}))


def names(changes: dict[str, TaskFile | bytes | None]) -> set[str]:
    return {path for path, _ in packaged(with_changes(changes))} - set(with_changes({}))


def test_only_what_harbor_publishes_counts() -> None:
    assert names({"notes.txt": b"", "trajectory.json": b"{}", "steps/one/x": b"", "data/x": b""}) == {
        "trajectory.json",
        "steps/one/x",
    }


def test_default_ignores_count_where_there_is_no_gitignore() -> None:
    rubbish: dict[str, TaskFile | bytes | None] = {
        "tests/__pycache__/a.pyc": b"",
        "solution/.DS_Store": b"",
        "environment/x~": b"",
    }
    assert names(rubbish) == set()
    assert names({**rubbish, ".gitignore": b"*.log\n", "tests/a.log": b""}) == set(rubbish)


def test_harborignore_counts_in_tests_and_solution_only() -> None:
    assert names(
        {
            "tests/.harborignore": b"*.log\nsub/deep/\n",
            "tests/a.log": b"",
            "tests/sub/.harborignore": b"!b.log\n",
            "tests/sub/b.log": b"",
            "tests/sub/deep/c.txt": b"",
            "environment/.harborignore": b"*.csv\n",
            "environment/d.csv": b"",
        }
    ) == {"tests/sub/b.log", "environment/d.csv"}


def test_a_link_counts_with_the_file_behind_it_and_links_to_folders_are_left_out() -> None:
    linked = with_changes(
        {
            "environment/data/in.csv": b"1\n",
            "environment/file": TaskFile(link="data/in.csv"),
            "environment/folder": TaskFile(link="data"),
            "environment/gone": TaskFile(link="nowhere"),
            "environment/through": TaskFile(link="folder/in.csv"),
        }
    )
    found = dict(packaged(linked))
    assert found["environment/file"].data == b"1\n"
    assert found["environment/through"].data == b"1\n"
    assert {"environment/folder", "environment/gone"}.isdisjoint(found)
    assert harbor_digest(linked) == HARBOR_LINKED


HARBOR_PLAIN = "d1080696d2440fd2e5ede59f816dd536e58a090a1535989f96273fd402722bd1"
HARBOR_LINKED = "974c20a4fca88c229785278552d81b92851c9d3a62f89427454d9e5e3cfddc4c"
