"""Bundles: the same bytes every time, the same task back, and nothing from a hostile archive."""

import gzip
import io
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandboxes import intake, members
from sandboxes.bundle import read_bundle, write_bundle
from sandboxes.errors import TaskRefused
from sandboxes.files import TaskFile
from sandboxes.intake import read_folder
from sandboxes.task import Task
from tests.sandboxes.tasks import with_changes

ARCHIVES = ["zip", "tar.gz"]


def task(changes: dict[str, TaskFile | bytes | None] | None = None) -> Task:
    return Task.of(with_changes(changes or {}))


RICH: dict[str, TaskFile | bytes | None] = {
    "environment/data.bin": bytes(range(256)),
    "environment/ünï cöde.txt": b"x",
    "tests/check.py": TaskFile(b"#!/usr/bin/env python3\n", 0o755),
    "tests/link": TaskFile(link="check.py"),
    "environment/" + "long/" * 30 + "name": b"deep",
}


@pytest.mark.parametrize("format", ARCHIVES)
def test_a_task_comes_back_as_it_was_with_modes_and_links(tmp_path: Path, format: str) -> None:
    written = task(dict(RICH))
    write_bundle(written, "rich", tmp_path / "b", format)
    taken = read_bundle(tmp_path / "b")
    assert dict(taken.task.files) == dict(written.files)
    assert taken.task.digest == written.digest
    assert taken.warnings == ()
    assert os.listdir(tmp_path) == ["b"]


def test_a_folder_comes_back_as_it_was(tmp_path: Path) -> None:
    written = task(dict(RICH))
    write_bundle(written, "rich", tmp_path / "new/rich", "dir")
    assert dict(read_folder(tmp_path / "new/rich").task.files) == dict(written.files)
    assert os.listdir(tmp_path / "new") == ["rich"]


names = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Cs"), exclude_characters="/\\"), min_size=1
)
contents = st.builds(TaskFile, st.binary(max_size=300), st.sampled_from([0o644, 0o755]))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(names.filter(lambda n: len(n) < 60 and n not in (".", "..")), contents),
    st.sampled_from(ARCHIVES),
)
def test_any_data_files_survive_the_round_trip(
    tmp_path: Path, extra: dict[str, TaskFile], format: str
) -> None:
    written = task({f"environment/data/{name}": file for name, file in extra.items()})
    out = io.BytesIO()
    write_bundle(written, "any", out, format)
    (tmp_path / "b").write_bytes(out.getvalue())
    assert dict(read_bundle(tmp_path / "b").task.files) == dict(written.files)


@pytest.mark.parametrize("format", ARCHIVES)
def test_the_same_task_gives_the_same_bytes(format: str) -> None:
    one, other = io.BytesIO(), io.BytesIO()
    write_bundle(task(dict(RICH)), "rich", one, format)
    write_bundle(Task.of(dict(reversed(list(task(dict(RICH)).files.items())))), "rich", other, format)
    assert one.getvalue() == other.getvalue()


def test_other_tools_see_the_modes_and_a_single_top_folder(tmp_path: Path) -> None:
    write_bundle(task(), "t", tmp_path / "b.zip", "zip")
    write_bundle(task(), "t", tmp_path / "b.tar.gz", "tar.gz")
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        info = archive.getinfo("t/tests/test.sh")
        assert info.create_system == 3
        assert stat.S_IMODE(info.external_attr >> 16) == 0o755
    with tarfile.open(tmp_path / "b.tar.gz") as tar:
        assert {member.name.partition("/")[0] for member in tar} == {"t"}
        assert tar.getmember("t/tests/test.sh").mode == 0o755
        assert {member.mtime for member in tar} == {0}


@pytest.mark.parametrize("format", ["dir", *ARCHIVES])
def test_what_is_there_already_is_never_written_over(tmp_path: Path, format: str) -> None:
    out = tmp_path / "out"
    if format == "dir":
        (out / "sub").mkdir(parents=True)
    else:
        out.write_text("mine")
    with pytest.raises(FileExistsError):
        write_bundle(task(), "t", out, format)
    assert os.listdir(tmp_path) == ["out"]
    assert out.is_dir() or out.read_text() == "mine"


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    write_bundle(task(), "t", tmp_path / "out", "dir")
    assert read_folder(tmp_path / "out").task == task()


@pytest.mark.parametrize("format", ["dir", *ARCHIVES])
def test_a_write_that_fails_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_bundle(task(), "t", tmp_path / "out", format)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["../x", "a/b", "", "..", "a\\b"])
def test_a_name_is_that_of_one_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises((ValueError, TaskRefused)):
        write_bundle(task(), name, tmp_path / "b", "zip")
    assert os.listdir(tmp_path) == []


# Reading


def zipped(path: Path, build: Callable[[zipfile.ZipFile], None], prefix: str = "") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, file in with_changes({}).items():
            info = zipfile.ZipInfo(prefix + name)
            info.external_attr = (stat.S_IFREG | file.mode) << 16
            archive.writestr(info, file.data)
        build(archive)
    return path


def tarred(path: Path, build: Callable[[tarfile.TarFile], None], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, file in with_changes({}).items():
            add(archive, name, file.data, mode=file.mode)
        build(archive)
    return path


def add(archive: tarfile.TarFile, name: str, data: bytes = b"", **fields: object) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    archive.addfile(info, io.BytesIO(data))


def refused(path: Path) -> TaskRefused:
    before = sorted(os.listdir(path.parent))
    with pytest.raises(TaskRefused) as caught:
        read_bundle(path)
    assert sorted(os.listdir(path.parent)) == before
    return caught.value


@pytest.mark.parametrize("prefix", ["", "my-task/", "./", "./my-task/"])
def test_a_task_is_read_from_the_root_or_from_one_top_folder(tmp_path: Path, prefix: str) -> None:
    path = zipped(tmp_path / "b", lambda _: None, prefix)
    assert dict(read_bundle(path).task.files) == with_changes({})


def test_plain_and_gzipped_tars_are_read(tmp_path: Path) -> None:
    for mode in ("w", "w:gz"):
        path = tarred(
            tmp_path / "b", lambda archive: add(archive, "environment/sub/", type=tarfile.DIRTYPE), mode
        )
        taken = read_bundle(path)
        assert dict(taken.task.files) == with_changes({})
        assert taken.warnings == ("left out: environment/sub/ (an empty folder)",)


def test_a_zip_without_modes_gets_them_from_the_shebangs(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "b", "w") as archive:
        for name, file in with_changes({"environment/run.py": b"#!/usr/bin/python3\n"}).items():
            info = zipfile.ZipInfo(name)
            info.create_system = 0  # as Windows writes it
            archive.writestr(info, file.data)
            info.external_attr = 0
    files = read_bundle(tmp_path / "b").task.files
    assert {path for path, file in files.items() if file.executable} == {
        "tests/test.sh",
        "solution/solve.sh",
        "environment/run.py",
    }
    assert files["instruction.md"].mode == 0o644


def test_what_lies_beside_the_task_is_named_and_what_macos_adds_is_not(tmp_path: Path) -> None:
    def more(archive: zipfile.ZipFile) -> None:
        archive.writestr("__MACOSX/t/._task.toml", b"")
        archive.writestr("t/notes/x", b"")
        archive.writestr("beside.txt", b"")

    assert read_bundle(zipped(tmp_path / "b", more, "t/")).warnings == ("left out: beside.txt, notes",)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../escape", "'..'"),
        ("environment/../../escape", "'..'"),
        ("/etc/passwd", "relative"),
        ("environment\\x", "backslash"),
        ("C:\\x", "backslash"),
        ("environment//x", "relative"),
        ("environment/./x", "relative"),
        ("environment/a\tb", "control character"),
        ("environment/a\u200bb", "not seen"),
        ("environment/a\u200fb", "not seen"),
        ("tests/test.sh", "twice"),
        ("./tests/test.sh", "twice"),
        ("tests/test.sh/x", "nothing can be below"),
    ],
)
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_hostile_name_is_refused(tmp_path: Path, kind: str, name: str, words: str) -> None:
    if kind == "zip":
        with pytest.warns(UserWarning) if name == "tests/test.sh" else _quiet():
            path = zipped(tmp_path / "b", lambda archive: archive.writestr(name, b"x"))
    else:
        path = tarred(tmp_path / "b", lambda archive: add(archive, name, b"x"))
    assert words in refused(path).reason


class _quiet:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def test_a_zip_name_with_a_nul_in_it_is_not_cut_there(tmp_path: Path) -> None:
    path = zipped(tmp_path / "b", lambda archive: archive.writestr("environment/a_b", b"x"))
    path.write_bytes(path.read_bytes().replace(b"environment/a_b", b"environment/a\x00b"))
    assert "control character" in refused(path).reason


@pytest.mark.parametrize("target", ["/etc/passwd", "../../secret", "../../../../etc/passwd"])
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_link_out_is_refused_by_name(tmp_path: Path, kind: str, target: str) -> None:
    if kind == "zip":
        path = zipped(tmp_path / "b", lambda archive: archive.writestr(_zip_link("tests/link"), target))
    else:
        path = tarred(
            tmp_path / "b", lambda archive: add(archive, "tests/link", type=tarfile.SYMTYPE, linkname=target)
        )
    refusal = refused(path)
    assert refusal.path == "tests/link"
    assert "link" in refusal.reason


def _zip_link(name: str, kind: int = stat.S_IFLNK) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = (kind | 0o777) << 16
    return info


def test_writing_through_a_link_is_refused(tmp_path: Path) -> None:
    def build(archive: tarfile.TarFile) -> None:
        add(archive, "tests/dir", type=tarfile.SYMTYPE, linkname="../solution")
        add(archive, "tests/dir/solve.sh", b"evil")

    assert refused(tarred(tmp_path / "b", build)).path == "tests/dir/solve.sh"


@pytest.mark.parametrize(
    ("type", "words"),
    [
        (tarfile.LNKTYPE, "hard link"),
        (tarfile.CHRTYPE, "special file"),
        (tarfile.BLKTYPE, "special file"),
        (tarfile.FIFOTYPE, "special file"),
        (b"Z", "special file"),
    ],
)
def test_hard_links_and_special_files_are_refused(tmp_path: Path, type: bytes, words: str) -> None:
    path = tarred(
        tmp_path / "b", lambda archive: add(archive, "tests/x", type=type, linkname="tests/test.sh")
    )
    assert words in refused(path).reason


@pytest.mark.parametrize("kind", [stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK])
def test_special_files_in_a_zip_are_refused(tmp_path: Path, kind: int) -> None:
    path = zipped(tmp_path / "b", lambda archive: archive.writestr(_zip_link("tests/x", kind), b""))
    assert "special file" in refused(path).reason


def test_too_many_entries_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = zipped(tmp_path / "b.zip", lambda _: None)
    other = tarred(tmp_path / "b.tar", lambda _: None)
    monkeypatch.setattr(members, "MAX_ENTRIES", 4)
    monkeypatch.setattr(zipfile, "ZipFile", None)  # not even opened
    assert "more than 4 entries" in refused(path).reason
    assert "more than 4 entries" in refused(other).reason


def test_folders_count_as_entries_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(archive: tarfile.TarFile) -> None:
        for number in range(20):
            add(archive, f"environment/{number}", type=tarfile.DIRTYPE)

    path = tarred(tmp_path / "b", build)
    monkeypatch.setattr(members, "MAX_ENTRIES", 20)
    assert "entries" in refused(path).reason


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_bytes_over_a_cap_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    path = tarred(tmp_path / "b", lambda archive: add(archive, "environment/big", b"x" * 5000), mode)
    monkeypatch.setattr(intake, "MAX_FILE_BYTES", 4000)
    assert refused(path).path == "environment/big"


def test_a_gzip_that_unpacks_to_more_than_a_task_is_refused_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "MAX_UNPACKED_BYTES", 1 << 20)

    path = tmp_path / "b"
    path.write_bytes(gzip.compress(_comment(1 << 20) * 2))
    assert "unpacks to more" in refused(path).reason


def _comment(size: int) -> bytes:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, size
    return header.tobuf() + b"\0" * -(-size // 512 * 512)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_headers_of_any_length_or_number_are_refused(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "b"
    path.write_bytes(pack(_comment((1 << 20) + 1)))
    assert "a header is larger than 1 MiB" in refused(path).reason
    path.write_bytes(pack(_comment(8) * 20_000))
    assert "too many headers before one member" in refused(path).reason


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_tar_that_is_cut_between_members_or_damaged_there_is_refused(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    def build(archive: tarfile.TarFile) -> None:
        add(archive, "environment/last", b"x")

    whole = tarred(tmp_path / "whole", build).read_bytes()
    path = tmp_path / "b"
    path.write_bytes(pack(whole))
    assert "environment/last" in read_bundle(path).task
    at = whole.index(b"environment/last")
    for data, words in (
        (whole[:at], "cut off"),
        (whole[: at + 1024], "cut off"),
        (whole[: at + 100], "a header is damaged"),
        (whole[: at + 20] + b"\xff" * 100 + whole[at + 120 :], "a header is damaged"),
    ):
        path.write_bytes(pack(data))
        assert words in refused(path).reason


def test_a_pipe_is_no_archive_and_nobody_waits_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "b")
    assert "no regular file" in refused(tmp_path / "b").reason


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_compression_ratio_like_a_bombs_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    out = tmp_path / "b"
    write_bundle(task({"environment/zeros": bytes(4 << 20)}), "t", out, kind)
    assert read_bundle(out).task.files["environment/zeros"].data == bytes(4 << 20)
    monkeypatch.setattr(members, "RATIO_FLOOR", 1 << 20)
    assert "ratio" in refused(out).reason


@pytest.mark.parametrize("declared", [3, 300])
def test_a_member_whose_size_is_a_lie_is_refused(tmp_path: Path, declared: int) -> None:
    def build(archive: zipfile.ZipFile) -> None:
        archive.writestr("environment/lie", b"x" * 100, zipfile.ZIP_DEFLATED)

    path = zipped(tmp_path / "b", build)
    data = bytearray(path.read_bytes())
    at = data.rindex(b"environment/lie") - 46
    assert data[at : at + 4] == b"PK\x01\x02"
    struct.pack_into("<L", data, at + 24, declared)
    struct.pack_into("<L", data, at + 16, zlib.crc32(b"x" * min(declared, 100)))
    struct.pack_into("<L", data, data.index(b"environment/lie") - 30 + 22, declared)
    struct.pack_into(
        "<L", data, data.index(b"environment/lie") - 30 + 14, zlib.crc32(b"x" * min(declared, 100))
    )
    path.write_bytes(data)
    reason = refused(path).reason
    assert "declares" in reason or "damaged" in reason


def test_a_sparse_file_is_refused(tmp_path: Path) -> None:
    def build(archive: tarfile.TarFile) -> None:
        add(
            archive,
            "environment/sparse",
            pax_headers={
                "GNU.sparse.major": "0",
                "GNU.sparse.minor": "1",
                "GNU.sparse.size": str(1 << 40),
                "GNU.sparse.map": f"0,0,{1 << 40},0",
            },
        )

    assert "sparse" in refused(tarred(tmp_path / "b", build)).reason


def test_encrypted_and_oddly_packed_members_are_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "b", lambda archive: archive.writestr("tests/x", b"x", zipfile.ZIP_LZMA))
    assert "deflate" in refused(path).reason
    path = zipped(tmp_path / "c", lambda archive: archive.writestr("tests/x", b"x"))
    data = bytearray(path.read_bytes())
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    data[data.rindex(b"PK\x03\x04") + 6] |= 1
    path.write_bytes(data)
    assert "encrypted" in refused(path).reason


@pytest.mark.parametrize("format", ARCHIVES)
def test_a_damaged_archive_is_refused_at_every_place(tmp_path: Path, format: str) -> None:
    out = io.BytesIO()
    write_bundle(task(), "t", out, format)
    whole = out.getvalue()
    path = tmp_path / "b"
    for cut in range(0, len(whole), 7):
        path.write_bytes(whole[:cut])
        refused(path)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(ARCHIVES), st.data())
def test_no_changed_byte_raises_anything_but_a_refusal(
    tmp_path: Path, format: str, data: st.DataObject
) -> None:
    out = io.BytesIO()
    write_bundle(task(), "t", out, format)
    changed = bytearray(out.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    (tmp_path / "b").write_bytes(changed)
    try:
        read_bundle(tmp_path / "b")
    except TaskRefused as refusal:
        str(refusal).encode()


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "not a zip"), (b"hello", "not a zip"), (b"PK\x03\x04", "no directory"), (b"BZh9", "not a zip")],
)
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "b").write_bytes(content)
    assert words in refused(tmp_path / "b").reason


def test_two_tasks_in_one_archive_are_refused(tmp_path: Path) -> None:
    def second(archive: zipfile.ZipFile) -> None:
        for name, file in with_changes({}).items():
            archive.writestr(f"two/{name}", file.data)

    assert "holds 2 tasks" in refused(zipped(tmp_path / "b", second, "one/")).reason


def test_an_old_terminal_bench_archive_is_refused_with_those_words(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "b", "w") as archive:
        archive.writestr("t/task.yaml", b"x: 1\n")
    assert "Terminal-Bench task.yaml" in str(refused(tmp_path / "b"))
