"""Archives and folders made to hurt: each is refused by its reason, and nothing is left behind.

Where the fault is one task's, the good task beside it comes in all the same.
"""

from __future__ import annotations

import gzip
import io
import os
import socket
import stat
import struct
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandboxes import intake, members
from sandboxes.archives import opened
from sandboxes.errors import TaskRefused
from sandboxes.files import TaskFile
from sandboxes.intake import Intake, find_tasks, read_folder
from tests.sandboxes.tasks import plant, with_changes

Zip, Tar = zipfile.ZipFile, tarfile.TarFile


def outcomes(path: Path) -> dict[str, Intake | str]:
    """What became of each task in the archive, or of the whole under ""; nothing may be left in scratch."""
    scratch = path.parent / "scratch"
    scratch.mkdir()
    before = set(os.listdir(path.parent))
    found: dict[str, Intake | str] = {}
    try:
        with opened(path, scratch) as archive:
            for task in archive.tasks:
                try:
                    found[task] = archive.read(task)
                except TaskRefused as refusal:
                    found[task] = str(refusal)
    except TaskRefused as refusal:
        found = {"": str(refusal)}
    assert os.listdir(scratch) == [] and set(os.listdir(path.parent)) == before
    return found


def zipped(path: Path, build: Callable[[Zip], object], folder: str = "good/") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, file in with_changes({}).items():
            archive.writestr(folder + name, file.data)
        build(archive)
    return path


def tarred(path: Path, build: Callable[[Tar], object], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, file in with_changes({}).items():
            member(archive, f"good/{name}", file.data)
        build(archive)
    return path


def member(archive: Tar, name: str, data: bytes = b"", **fields: object) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    archive.addfile(info, io.BytesIO(data))


def bad_task(archive: Zip | Tar) -> None:
    """A second task, whole but for what a test adds to it."""
    for name, file in with_changes({}).items():
        if isinstance(archive, zipfile.ZipFile):
            archive.writestr(f"bad/{name}", file.data)
        else:
            member(archive, f"bad/{name}", file.data)


def special(name: str, kind: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = (kind | 0o777) << 16
    return info


ONE_TASK_OF_A_TAR: dict[str, tuple[Callable[[Tar], object], str]] = {
    "link to a file of the machine": (
        lambda tar: member(tar, "bad/tests/x", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        "not relative",
    ),
    "link out of the task": (
        lambda tar: member(tar, "bad/tests/x", type=tarfile.SYMTYPE, linkname="../../good/task.toml"),
        "leaves the task",
    ),
    "link that is written through": (
        lambda tar: (
            member(tar, "bad/tests/d", type=tarfile.SYMTYPE, linkname="../solution"),
            member(tar, "bad/tests/d/solve.sh", b"evil"),
        ),
        "nothing can be below it",
    ),
    "link to itself": (
        lambda tar: member(tar, "bad/tests/x", type=tarfile.SYMTYPE, linkname="x"),
        "circle",
    ),
    "two links in a circle": (
        lambda tar: (
            member(tar, "bad/tests/x", type=tarfile.SYMTYPE, linkname="y"),
            member(tar, "bad/tests/y", type=tarfile.SYMTYPE, linkname="x"),
        ),
        "circle",
    ),
    "hard link to a file of the machine": (
        lambda tar: member(tar, "bad/tests/x", type=tarfile.LNKTYPE, linkname="/etc/shadow"),
        "hard link to /etc/shadow",
    ),
    "character device": (lambda tar: member(tar, "bad/tests/x", type=tarfile.CHRTYPE), "special file"),
    "block device": (lambda tar: member(tar, "bad/tests/x", type=tarfile.BLKTYPE), "special file"),
    "pipe": (lambda tar: member(tar, "bad/tests/x", type=tarfile.FIFOTYPE), "special file"),
    "sparse file of a terabyte": (
        lambda tar: member(
            tar,
            "bad/environment/x",
            pax_headers={
                "GNU.sparse.major": "0",
                "GNU.sparse.minor": "1",
                "GNU.sparse.size": str(1 << 40),
                "GNU.sparse.map": f"0,0,{1 << 40},0",
            },
        ),
        "sparse file",
    ),
    "name with a backslash": (lambda tar: member(tar, "bad/tests/..\\x"), "backslash"),
    "name with a drive letter": (lambda tar: member(tar, "bad/tests/C:\\x"), "backslash"),
    "name with a NUL": (
        lambda tar: member(tar, "bad/tests/x", pax_headers={"path": "bad/tests/a\0b"}),
        "control character",
    ),
    "name that reads backwards": (lambda tar: member(tar, "bad/tests/a\u202eb"), "not seen"),
    "name that is not UTF-8": (lambda tar: member(tar, "bad/tests/\udcff"), "not UTF-8"),
    "name given twice": (lambda tar: member(tar, "bad/tests/test.sh", b"other"), "in the archive twice"),
    "file where a folder is": (lambda tar: member(tar, "bad/tests", b"x"), "nothing can be below it"),
    "folder where a file is": (lambda tar: member(tar, "bad/task.toml/x", b"x"), "nothing can be below it"),
}


@pytest.mark.parametrize("mode", ["w", "w:gz"])
@pytest.mark.parametrize("name", ONE_TASK_OF_A_TAR)
def test_one_hostile_task_of_a_tar_is_refused_and_the_other_comes_in(
    tmp_path: Path, name: str, mode: str
) -> None:
    hostile, words = ONE_TASK_OF_A_TAR[name]

    def build(archive: Tar) -> None:
        bad_task(archive)
        hostile(archive)

    found = outcomes(tarred(tmp_path / "b", build, mode))

    assert isinstance(found["good"], Intake)
    assert isinstance(found["bad"], str) and words in found["bad"], found["bad"]


def lzma(archive: Zip) -> None:
    archive.writestr("bad/tests/x", b"x", zipfile.ZIP_LZMA)


ONE_TASK_OF_A_ZIP: dict[str, tuple[Callable[[Zip], object], str]] = {
    "link to a file of the machine": (
        lambda file: file.writestr(special("bad/tests/x", stat.S_IFLNK), "/etc/passwd"),
        "not relative",
    ),
    "link out of the task": (
        lambda file: file.writestr(special("bad/tests/x", stat.S_IFLNK), "../../good/task.toml"),
        "leaves the task",
    ),
    "link whose target is a megabyte": (
        lambda file: file.writestr(special("bad/tests/x", stat.S_IFLNK), "a/" * (1 << 19)),
        "target of this link is longer",
    ),
    "pipe": (lambda file: file.writestr(special("bad/tests/x", stat.S_IFIFO), ""), "special file"),
    "socket": (lambda file: file.writestr(special("bad/tests/x", stat.S_IFSOCK), ""), "special file"),
    "device": (lambda file: file.writestr(special("bad/tests/x", stat.S_IFBLK), ""), "special file"),
    "a way of packing that is not ours": (lzma, "packed in a way other than deflate"),
    "name with a drive letter": (lambda file: file.writestr("bad/tests/C:\\x", b""), "backslash"),
    "file where a folder is": (lambda file: file.writestr("bad/tests", b"x"), "nothing can be below it"),
    "task.toml as a folder": (lambda file: file.writestr("bad/task.toml/x", b"x"), "nothing can be below it"),
}


@pytest.mark.parametrize("name", ONE_TASK_OF_A_ZIP)
def test_one_hostile_task_of_a_zip_is_refused_and_the_other_comes_in(tmp_path: Path, name: str) -> None:
    hostile, words = ONE_TASK_OF_A_ZIP[name]

    def build(archive: Zip) -> None:
        bad_task(archive)
        hostile(archive)

    found = outcomes(zipped(tmp_path / "b", build))

    assert isinstance(found["good"], Intake)
    assert isinstance(found["bad"], str) and words in found["bad"], found["bad"]


def changed_directory(path: Path, name: bytes, at: int, value: bytes) -> Path:
    """The zip with a field of one member's entry in the directory written over."""
    data = bytearray(path.read_bytes())
    entry = data.rindex(name) - 46
    assert data[entry : entry + 4] == b"PK\x01\x02"
    data[entry + at : entry + at + len(value)] = value
    path.write_bytes(data)
    return path


def changed_header(path: Path, name: bytes, at: int, value: bytes) -> Path:
    """The zip with a field of the header right before one member written over."""
    data = bytearray(path.read_bytes())
    header = data.index(name) - 30
    assert data[header : header + 4] == b"PK\x03\x04"
    data[header + at : header + at + len(value)] = value
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("at", "value", "words"),
    [
        (8, b"\x01\x00", "encrypted"),
        (16, b"\0\0\0\0", "damaged"),  # the check sum
        (24, struct.pack("<L", 3), "declares 3 bytes"),
        (24, struct.pack("<L", 3_000), "declares 3,000 bytes"),
    ],
)
def test_a_lie_about_one_member_of_a_zip_refuses_its_task_alone(
    tmp_path: Path, at: int, value: bytes, words: str
) -> None:
    def build(archive: Zip) -> None:
        bad_task(archive)
        archive.writestr("bad/environment/lie", b"x" * 100, zipfile.ZIP_DEFLATED)

    name = b"bad/environment/lie"
    path = changed_directory(zipped(tmp_path / "b", build), name, at, value)
    found = outcomes(changed_header(path, name, at - 2, value))  # the same lie in both places

    assert isinstance(found["good"], Intake)
    assert isinstance(found["bad"], str) and words in found["bad"], found["bad"]


THE_WHOLE_TAR: dict[str, tuple[Callable[[Tar], object], str]] = {
    "absolute name": (lambda tar: member(tar, "/etc/cron.d/x"), "relative"),
    "name that goes up": (lambda tar: member(tar, "good/../../x"), "'..'"),
    "name that is only dots": (lambda tar: member(tar, "../x"), "'..'"),
    "backslash in a folder": (lambda tar: member(tar, "..\\..\\x"), "backslash"),
    "name of a hundred kilobytes": (lambda tar: member(tar, "x" * 100_000), "longer than"),
    "ten thousand folders deep": (lambda tar: member(tar, "a/" * 10_000 + "x"), "longer than"),
    "long header": (
        lambda tar: member(tar, "x", pax_headers={"comment": "x" * (1 << 21)}),
        "a header is larger than",
    ),
}


@pytest.mark.parametrize("mode", ["w", "w:gz"])
@pytest.mark.parametrize("name", THE_WHOLE_TAR)
def test_a_tar_that_lies_about_itself_is_refused_as_a_whole(tmp_path: Path, name: str, mode: str) -> None:
    hostile, words = THE_WHOLE_TAR[name]

    found = outcomes(tarred(tmp_path / "b", hostile, mode))

    assert list(found) == [""] and words in str(found[""]), found


def test_names_that_a_zip_leads_out_with_refuse_all_of_it(tmp_path: Path) -> None:
    for number, name in enumerate(("/etc/x", "../x", "good/../../x", "..\\x", "C:\\x", "\\\\host\\x")):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = outcomes(zipped(folder / "b", lambda archive, name=name: archive.writestr(name, b"")))  # type: ignore[misc]
        assert list(found) == [""], name


def test_a_small_zip_whose_members_share_their_bytes_is_a_bomb(tmp_path: Path) -> None:
    path = zipped(
        tmp_path / "b",
        lambda archive: [archive.writestr(f"good/environment/{n}", bytes(1000), 8) for n in range(3)],
    )
    first = path.read_bytes().index(b"good/environment/0") - 30
    for name in (b"good/environment/1", b"good/environment/2"):
        changed_directory(path, name, 42, struct.pack("<L", first))

    assert "share their bytes" in str(outcomes(path)[""])


def test_a_zip_with_something_before_it_or_after_it_is_refused(tmp_path: Path) -> None:
    whole = zipped(tmp_path / "whole", lambda _: None).read_bytes()
    cases = {
        "two zips": (whole + whole, "other data before or inside it"),
        "data after it": (whole + b"x", "something follows the end"),
        "a comment that is longer than said": (whole[:-2] + b"\x01\x00xx", "something follows the end"),
        "a second end in its comment": (
            whole[:-2] + struct.pack("<H", 22) + b"PK\x05\x06" + bytes(18),
            "other data",
        ),
    }
    for number, (name, (data, words)) in enumerate(cases.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "b").write_bytes(data)
        assert words in str(outcomes(folder / "b")[""]), name


def test_a_zip_that_says_it_has_millions_of_members_is_refused_before_one_is_made(tmp_path: Path) -> None:
    """As zip64 says it: the counts of the old record are all ones."""
    whole = bytearray(zipped(tmp_path / "b", lambda _: None).read_bytes())
    end = bytes(whole[-22:])
    size, start = struct.unpack_from("<LL", end, 12)
    record = struct.pack("<4sQHHLLQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 10**7, 10**7, size, start)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, len(whole) - 22, 1)
    (tmp_path / "b").write_bytes(whole[:-22] + record + locator + end)

    assert "more than 200,000 entries" in str(outcomes(tmp_path / "b")[""])


def test_a_zip64_that_is_honest_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a zip of more than 65,535 entries is, which the old record cannot count."""
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 3)
    path = zipped(tmp_path / "b", lambda _: None)
    assert b"PK\x06\x07" in path.read_bytes()

    assert isinstance(outcomes(path)["good"], Intake)


def test_a_task_of_too_many_files_is_refused_and_the_other_comes_in(tmp_path: Path) -> None:
    def build(archive: Tar) -> None:
        bad_task(archive)
        header = tarfile.TarInfo("x")
        for number in range(10_001):
            header.name = f"bad/environment/{number}"
            archive.addfile(header)

    found = outcomes(tarred(tmp_path / "b", build))

    assert isinstance(found["good"], Intake) and "more than 10,000 files" in str(found["bad"])


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_file_that_says_it_is_too_large_is_never_read(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(archive: Any) -> None:
        bad_task(archive)
        big = bytes(range(250)) * 40
        member(archive, "bad/tests/x", big) if kind == "tar" else archive.writestr("bad/tests/x", big)

    path = tarred(tmp_path / "b", build) if kind == "tar" else zipped(tmp_path / "b", build)
    monkeypatch.setattr(intake, "MAX_FILE_BYTES", 5_000)

    found = outcomes(path)

    assert isinstance(found["good"], Intake) and "larger than" in str(found["bad"])


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_bomb_is_refused_without_being_held(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "RATIO_FLOOR", 8 << 20)
    zeros = bytes(32 << 20)
    if kind == "zip":
        path = zipped(tmp_path / "b", lambda archive: archive.writestr("good/environment/x", zeros, 8))
    else:
        path = tarred(tmp_path / "b", lambda archive: member(archive, "good/environment/x", zeros), "w:gz")
    tracemalloc.start()

    found = outcomes(path)

    assert "looks like a bomb" in str(found[""])
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def test_an_archive_inside_an_archive_is_left_as_the_file_that_it_is(tmp_path: Path) -> None:
    inner = gzip.compress(bytes(1 << 20))

    found = outcomes(zipped(tmp_path / "b", lambda archive: archive.writestr("good/environment/x.gz", inner)))

    assert isinstance(found["good"], Intake)
    assert found["good"].task.files["environment/x.gz"] == TaskFile(inner)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: data[:-20], "damaged"),
        (lambda data: data[: len(data) // 2], "damaged"),
        (lambda data: data + b"garbage", "damaged"),
        (lambda data: data[:-8] + bytes(8), "damaged"),  # the check sum and the size
        (lambda data: data + gzip.compress(b"x" * 600), "something follows the end of this tar"),
    ],
)
def test_a_gzip_that_is_cut_off_goes_on_or_does_not_add_up_is_refused(
    tmp_path: Path, damage: Callable[[bytes], bytes], words: str
) -> None:
    path = tarred(tmp_path / "b", lambda _: None, "w:gz")
    path.write_bytes(damage(path.read_bytes()))

    assert words in str(outcomes(path)[""])


def test_two_tars_behind_each_other_are_refused_since_one_of_them_would_be_lost(tmp_path: Path) -> None:
    path = tarred(tmp_path / "b", lambda _: None)
    path.write_bytes(path.read_bytes() * 2)

    assert "something follows the end of this tar" in str(outcomes(path)[""])


def test_names_that_differ_in_case_alone_are_kept_and_warned_about(tmp_path: Path) -> None:
    found = outcomes(
        zipped(tmp_path / "b", lambda archive: archive.writestr("good/environment/dockerfile", b"x"))
    )

    taken = found["good"]
    assert isinstance(taken, Intake) and "environment/dockerfile" in taken.task
    assert any("differ in case or accents' form only" in warning for warning in taken.warnings)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"a = " + b"[" * 5_000 + b"]" * 5_000, "nested too deeply"),
        (b"a." * 20_000 + b"a = 1", "a key of more than 100 parts"),
        (b"x = '" + b"x" * (1 << 20) + b"'", "more than 1,048,576 characters"),
        (b"a = " + b"9" * 5_000, "more than 4,300 digits"),
    ],
    ids=["brackets", "dots", "huge", "digits"],
)
def test_a_task_toml_that_no_reader_survives_is_refused(tmp_path: Path, text: bytes, words: str) -> None:
    def build(archive: Zip) -> None:
        for name, file in with_changes({"task.toml": text}).items():
            archive.writestr(f"bad/{name}", file.data)

    found = outcomes(zipped(tmp_path / "b", build))

    assert isinstance(found["good"], Intake) and words in str(found["bad"])[:300]


# Folders


def test_a_socket_a_pipe_and_a_circle_of_links_in_a_folder_are_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(plant(tmp_path / "socket") / "tests/x"))
    os.mkfifo(plant(tmp_path / "pipe") / "tests/x")
    (plant(tmp_path / "circle") / "tests/x").symlink_to("y")
    (tmp_path / "circle/tests/y").symlink_to("x")
    (plant(tmp_path / "up") / "tests/x").symlink_to("..")
    plant(tmp_path / "good")
    (tmp_path / "round").symlink_to(tmp_path)

    found = {}
    for folder in find_tasks(tmp_path):
        try:
            found[folder.name] = str(read_folder(folder).warnings)
        except TaskRefused as refusal:
            found[folder.name] = refusal.reason

    assert found.pop("good") == "()"
    words = {"socket": "special file", "pipe": "special file", "circle": "circle", "up": "circle"}
    assert {name: words[name] in reason for name, reason in found.items()} == dict.fromkeys(words, True), (
        found
    )


@pytest.mark.parametrize("name", ["task.toml", "environment/Dockerfile"])
def test_a_folder_in_place_of_a_file_is_refused(tmp_path: Path, name: str) -> None:
    plant(tmp_path, {name: None})
    (tmp_path / name).mkdir(parents=True)

    with pytest.raises(TaskRefused, match="a folder where a file belongs"):
        read_folder(tmp_path)


def swapped(name: str, swap: Callable[[str, int], object], function: str, patch: pytest.MonkeyPatch) -> None:
    """Have `swap` change the file `name` right before `function` of the system looks at it."""
    real = getattr(os, function)

    def late(path: Any, *args: Any, **options: Any) -> Any:
        if path == name and options.get("dir_fd") is not None:
            swap(name, options["dir_fd"])
        return real(path, *args, **options)

    patch.setattr(os, function, late)


def gone(name: str, folder: int) -> None:
    os.unlink(name, dir_fd=folder)


def by_a_pipe(name: str, folder: int) -> None:
    gone(name, folder)
    os.mkfifo(name, dir_fd=folder)


def by_a_link(name: str, folder: int) -> None:
    gone(name, folder)
    os.symlink("/etc/passwd", name, dir_fd=folder)


def by_a_folder(name: str, folder: int) -> None:
    gone(name, folder)
    os.mkdir(name, dir_fd=folder)


@pytest.mark.parametrize(
    ("swap", "function"),
    [
        (gone, "stat"),
        (gone, "open"),
        (by_a_pipe, "open"),
        (by_a_link, "open"),
        (by_a_folder, "open"),
    ],
)
def test_a_file_that_goes_or_turns_into_something_else_while_it_is_read_refuses_its_task(
    tmp_path: Path, swap: Callable[[str, int], object], function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, {"environment/moving": b"x"})
    swapped("moving", swap, function, monkeypatch)

    with pytest.raises(TaskRefused, match="environment/moving: (cannot be read|this file changed)"):
        read_folder(tmp_path)


def test_a_file_that_grows_while_it_is_read_refuses_its_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, {"environment/log": b"x" * 1000})
    read = intake.Budget.read

    def written_to(self: intake.Budget, path: str, reader: Callable[[int], bytes]) -> bytes:
        data = read(self, path, reader)
        if path == "environment/log":
            with (tmp_path / path).open("ab") as log:
                log.write(b"more")
        return data

    monkeypatch.setattr(intake.Budget, "read", written_to)

    with pytest.raises(TaskRefused, match="environment/log: this file changed while it was read"):
        read_folder(tmp_path)


def test_folders_deeper_than_a_path_can_say_are_named_and_end_nothing(tmp_path: Path) -> None:
    plant(tmp_path / "good")
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("d" * 200, dir_fd=here)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)

    deep, good = find_tasks(tmp_path)

    assert good == tmp_path / "good"
    with pytest.raises(TaskRefused):
        read_folder(deep)
