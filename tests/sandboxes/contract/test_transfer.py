"""Files in and out: what is taken, what is refused, and no link is ever followed."""

from __future__ import annotations

import time

import pytest

from sandboxes.base import Found, Kind, Sandbox
from sandboxes.errors import TooMuch
from sandboxes.files import TaskFile
from tests.sandboxes.contract.test_commands import sh

PLAIN = TaskFile(b"content")


def test_files_come_back_as_they_went_in(box: Sandbox) -> None:
    files = {
        "plain": PLAIN,
        "run.sh": TaskFile.text("#!/bin/sh\n", executable=True),
        "private": TaskFile(b"\0\xff\r\n", 0o600),
        "deep/er/größe und \n mehr": TaskFile(b"x" * 100_000, 0o444),
        "a" * 200 + "/" + "b" * 200: TaskFile(b""),
    }
    box.write_files(files, "/data/in")
    found = box.read_files(["/data/in"])
    assert found == {f"/data/in/{name}": file for name, file in files.items()}


def test_modes_and_owner_are_set(box: Sandbox) -> None:
    box.write_files({"run.sh": TaskFile(b"#!/bin/sh\necho ran\n", 0o755)}, "/new/folder")
    assert (
        sh(box, "/new/folder/run.sh; stat -c '%u %g %a' /new /new/folder/run.sh")
        == b"ran\n0 0 755\n0 0 755\n"
    )


def test_modes_of_folders_that_exist_stay(box: Sandbox) -> None:
    box.write_files({"x": PLAIN}, "/tmp/sub")
    box.write_files({"x": PLAIN}, "/root")
    assert sh(box, "stat -c %a /tmp /root") == b"1777\n700\n"


def test_a_file_that_exists_is_replaced(box: Sandbox) -> None:
    sh(box, "echo old content that is longer > /app/f; chmod 777 /app/f; ln /app/f /app/other-name")
    box.write_files({"f": PLAIN}, "/app")
    assert box.read_files(["/app/f"]) == {"/app/f": PLAIN}
    assert sh(box, "cat /app/other-name") == b"old content that is longer\n"


def test_links_that_are_written_are_links(box: Sandbox) -> None:
    box.write_files({"to": PLAIN, "link": TaskFile(link="to")}, "/app")
    assert sh(box, "readlink /app/link; cat /app/link") == b"to\ncontent"


def test_writing_goes_through_no_planted_link_to_a_file(box: Sandbox) -> None:
    sh(box, "echo precious > /etc/precious; ln -s /etc/precious /app/out")
    box.write_files({"out": PLAIN}, "/app")
    assert sh(box, "cat /etc/precious; cat /app/out; test ! -L /app/out") == b"precious\ncontent"


@pytest.mark.parametrize("target", ["/own", "own", "/nowhere", "../proc/self/cwd"])
def test_writing_goes_through_no_planted_link_to_a_folder(box: Sandbox, target: str) -> None:
    sh(box, f"mkdir /own; rm -rf /tests; ln -s {target} /tests; mkdir -p /x/y; ln -s {target} /x/y/z")
    box.write_files({"test.sh": PLAIN, "sub/f": PLAIN}, "/tests")
    box.write_files({"y/z/f": PLAIN}, "/x")
    assert (
        sh(box, "test ! -L /tests -a ! -L /x/y/z; cat /tests/test.sh /x/y/z/f; ls -A /own")
        == b"contentcontent"
    )


def test_the_links_of_a_merged_usr_stay(box: Sandbox) -> None:
    box.write_files({"bin/our-tool": TaskFile(b"#!/bin/sh\necho ours\n", 0o755)}, "/")
    assert sh(box, "our-tool; readlink /bin; ls /usr/bin/our-tool") == b"ours\nusr/bin\n/usr/bin/our-tool\n"


@pytest.mark.parametrize("path", ["../out", "a/../../out", "..", "."])
def test_a_path_that_leaves_the_root_is_refused(box: Sandbox, path: str) -> None:
    with pytest.raises(ValueError, match="below"):
        box.write_files({path: PLAIN}, "/app/sub")


def test_many_files_go_in_and_out_at_once(box: Sandbox) -> None:
    files = {f"{n % 7}/{n}": TaskFile(b"%d" % n) for n in range(600)}
    box.write_files(files, "/many")
    assert len(box.read_files(["/many"])) == 600


def test_what_is_missing_gives_nothing(box: Sandbox) -> None:
    assert box.read_files(["/app/nothing", "/not/there/at/all"]) == {}


def test_an_empty_folder_gives_nothing(box: Sandbox) -> None:
    sh(box, "mkdir -p /app/empty/deep")
    assert box.read_files(["/app/empty"]) == {}


def test_several_paths_give_one_mapping(box: Sandbox) -> None:
    sh(box, "mkdir d; echo 1 > d/a; echo 2 > f")
    assert sorted(box.read_files(["/app/d", "/app/f", "/app/d/"])) == ["/app/d/a", "/app/f"]


def test_links_are_left_out(box: Sandbox) -> None:
    sh(box, "mkdir o; echo s > o/s; ln -s /etc/passwd o/abs; ln -s s o/rel; ln -s /etc o/dir; ln -s . o/loop")
    assert sorted(box.read_files(["/app/o"])) == ["/app/o/s"]


def test_a_path_that_is_a_link_itself_gives_nothing(box: Sandbox) -> None:
    sh(box, "mkdir -p /logs; ln -s /etc /logs/verifier; ln -s /etc/passwd /app/answer")
    assert box.read_files(["/logs/verifier", "/app/answer"]) == {}


def test_special_files_are_left_out(box: Sandbox) -> None:
    sh(box, "mkdir s; echo 1 > s/f; mkfifo s/pipe; mkfifo /app/pipe")
    started = time.monotonic()
    assert sorted(box.read_files(["/app/s", "/app/pipe"])) == ["/app/s/f"]
    assert time.monotonic() - started < 20


def test_hard_links_are_files(box: Sandbox) -> None:
    sh(box, "mkdir h; echo same > h/a; ln h/a h/b")
    found = box.read_files(["/app/h"])
    assert {path: file.data for path, file in found.items()} == {"/app/h/a": b"same\n", "/app/h/b": b"same\n"}


@pytest.mark.parametrize(
    ("left_out", "left"), [("l[1-8]*", 112), pytest.param("l1*", 889, marks=pytest.mark.soak)]
)
def test_thousands_of_hard_links_are_files_too(left_out: str, left: int, box: Sandbox) -> None:
    """Without their first name each is asked for by itself, which takes an engine a tenth of a second."""
    sh(box, "mkdir h; cd h; echo x > a; i=0; while [ $i -lt 1500 ]; do ln a l$i; i=$((i+1)); done")
    started = time.monotonic()
    assert len(box.read_files(["/app/h"])) == 1501
    assert len(box.read_files(["/app/h"], exclude=["a", left_out])) == left
    assert time.monotonic() - started < 60


def test_a_path_through_a_file_or_a_circle_of_links_gives_nothing(box: Sandbox) -> None:
    sh(box, "echo x > f; ln -s two one; ln -s one two")
    assert box.read_files(["/app/f/x", "/app/one", "/app/one/x", "/app/" + "n" * 300]) == {}
    box.write_files({"f/x": PLAIN, "one/x": PLAIN}, "/app")
    assert box.read_files(["/app/f/x", "/app/one/x"]) == {"/app/f/x": PLAIN, "/app/one/x": PLAIN}


def test_what_is_found_is_a_folder_with_its_links_or_a_file_or_a_link_or_nothing(box: Sandbox) -> None:
    sh(box, "mkdir -p d/sub e; echo 1 > d/f; ln -s f d/l; ln -s /etc d/away; ln -s d to; mkfifo pipe")
    folder = box.find("/app/d", exclude=["away"])
    assert folder and folder.folder
    assert {path: file.link for path, file in folder.files.items()} == {"/app/d/f": None, "/app/d/l": "f"}
    assert box.find("/app/e/") == Found(folder=True, files={})
    assert box.find("/app/d/f") == Found(folder=False, files={"/app/d/f": TaskFile(b"1\n")})
    assert box.find("/app/to") == Found(folder=False, files={"/app/to": TaskFile(link="d")})
    assert (box.find("/app/pipe"), box.find("/app/no")) == (None, None)


def test_looking_tells_what_stands_at_a_path_itself(box: Sandbox) -> None:
    sh(box, "mkdir d; printf abc > f; ln -s f l; ln -s l2 l2; mkfifo p; truncate -s 60M huge")
    started = time.monotonic()
    seen = box.look(
        ["/", *(f"/app/{name}" for name in ("d", "f", "l", "l2", "p", "huge", "no", "no/no", "f/x"))]
    )
    assert time.monotonic() - started < 20
    assert {path.rpartition("/")[2]: entry.kind for path, entry in seen.items()} == {
        "": Kind.FOLDER,
        "d": Kind.FOLDER,
        "f": Kind.FILE,
        "l": Kind.LINK,
        "l2": Kind.LINK,
        "p": Kind.SPECIAL,
        "huge": Kind.FILE,
    }
    assert (seen["/app/f"].size, seen["/app/huge"].size) == (3, 60 << 20)


def test_excluded_files_are_left_out(box: Sandbox) -> None:
    sh(box, "mkdir -p e/cache e/sub/deep; touch e/a.tmp e/b e/cache/x e/sub/c.tmp e/sub/deep/y e/sub/z")
    found = box.read_files(["/app/e"], exclude=["*.tmp", "cache", "sub/deep"])
    assert sorted(found) == ["/app/e/b", "/app/e/sub/z"]


def test_more_than_the_limit_is_refused(box: Sandbox) -> None:
    sh(box, "mkdir m; for i in 1 2 3; do head -c 400000 /dev/zero > m/$i; done")
    with pytest.raises(TooMuch, match="larger than 1,048,576 bytes"):
        box.read_files(["/app/m"])
    assert len(box.read_files(["/app/m"], exclude=["3"])) == 2


def test_a_huge_hollow_file_is_refused_at_once(box: Sandbox) -> None:
    sh(box, "truncate -s 60M /app/hollow")
    started = time.monotonic()
    with pytest.raises(TooMuch, match="larger than"):
        box.read_files(["/app"])
    assert time.monotonic() - started < 20


def test_a_file_that_nobody_may_read_is_read(box: Sandbox) -> None:
    sh(box, "mkdir c; echo text > c/f; chmod 0 c/f")
    assert box.read_files(["/app/c"])["/app/c/f"].data == b"text\n"


def test_tools_that_a_command_replaced_do_not_touch_transfers(box: Sandbox) -> None:
    sh(
        box,
        """printf '#!/bin/sh\\necho 1 > /tests/forged; exit 0\\n' > /tmp/t; chmod +x /tmp/t
    cp /tmp/t /usr/local/bin/tar; cp --remove-destination /tmp/t /usr/bin/tar; cp /tmp/t /usr/local/bin/sh""",
    )
    box.write_files({"test.sh": PLAIN}, "/tests")
    assert box.read_files(["/tests"]) == {"/tests/test.sh": PLAIN}
