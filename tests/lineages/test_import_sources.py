"""Archives of many tasks, batches, and a database that does not take one of them."""

from __future__ import annotations

import errno
import io
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection

from lineages.library import importing
from lineages.library.importing import Outcome, Refused, import_folders, import_paths, take_in
from lineages.library.models import Environment, Lineage, Snapshot
from lineages.library.snapshots import load
from lineages.library.sources import sources
from lineages.management.commands import import_tasks
from sandboxes.bundle import write_bundle
from sandboxes.intake import read_folder
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)


def put(folder: Path) -> Path:
    write_bundle(factories.task(), folder.name, folder, "dir")
    return folder


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Three tasks at different depths, the one in the middle broken."""
    put(tmp_path / "suite/deep/down/a")
    (put(tmp_path / "suite/b") / "task.toml").write_text('note = "\\s"\n')
    put(tmp_path / "suite/c")
    return tmp_path / "suite"


@pytest.mark.parametrize("kind", ["zip", "tar", "gztar"])
def test_an_archive_of_many_is_imported_as_its_folder_would_be(suite: Path, kind: str) -> None:
    archive = Path(shutil.make_archive(str(suite), kind, suite.parent, suite.name))

    report = import_folders([archive])

    assert {item.reference: item.path for item in report.imported} == {
        "a/g0": archive / "suite/deep/down/a",
        "c/g0": archive / "suite/c",
    }
    ((path, refusal),) = report.refused
    assert (path, refusal.line, refusal.column) == (archive / "suite/b", 1, 11)
    assert report.found == 3
    assert load(report.imported[0].environment.snapshot) == read_folder(suite / "c").task
    assert len(import_folders([suite]).unchanged) == 2


def test_an_archive_whose_root_is_the_task_gives_its_own_name(tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "My Task"), "gztar", put(tmp_path / "x"))

    (item,) = import_folders([Path(archive)]).imported

    assert item.reference == "my-task/g0"


def test_an_archive_without_a_task_and_a_file_that_is_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/x.md").write_text("x")
    empty = Path(shutil.make_archive(str(tmp_path / "empty"), "zip", tmp_path, "notes"))

    report = import_folders([empty, tmp_path / "notes/x.md"])

    assert [refusal.reason for _, refusal in report.refused] == [
        "no task in it: a task is a folder with a task.toml",
        "this is not a zip, tar or tar.gz file",
    ]


def test_tasks_are_committed_in_batches_while_the_rest_is_still_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcde":
        put(tmp_path / name)
    monkeypatch.setattr(importing, "BATCH_TASKS", 2)

    outcomes = import_paths([tmp_path])
    next(outcomes)

    assert Environment.objects.count() == 2, "the first batch, and nothing was read beyond it"
    assert len(list(outcomes)) == 4 and Environment.objects.count() == 5


@pytest.fixture
def no_b(db: object) -> Iterator[None]:
    """A database that takes no lineage of the name b."""
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TRIGGER no_b BEFORE INSERT ON lineages_lineage WHEN NEW.slug = 'b' "
            "BEGIN SELECT RAISE(ABORT, 'b is broken'); END"
        )
        yield
        cursor.execute("DROP TRIGGER no_b")


@pytest.mark.usefixtures("no_b")
def test_a_task_that_the_database_does_not_take_keeps_none_of_its_batch_out(tmp_path: Path) -> None:
    for name in "abc":
        put(tmp_path / name)

    report = import_folders([tmp_path])

    assert [item.reference for item in report.imported] == ["a/g0", "c/g0"]
    ((path, refusal),) = report.refused
    assert path.name == "b" and "the database does not take it (b is broken)" in refusal.reason
    assert (Lineage.objects.count(), Snapshot.objects.count()) == (2, 2), (
        "of the refused one nothing is there"
    )


def test_a_database_that_is_at_fault_is_no_fault_of_a_task(tmp_path: Path) -> None:
    def gone(outcomes: Sequence[Outcome]) -> None:
        raise OperationalError("the server closed the connection")

    with pytest.raises(OperationalError):
        list(take_in(sources(put(tmp_path / "a")), record=gone))
    assert not Environment.objects.exists()


def test_what_is_recorded_is_committed_with_the_seeds(suite: Path) -> None:
    recorded: list[Outcome] = []

    outcomes = list(take_in(sources(suite), record=recorded.extend))

    assert recorded == outcomes
    assert [isinstance(outcome, Refused) for outcome in outcomes] == [True, False, False]


def test_a_long_run_says_how_far_it_is_and_the_answer_stays_clean(
    suite: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_tasks, "EVERY_SECONDS", 0)
    out = io.StringIO()

    with pytest.raises(SystemExit) as left:
        call_command("import_tasks", str(suite), stdout=out)

    assert left.value.code == 1
    assert "3 tasks done, 1 of them refused" in capsys.readouterr().err
    assert "tasks done" not in out.getvalue()
    assert out.getvalue().splitlines()[-1] == "3 found: 2 imported, 0 unchanged, 1 refused"


def test_a_folder_name_that_a_terminal_would_obey_is_written_out(tmp_path: Path) -> None:
    put(tmp_path / "good\x1b[31m\nimported  fake/g0")
    broken = put(tmp_path / "bad\u202e\x1b[2J")
    (broken / "instruction.md").unlink()
    out = io.StringIO()

    with pytest.raises(SystemExit):
        call_command("import_tasks", str(tmp_path), stdout=out)

    told = out.getvalue()
    assert "\x1b" not in told and "\u202e" not in told
    assert r"good\x1b[31m\nimported  fake/g0" in told and r"bad⟨U+202E⟩\x1b[2J" in told
    assert len(told.splitlines()) == 4, "a line for each task, one for the reason, one for the counts"


def test_a_full_disk_stops_the_import_says_where_and_leaves_nothing_half_written(
    suite: Path, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BLOBS = tmp_path / "blobs"

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=f"No space left on device: '{settings.BLOBS}/"):
            import_folders([suite])

    assert not Environment.objects.exists() and not Lineage.objects.exists()
    assert [path for path in settings.BLOBS.rglob("*") if path.is_file()] == []
    assert len(import_folders([suite]).refused) == 1
    assert Environment.objects.exists(), "with room again the same import comes through"


def test_a_task_that_goes_while_it_is_read_keeps_none_of_the_others_out(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = next(sources(suite)).path
    real = os.stat

    def late(path: Any, *args: Any, **options: Any) -> Any:
        if path == "Dockerfile" and options.get("dir_fd") is not None and first.exists():
            shutil.rmtree(first)
        return real(path, *args, **options)

    monkeypatch.setattr(os, "stat", late)

    report = import_folders([suite])

    ((path, refusal),) = report.refused
    assert (path, refusal.path) == (first, "environment/Dockerfile")
    assert refusal.reason == "cannot be read: No such file or directory"
    assert len(report.imported) == 2
