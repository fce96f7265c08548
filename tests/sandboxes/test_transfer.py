"""Packing and reading archives, without a sandbox."""

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from sandboxes import transfer
from sandboxes.errors import SandboxError, TooMuch
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


def linked(*names: str, size: int = 1) -> bytes:
    """A file `app/f` and hard links to it."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        first = tarfile.TarInfo("app/f")
        first.size = size
        tar.addfile(first, io.BytesIO(b"x" * size))
        for name in names:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.LNKTYPE, "app/f"
            tar.addfile(member)
    return stream.getvalue()


def test_a_second_name_has_the_content_of_the_first() -> None:
    reading = read(linked("app/g", "app/h"))
    assert {path: file.data for path, file in reading.files.items()} == dict.fromkeys(
        ("/app/f", "/app/g", "/app/h"), b"x"
    )
    assert reading.second_names() == []


def test_a_second_name_counts_with_its_size() -> None:
    with pytest.raises(SandboxError, match="/app/g: the files to read are larger"):
        read(linked("app/g", size=501))


def test_a_second_name_of_a_file_that_is_not_in_the_archive_is_asked_for_once() -> None:
    reading = read(archive(("app/l", tarfile.LNKTYPE, 0)))
    assert (reading.second_names(), reading.second_names()) == (["/app/l"], [])


def test_the_size_limit_is_for_all_files_together() -> None:
    assert len(read(archive(("app/a", tarfile.REGTYPE, 500), ("app/b", tarfile.REGTYPE, 500))).files) == 2
    with pytest.raises(TooMuch, match="/app/b: the files to read are larger than 1,000 bytes"):
        read(archive(("app/a", tarfile.REGTYPE, 500), ("app/b", tarfile.REGTYPE, 501)))


def test_the_number_of_files_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "MAX_MEMBERS", 2)
    with pytest.raises(TooMuch, match="more than 2 files and folders below /app"):
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
        ("x/a/b", ["a/b"], True),
        ("a/b", ["./a"], True),
        ("a/b", ["/a/"], False),
        ("a/b", ["x", "b"], True),
    ],
)
def test_excluding(relative: str, patterns: list[str], is_excluded: bool) -> None:
    assert excluded(relative, patterns) == is_excluded


NAMES = (
    "a/b/c.tmp cache/x x/a/b x/a/bc/d foo.txt sub/foo.txt x/cache q/[z] a/x/y.log Abc q/b*d .hid/a".split()
)
PATTERNS = (
    "*.tmp cache a/b ./a /a/ a/ /cache x/* a*c.tmp sub/*.txt [z] */foo.txt x/a ./sub/foo.txt a/*.log b* * ."
    r" ./* [!a]* [^a]* b\*d \[z] [a-c] ?oo.txt *o* ./ x// .* a/**/y.log [ {a,b} \\a"
).split()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_excluding_is_what_gnu_tar_does(tmp_path: Path, pattern: str) -> None:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    command = ["tar", "cf", "-", f"--exclude={pattern}", "-C", str(tmp_path), "."]
    packed = subprocess.run(command, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        kept = {member.name.removeprefix("./") for member in archive if member.isfile()}
    assert {name for name in NAMES if not excluded(name, [pattern])} == kept


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
