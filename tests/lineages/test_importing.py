"""Taking tasks in: each found folder is imported, unchanged or refused, and nothing is half there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from django.conf import settings

from lineages.library.importing import import_folders, take_in
from lineages.library.models import Blob, Environment, Lineage, Snapshot, SnapshotFile
from lineages.library.planting import domain_of
from lineages.library.snapshots import load
from lineages.library.sources import sources
from sandboxes.bundle import write_bundle
from sandboxes.files import TaskFile
from sandboxes.intake import read_folder
from tests import factories
from tests.lineages.test_lifecycle import at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.lifecycle]

TOML = factories.CONFIG


def put(folder: Path, changes: Mapping[str, str | bytes | TaskFile | None] | None = None) -> Path:
    """A small task on the disk; different each time unless `changes` are given."""
    write_bundle(factories.task(changes), folder.name, folder, "dir")
    return folder


def rows() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Lineage, Environment, Snapshot, SnapshotFile))


def blob_files() -> set[str]:
    return {str(path) for path in Path(settings.BLOBS).rglob("*") if path.is_file()}


def test_a_folder_of_folders_is_searched_at_any_depth(tmp_path: Path) -> None:
    put(tmp_path / "suite" / "a")
    put(tmp_path / "suite" / "deep" / "down" / "b")
    put(tmp_path / "suite" / ".hidden" / "c")
    (tmp_path / "suite" / "papers").mkdir()

    report = import_folders([tmp_path])

    assert [item.environment.reference for item in report.imported] == ["a/g0", "b/g0"]
    assert (report.found, report.unchanged, report.refused) == (2, [], [])


def test_an_imported_seed_is_the_task_with_its_modes_and_links(tmp_path: Path) -> None:
    folder = put(
        tmp_path / "modes",
        {
            "solution/tool": TaskFile(b"\x7fELF\x00\xff", 0o755),
            "environment/data.bin": TaskFile(b"\x00\xff\r\n", 0o644),
            "environment/latest": TaskFile(link="data.bin"),
        },
    )
    (folder / "solution" / "tool").chmod(0o4751)

    (item,) = import_folders([folder]).imported

    kept = load(item.environment.snapshot)
    assert kept == read_folder(folder).task
    assert kept.files["solution/tool"] == TaskFile(b"\x7fELF\x00\xff", 0o755), "no bit but the executable one"
    assert kept.files["environment/data.bin"].mode == 0o644
    assert kept.files["environment/latest"].link == "data.bin"
    assert item.environment.snapshot.digest == kept.digest


def test_the_seed_carries_its_first_sequence_and_difficulty(tmp_path: Path) -> None:
    (item,) = import_folders([put(tmp_path / "counted")]).imported

    seed = item.environment
    assert (seed.generation, seed.k, seed.parent, seed.direction) == (0, 1, None, "")
    assert (seed.lineage.domain, seed.lineage.source) == ("data", str(tmp_path / "counted"))
    assert seed.length == len(seed.sequence) > 0
    assert seed.difficulty == pytest.approx(seed.novelty + seed.rarity) and seed.difficulty > 0
    assert "in:/app/text.txt" in {pair.key for pair in seed.sequence.pairs}


def test_what_was_mended_is_told_and_stored_and_harbors_digest_is_of_the_files_as_found(
    tmp_path: Path,
) -> None:
    folder = put(tmp_path / "mended")
    (folder / "instruction.md").write_bytes(b"\xef\xbb\xbfCount the words of /app/text.txt.\r\n")
    (folder / "tests" / "test.sh").chmod(0o644)
    found = read_folder(folder).source_digest

    (item,) = import_folders([folder]).imported

    told = {
        "byte order mark removed: instruction.md",
        "CRLF line ends changed to LF: instruction.md",
        "executable bit set: tests/test.sh",
    }
    assert set(item.warnings) == told
    assert set(item.environment.warnings.splitlines()) == told
    assert item.environment.source_digest == found != load(item.environment.snapshot).source_digest


def test_the_same_content_under_two_names_is_one_seed(tmp_path: Path) -> None:
    same = {"environment/text.txt": "one two\n"}
    put(tmp_path / "first", same)
    put(tmp_path / "second", same)

    report = import_folders([tmp_path])

    assert [item.path.name for item in report.imported] == ["first"]
    assert [(item.path.name, item.environment.reference) for item in report.unchanged] == [
        ("second", "first/g0")
    ]
    assert rows()[:3] == (1, 1, 1)


def test_other_content_under_the_same_name_gets_a_name_of_its_own(tmp_path: Path) -> None:
    for suite in ("a", "b", "c"):
        put(tmp_path / suite / "The Task!")

    report = import_folders([tmp_path])

    assert [item.environment.reference for item in report.imported] == [
        "the-task/g0", "the-task-2/g0", "the-task-3/g0",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "slug"), [("任务", "task"), ("-", "task"), ("x" * 200, "x" * 70), ("naïve_one", "naive_one")]
)
def test_any_folder_name_becomes_a_slug_that_an_address_can_hold(
    name: str, slug: str, tmp_path: Path
) -> None:
    (item,) = import_folders([put(tmp_path / name)]).imported

    assert item.environment.lineage.slug == slug
    assert item.environment.lineage.source.endswith(name)


def test_a_folder_name_that_is_not_utf_8_does_not_stop_the_import(tmp_path: Path) -> None:
    folder = put(tmp_path / "plain")
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.rename(odd)

    (item,) = import_folders([odd]).imported

    assert Lineage.objects.get().slug == item.environment.lineage.slug == "caf"
    assert Lineage.objects.get().source == f"{tmp_path}/caf\N{REPLACEMENT CHARACTER}"


def test_a_path_longer_than_its_column_does_not_stop_the_import(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d" * 100] * 6)

    (item,) = import_folders([put(deep / "deep")]).imported

    assert item.environment.reference == "deep/g0"
    assert Lineage.objects.get().source == str(deep / "deep")[-500:]


@pytest.mark.parametrize(
    "config",
    [TOML.replace('"data"', r'"da\u0000ta"'), TOML.replace('"data"', f'"{"long-" * 40}"')],
    ids=["NUL", "long"],
)
def test_an_odd_category_does_not_stop_the_import(config: str, tmp_path: Path) -> None:
    report = import_folders([put(tmp_path / "odd", {"task.toml": config})])

    assert [item.environment.reference for item in report.imported] == ["odd/g0"]
    assert "\0" not in Lineage.objects.get().domain


def test_a_long_task_name_does_not_stop_the_import(tmp_path: Path) -> None:
    config = f'[task]\nname = "org/{"n" * 300}"\n'

    report = import_folders([put(tmp_path / "long", {"task.toml": config})])

    assert report.imported[0].environment.lineage.title.startswith("org/nnn")


def test_a_solution_with_a_nul_in_it_does_not_stop_the_import(tmp_path: Path) -> None:
    script = "#!/bin/bash\ncat /app/te\0xt.txt > /app/co\0unt.txt\nwc -w < /app/text.txt > /app/count.txt\n"

    report = import_folders([put(tmp_path / "nul", {"solution/solve.sh": script})])

    assert [item.environment.reference for item in report.imported] == ["nul/g0"]


def test_a_category_in_capitals_and_dashes_is_a_domain_in_words() -> None:
    task = factories.task({"task.toml": '[metadata]\ncategory = "Log-Forensics_2"\n'})

    assert domain_of(task) == "log forensics 2"
    assert domain_of(factories.task({"task.toml": "[metadata]\n"})) == "general"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"task.toml": "[task\n"}, "not valid TOML"),
        ({"environment/Dockerfile": "FROM envevo/base\n"}, "may not be built on"),
        ({"solution/solve.sh": None}, "add the reference solution"),
        ({"tests/test.sh": None}, "add the script that decides"),
        ({"instruction.md": " \n"}, "this file is empty"),
        ({"environment/away": TaskFile(link="/etc/passwd")}, "not relative"),
    ],
    ids=["toml", "policy", "no solution", "no test", "empty instruction", "link"],
)
def test_nothing_of_a_refused_task_is_there(
    changes: dict[str, str | TaskFile | None], reason: str, tmp_path: Path
) -> None:
    folder = put(tmp_path / "refused")
    for path, content in changes.items():
        place = folder / path
        place.unlink(missing_ok=True)
        if isinstance(content, TaskFile):
            place.symlink_to(content.link or "")
        elif content is not None:
            place.write_text(content)
    before = blob_files()

    ((path, refusal),) = import_folders([folder]).refused

    assert path == folder
    assert reason in str(refusal)
    assert rows() == (0, 0, 0, 0)
    assert not Blob.objects.exists() and blob_files() == before


def test_one_refused_folder_stops_none_of_the_others_and_the_counts_add_up(tmp_path: Path) -> None:
    put(tmp_path / "a")
    (put(tmp_path / "b") / "task.toml").write_text("[")
    put(tmp_path / "c")
    import_folders([tmp_path / "a"])

    report = import_folders([tmp_path, tmp_path / "nowhere"])

    counts = (len(report.imported), len(report.unchanged), len(report.refused))
    assert (counts, report.found) == ((1, 1, 2), 4)
    assert [refusal.line for _, refusal in report.refused] == [1, None]


@pytest.mark.parametrize("kind", ["nothing", "file", "empty"])
def test_a_path_without_a_task_is_refused_by_what_it_is(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "place"
    if kind == "file":
        place.write_text("not a folder")
    elif kind == "empty":
        place.mkdir()

    ((path, refusal),) = import_folders([place]).refused

    assert path == place
    says = {"nothing": "there is no such folder", "file": "not a zip, tar", "empty": "no task in it"}
    assert says[kind] in refusal.reason


def test_an_import_that_breaks_half_way_leaves_no_rows(tmp_path: Path) -> None:
    def breaks(outcomes: object) -> None:
        assert Environment.objects.count() == 1, "the seed is there, in the transaction"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        list(take_in(sources(put(tmp_path / "broken")), record=breaks))

    assert rows() == (0, 0, 0, 0)


def test_two_imports_of_one_task_at_the_same_time_make_one_seed(tmp_path: Path) -> None:
    folder = put(tmp_path / "raced")

    reports = at_once(*[lambda: import_folders([folder])] * 4)

    assert [type(report).__name__ for report in reports] == ["Report"] * 4, reports
    assert sum(len(report.imported) for report in reports) == 1  # type: ignore[attr-defined]
    assert sum(len(report.unchanged) for report in reports) == 3  # type: ignore[attr-defined]
    assert rows()[:3] == (1, 1, 1)
    assert SnapshotFile.objects.count() == len(read_folder(folder).task.files)


def test_two_imports_under_one_name_at_the_same_time_both_come_in(tmp_path: Path) -> None:
    folders = [put(tmp_path / suite / "raced") for suite in "abcd"]

    reports = at_once(*[lambda folder=folder: import_folders([folder]) for folder in folders])

    assert [type(report).__name__ for report in reports] == ["Report"] * 4, reports
    assert {seed.reference for seed in Environment.objects.all()} == {
        "raced/g0", "raced-2/g0", "raced-3/g0", "raced-4/g0",
    }  # fmt: skip


def test_content_is_stored_once_however_many_tasks_hold_it(tmp_path: Path) -> None:
    text = {"environment/big.txt": "the same large file\n" * 50}
    put(tmp_path / "a", {**text, "environment/own": "a"})
    put(tmp_path / "b", {**text, "environment/own": "b"})

    import_folders([tmp_path])

    shared = SnapshotFile.objects.filter(path="environment/big.txt").values_list("blob", flat=True)
    assert len(shared) == 2 and len(set(shared)) == 1
    for snapshot in Snapshot.objects.all():
        assert load(snapshot).text("environment/big.txt") == text["environment/big.txt"]
