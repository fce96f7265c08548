"""Archives in which two readers see different files: what such a one would hide never comes in unseen."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import unicodedata
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sandboxes.archives import opened
from sandboxes.errors import TaskRefused
from sandboxes.files import EXECUTABLE, PLAIN
from sandboxes.intake import Intake
from tests.sandboxes.tasks import with_changes
from tests.sandboxes.test_hostile_archives import (
    Tar,
    Zip,
    bad_task,
    changed_header,
    member,
    outcomes,
    special,
    tarred,
    zipped,
)

HALF = "a folder by its name or its kind alone"
DIFFERENT = "say different things"


def in_zip(name: str, data: bytes = b"") -> Callable[[Zip], object]:
    return lambda archive: archive.writestr(name, data)


TWO_READERS_OF_A_ZIP: dict[str, tuple[Callable[[Zip], object], str]] = {
    "folder after a file of its name": (in_zip("bad/tests/test.sh/"), "twice, as a file and as a folder"),
    "folder before a file of its name": (
        lambda file: (file.writestr("bad/tests/x/", b""), file.writestr("bad/tests/x", b"")),
        "twice, as a file and as a folder",
    ),
    "folder below a file": (in_zip("bad/tests/test.sh/x/"), "nothing can be below it"),
    "folder that has content": (in_zip("bad/tests/x/", b"echo 1"), HALF),
    "link that is named as a folder": (
        lambda file: file.writestr(special("bad/tests/x/", stat.S_IFLNK), "../solution"),
        HALF,
    ),
    "folder that is named as a file": (
        lambda file: file.writestr(special("bad/tests/x", stat.S_IFDIR), ""),
        HALF,
    ),
    "link to the task.toml of another task": (
        lambda file: file.writestr(special("bad/solution/x", stat.S_IFLNK), "../../good/task.toml"),
        "leaves the task",
    ),
    "name that no file system takes": (in_zip("bad/tests/" + "é" * 128), "longer than 255 bytes"),
    "the same name with a dot before it": (in_zip("./bad/tests/test.sh"), "in the archive twice"),
}


@pytest.mark.parametrize("name", TWO_READERS_OF_A_ZIP)
def test_a_member_that_two_readers_take_for_two_things_refuses_its_task_alone(
    tmp_path: Path, name: str
) -> None:
    hostile, words = TWO_READERS_OF_A_ZIP[name]

    found = outcomes(zipped(tmp_path / "b", lambda archive: (bad_task(archive), hostile(archive))))

    assert isinstance(found["good"], Intake)
    assert isinstance(found["bad"], str) and words in found["bad"], found["bad"]


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (6, b"\x01\0"),  # encrypted
        (8, b"\0\0"),  # not packed
        (14, b"\0\0\0\0"),  # the check sum
        (18, struct.pack("<L", 3)),  # the size as packed
        (22, struct.pack("<L", 3)),  # the size
        (30, b"bad/environment/other"),  # the name
    ],
)
def test_a_zip_whose_headers_and_directory_disagree_about_a_member_refuses_its_task_alone(
    tmp_path: Path, at: int, value: bytes
) -> None:
    def build(archive: Zip) -> None:
        bad_task(archive)
        archive.writestr("bad/environment/AAAAA", b"x" * 100, zipfile.ZIP_DEFLATED)

    found = outcomes(changed_header(zipped(tmp_path / "b", build), b"bad/environment/AAAAA", at, value))

    assert isinstance(found["good"], Intake)
    assert DIFFERENT in str(found["bad"]), found["bad"]


def test_a_folder_whose_own_header_names_a_file_is_not_passed_over(tmp_path: Path) -> None:
    path = zipped(tmp_path / "b", lambda archive: (bad_task(archive), archive.writestr("bad/tests/xx/", b"")))

    found = outcomes(changed_header(path, b"bad/tests/xx/", 30, b"bad/tests/xxx"))

    assert DIFFERENT in str(found["bad"]), found["bad"]


def test_a_member_with_a_second_name_in_the_unicode_field_refuses_its_task_alone(tmp_path: Path) -> None:
    name = b"bad/tests/x"
    field = struct.pack("<BL", 1, zipfile.crc32(name)) + b"bad/tests/y"  # type: ignore[attr-defined]
    info = zipfile.ZipInfo(name.decode())
    info.extra = struct.pack("<HH", 0x7075, len(field)) + field

    found = outcomes(zipped(tmp_path / "b", lambda file: (bad_task(file), file.writestr(info, b""))))

    assert isinstance(found["good"], Intake)
    assert "second name" in str(found["bad"]), found["bad"]


@pytest.mark.parametrize("first", [True, False])
def test_a_member_that_the_directory_of_a_zip_does_not_name_refuses_all_of_it(
    tmp_path: Path, first: bool
) -> None:
    """A reader that goes from header to header would unpack it."""
    hidden = b"evil/solution/x"
    header = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 0, 0, 0, 0, 0, 0, len(hidden), 0) + hidden
    whole = zipped(tmp_path / "whole", lambda _: None).read_bytes()
    at = 0 if first else whole.index(b"good/solution/solve.sh") - 30
    data = bytearray(whole[:at] + header + whole[at:])
    place = data.index(b"PK\x01\x02")
    while data[place : place + 4] == b"PK\x01\x02":
        name, extra, comment = struct.unpack_from("<3H", data, place + 28)
        (where,) = struct.unpack_from("<L", data, place + 42)
        struct.pack_into("<L", data, place + 42, where + len(header) * (where >= at))
        place += 46 + name + extra + comment
    (start,) = struct.unpack_from("<L", data, len(data) - 6)
    struct.pack_into("<L", data, len(data) - 6, start + len(header))
    (tmp_path / "b").write_bytes(data)
    assert zipfile.ZipFile(tmp_path / "b").testzip() is None, "a reader of the directory sees nothing wrong"

    assert "other data before or inside it" in str(outcomes(tmp_path / "b")[""])


class _Pipe(io.RawIOBase):
    """A stream that no writer can go back in."""

    def __init__(self, out: io.BytesIO) -> None:
        self._out = out

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        return self._out.write(data)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["to a pipe", "zip64 to a pipe", "zip64"])
def test_an_honest_zip_of_any_writer_is_read(tmp_path: Path, kind: str) -> None:
    """A writer that cannot go back puts the sizes behind a member; some always use 64 bits."""
    out = io.BytesIO()
    with zipfile.ZipFile(_Pipe(out) if "pipe" in kind else out, "w", zipfile.ZIP_DEFLATED) as archive:  # type: ignore[arg-type]
        archive.writestr("good/", b"")
        for name, file in with_changes({}).items():
            with archive.open(f"good/{name}", "w", force_zip64="zip64" in kind) as stream:
                stream.write(file.data)
    (tmp_path / "b").write_bytes(out.getvalue())

    assert isinstance(outcomes(tmp_path / "b")["good"], Intake)


def test_names_that_are_utf_8_without_saying_so_are_read_as_they_were_written(tmp_path: Path) -> None:
    """As Info-ZIP's `zip` writes them; taken for names of DOS they would come in as others."""
    path = zipped(tmp_path / "b", in_zip("good/environment/café.txt", b"x"))
    data = path.read_bytes()
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.rindex(signature) + at
        data = data[:place] + b"\0\0" + data[place + 2 :]
    path.write_bytes(data)
    assert "café" not in "".join(zipfile.ZipFile(path).namelist())

    taken = outcomes(path)["good"]

    assert isinstance(taken, Intake) and "environment/café.txt" in taken.task


def test_a_name_that_is_not_utf_8_refuses_its_task_alone(tmp_path: Path) -> None:
    path = zipped(tmp_path / "b", lambda file: (bad_task(file), file.writestr("bad/environment/cafe", b"")))
    path.write_bytes(path.read_bytes().replace(b"cafe", b"caf\xe9"))

    found = outcomes(path)

    assert isinstance(found["good"], Intake) and "its name is not UTF-8" in str(found["bad"])


@pytest.mark.parametrize(("target", "words"), [("real.toml", "is a link"), ("../good/task.toml", "leaves")])
def test_a_task_toml_that_is_a_link_refuses_its_task_alone(tmp_path: Path, target: str, words: str) -> None:
    def build(archive: Tar) -> None:
        for name, file in with_changes({"task.toml": None, "real.toml": b"[metadata]\n"}).items():
            member(archive, f"bad/{name}", file.data)
        member(archive, "bad/task.toml", type=tarfile.SYMTYPE, linkname=target)

    found = outcomes(tarred(tmp_path / "b", build))

    assert isinstance(found["good"], Intake) and words in str(found["bad"])


def test_a_mode_is_only_ever_plain_or_executable(tmp_path: Path) -> None:
    def build(archive: Zip) -> None:
        for number, bits in enumerate((0o6755, 0o1644, 0o000)):
            info = special(f"good/environment/{number}", stat.S_IFREG)
            info.external_attr = (stat.S_IFREG | bits) << 16
            archive.writestr(info, b"x")

    taken = outcomes(zipped(tmp_path / "b", build))["good"]

    assert isinstance(taken, Intake)
    modes = [taken.task.files[f"environment/{number}"].mode for number in range(3)]
    assert modes == [EXECUTABLE, PLAIN, PLAIN]


def test_two_names_that_are_one_on_macos_are_kept_and_warned_about(tmp_path: Path) -> None:
    names = [unicodedata.normalize(form, "good/environment/café") for form in ("NFC", "NFD")]
    assert names[0] != names[1]

    taken = outcomes(zipped(tmp_path / "b", lambda file: [file.writestr(name, name) for name in names]))

    good = taken["good"]
    assert isinstance(good, Intake) and len(good.task.under("environment")) == 3
    assert any("differ in case or accents' form only" in warning for warning in good.warnings)


def test_only_the_folder_of_macos_itself_is_passed_over(tmp_path: Path) -> None:
    def build(archive: Zip) -> None:
        archive.writestr("__MACOSX_tools/x", b"")
        archive.writestr("__MACOSX/y", b"")

    assert isinstance(outcomes(zipped(tmp_path / "b", build))["good"], Intake)
    (tmp_path / "scratch").rmdir()
    with opened(tmp_path / "b", tmp_path) as archive:
        assert archive.beside() == {"__MACOSX_tools"}


SPARSE = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(1 << 40)}

TWO_READERS_OF_A_TAR: dict[str, tuple[Callable[[Tar], object], str, str]] = {
    "hard link to a member before it": (
        lambda tar: member(tar, "bad/tests/x", type=tarfile.LNKTYPE, linkname="bad/tests/test.sh"),
        "bad",
        "hard link",
    ),
    "sparse file of the newest kind": (
        lambda tar: member(
            tar,
            "bad/environment/GNUSparseFile.1/x",
            b"1\n0\n3\n".ljust(512, b"\0") + b"abc",
            pax_headers={**SPARSE, "GNU.sparse.name": "bad/environment/x"},
        ),
        "bad",
        "sparse file",
    ),
    "sparse file with a map that is none": (
        lambda tar: member(tar, "bad/environment/x", b"abc", pax_headers=SPARSE),
        "",
        "damaged",
    ),
    "second name in a pax header, of another task's file": (
        lambda tar: member(tar, "bad/tests/x", b"", pax_headers={"path": "good/task.toml"}),
        "good",
        "in the archive twice",
    ),
    "second name in a pax header, out of the archive": (
        lambda tar: member(tar, "bad/tests/x", b"", pax_headers={"GNU.sparse.name": "bad/../../x"}),
        "",
        "without '..'",
    ),
    "file that is named as a folder": (lambda tar: member(tar, "bad/tests/x/", b"x"), "bad", HALF),
    "task folder that is a link": (
        lambda tar: (
            member(tar, "bad2", type=tarfile.SYMTYPE, linkname="good"),
            member(tar, "bad2/task.toml", b""),
        ),
        "bad2",
        "nothing can be below it",
    ),
    "dump of a folder": (lambda tar: member(tar, "bad/tests/x", b"Yx\0\0", type=b"D"), "bad", "special file"),
    "link with marks in its target": (
        lambda tar: member(tar, "bad/tests/x", type=tarfile.SYMTYPE, linkname="a\x1b[31m\n\u202eb"),
        "bad",
        r"'a\x1b[31m\n\u202eb'",
    ),
    "name with marks that are not seen, and a new line": (
        lambda tar: member(tar, "bad/tests/a\n\x1b[31m\u202eb"),
        "bad",
        r"'a\n\x1b[31m\u202eb'",
    ),
}


@pytest.mark.parametrize("name", TWO_READERS_OF_A_TAR)
def test_a_member_of_a_tar_that_readers_take_for_something_else_is_refused(tmp_path: Path, name: str) -> None:
    hostile, where, words = TWO_READERS_OF_A_TAR[name]

    found = outcomes(tarred(tmp_path / "b", lambda tar: (bad_task(tar), hostile(tar))))

    assert words in str(found[where]), found
    assert where != "bad" or isinstance(found["good"], Intake)


@pytest.mark.parametrize("size", ["99999999999999", "-512", "-1", "0", "x", "1e3"])
def test_a_size_in_a_pax_header_that_is_a_lie_is_refused_at_once(tmp_path: Path, size: str) -> None:
    """The library would look for the end of such a member a block at a time, for hours."""
    path = tarred(tmp_path / "b", lambda tar: member(tar, "good/tests/x", b"abc", pax_headers={"size": size}))

    assert "damaged" in str(outcomes(path)[""])


def test_a_size_in_a_header_of_its_own_kind_that_is_a_lie_is_refused_at_once(tmp_path: Path) -> None:
    path = tarred(tmp_path / "b", lambda _: None)
    info = tarfile.TarInfo("good/tests/x")
    info.size = 1 << 60
    data = path.read_bytes().rstrip(b"\0")
    data += bytes(-len(data) % 512) + info.tobuf(tarfile.GNU_FORMAT) + bytes(10_240)
    path.write_bytes(data)

    assert "cut off" in str(outcomes(path)[""])


def test_a_gzip_in_several_parts_is_one_tar(tmp_path: Path) -> None:
    whole = tarred(tmp_path / "b", lambda _: None).read_bytes()
    (tmp_path / "b").write_bytes(gzip.compress(whole[:3000]) + gzip.compress(whole[3000:]))

    assert isinstance(outcomes(tmp_path / "b")["good"], Intake)


PACKED_OTHERWISE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "gzip twice": (lambda tar: gzip.compress(gzip.compress(tar)), "unpack it once"),
    "bzip2": (bz2.compress, "not a zip, tar or tar.gz"),
    "xz": (lzma.compress, "not a zip, tar or tar.gz"),
    "7z": (lambda tar: b"7z\xbc\xaf\x27\x1c" + tar, "not a zip, tar or tar.gz"),
    "zstandard": (lambda tar: b"\x28\xb5\x2f\xfd" + tar, "not a zip, tar or tar.gz"),
    "rar": (lambda tar: b"Rar!\x1a\x07\x01\0" + tar, "not a zip, tar or tar.gz"),
}


@pytest.mark.parametrize("name", PACKED_OTHERWISE)
def test_a_tar_that_is_packed_otherwise_is_refused_whatever_it_is_called(tmp_path: Path, name: str) -> None:
    pack, words = PACKED_OTHERWISE[name]
    path = tarred(tmp_path / "tasks.tar.gz", lambda _: None)
    path.write_bytes(pack(path.read_bytes()))

    assert words in str(outcomes(path)[""])


def test_a_zip_behind_a_tar_or_in_gzip_is_refused(tmp_path: Path) -> None:
    tar = tarred(tmp_path / "tar", lambda _: None).read_bytes()
    whole = zipped(tmp_path / "zip", lambda _: None).read_bytes()
    for number, (data, words) in enumerate(
        (
            (tar + whole, "something follows the end"),
            (b"%PDF-1.4\n" + whole, "not a zip"),
            (gzip.compress(whole), "unpack it once"),
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "b").write_bytes(data)
        assert words in str(outcomes(folder / "b")[""])


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_an_empty_archive_holds_no_task(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "b"
    zipfile.ZipFile(path, "w").close() if kind == "zip" else tarfile.open(path, "w:gz").close()

    with opened(path) as archive:
        assert archive.tasks == []


def test_an_empty_file_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "b").touch()

    with pytest.raises(TaskRefused, match="not a zip"), opened(tmp_path / "b"):
        pass


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_whoever_waits_hears_of_every_member_that_is_looked_at(tmp_path: Path, kind: str) -> None:
    """A worker keeps its lease by it; of 200,000 members it would not come through in time."""
    modes = {"tar": "w", "tar.gz": "w:gz"}
    path = (
        zipped(tmp_path / "b", bad_task) if kind == "zip" else tarred(tmp_path / "b", bad_task, modes[kind])
    )
    heard = []

    with opened(path, tmp_path, lambda: heard.append(None)) as archive:
        assert len(heard) >= 10 and archive.tasks == ["bad", "good"]
