"""Packing and reading archives, without a sandbox."""

import io
import tarfile

import pytest

from sandboxes import transfer
from sandboxes.errors import SandboxError
from sandboxes.files import TaskFile
from sandboxes.transfer import Reading, absolute, buffered, excluded, folders_above, pack, placed


def archive(*members: tuple[str, bytes, int]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for name, kind, size in members:
            member = tarfile.TarInfo(name)
            member.type, member.size = kind, size
            tar.addfile(member, io.BytesIO(b"x" * size))
    return stream.getvalue()


def read(data: bytes, limit: int = 1000) -> Reading:
    reading = Reading(limit)
    reading.take(buffered(iter([data[:700], data[700:]])), base="/", root="/app")
    return reading


def test_what_is_packed_is_read_back() -> None:
    targets = {"/app/a": TaskFile(b"1", 0o600), "/app/é\udcff": TaskFile(b"", 0o755)}
    with pack(targets, ["/app"]) as stream:
        assert read(stream.read()).files == targets


def test_a_packed_link_is_no_file() -> None:
    with pack({"/app/l": TaskFile(link="x")}) as stream:
        assert read(stream.read()).files == {}


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.DIRTYPE]
)
def test_only_regular_files_are_taken(kind: bytes) -> None:
    assert list(read(archive(("app/odd", kind, 0), ("app/f", tarfile.REGTYPE, 1))).files) == ["/app/f"]


def test_a_hard_link_is_asked_for_later() -> None:
    assert read(archive(("app/l", tarfile.LNKTYPE, 0))).hard_links == ["/app/l"]


def test_the_size_limit_is_for_all_files_together() -> None:
    assert len(read(archive(("app/a", tarfile.REGTYPE, 500), ("app/b", tarfile.REGTYPE, 500))).files) == 2
    with pytest.raises(SandboxError, match="/app/b: the files to read are larger than 1,000 bytes"):
        read(archive(("app/a", tarfile.REGTYPE, 500), ("app/b", tarfile.REGTYPE, 501)))


def test_the_number_of_files_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "MAX_MEMBERS", 2)
    with pytest.raises(SandboxError, match="more than 2 files and folders below /app"):
        read(archive(*((f"app/{n}", tarfile.DIRTYPE, 0) for n in range(3))))


@pytest.mark.parametrize("size", [100, 600, 1100])
def test_an_archive_that_breaks_off_is_an_error(size: int) -> None:
    with pytest.raises(SandboxError, match="could not be read to its end"):
        read(archive(("app/a", tarfile.REGTYPE, 900))[:size])


def test_no_bytes_are_no_files() -> None:
    assert read(b"").files == {}


@pytest.mark.parametrize(
    ("relative", "patterns", "is_excluded"),
    [
        ("a/b/c.tmp", ["*.tmp"], True),
        ("a/b/c.txt", ["*.tmp"], False),
        ("a/cache/x", ["cache"], True),
        ("cachet", ["cache"], False),
        ("a/b/c", ["a/b"], True),
        ("x/a/b", ["a/b"], False),
        ("a/b", ["./a"], True),
        ("a/b", ["/a/"], True),
        (".", ["x"], False),
    ],
)
def test_excluding(relative: str, patterns: list[str], is_excluded: bool) -> None:
    assert excluded(relative, patterns) == is_excluded


def test_folders_above_are_outermost_first_and_leave_usr_links_alone() -> None:
    targets = placed({"bin/tool": TaskFile(), "a/b/c": TaskFile()}, "/")
    assert folders_above(targets, "/") == ["/a", "/a/b"]
    assert folders_above({}, "/app/deep") == ["/app", "/app/deep"]


@pytest.mark.parametrize("path", ["relative", "", "/a\0b"])
def test_a_path_that_is_not_absolute_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="not an absolute path"):
        absolute(path)


def test_absolute_paths_are_normalised() -> None:
    assert [absolute(p) for p in ("//a//b/", "/a/../../b", "/")] == ["/a/b", "/b", "/"]
