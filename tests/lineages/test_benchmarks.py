"""Marked benchmarks and the archive: what is stored, and what is found of a task."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from lineages.library import benchmarks, importing, surroundings
from lineages.library.models import Audit, BenchmarkGram, BenchmarkSet, Environment, Sketch, SketchBand
from lineages.library.snapshots import load
from lineages.library.sources import Source
from sandboxes.errors import TaskRefused
from sandboxes.files import TaskFile
from sandboxes.intake import Intake
from sandboxes.task import Task
from tests.gates.subjects import Changes, changed
from tests.tasks import words

pytestmark = pytest.mark.django_db

SENTENCE = "Sort the {} tickets by desk and write the seven oldest of each desk to a file of its own.\n"
COMMON = "All paths are absolute and every file that you write ends with a line feed of its own.\n"


def folder(parent: Path, name: str, *paragraphs: str) -> None:
    """A task in Harbor's format."""
    for path, file in changed(words(), {"instruction.md": "\n".join(paragraphs)}).files.items():
        place = parent / name / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.data)


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    for name in ("red", "green", "blue"):
        folder(tmp_path, name, SENTENCE.format(name), COMMON)
    return tmp_path


def task(text: str) -> Task:
    return changed(words(), {"instruction.md": text})


def test_hashes_of_a_set_are_stored_and_runs_of_three_tasks_left_out(bench: Path) -> None:
    marked = benchmarks.mark("desks", bench)
    assert (marked.row.tasks, marked.refused) == (3, ())
    assert marked.boilerplate > 0
    assert marked.grams == BenchmarkGram.objects.count()
    hits = benchmarks.of(task(SENTENCE.format("red") + COMMON))
    assert hits is not None
    assert set(hits.hits.values()) == {("desks: red",)}
    assert "sort the red tickets by desk and write the seven oldest of each" in hits.hits


def test_only_what_is_marked_is_looked_for(bench: Path) -> None:
    assert benchmarks.of(task(COMMON)) is None
    benchmarks.mark("desks", bench)
    hits = benchmarks.of(task("Something else altogether.\n"))
    assert hits is not None
    assert (hits.names, dict(hits.hits)) == (("desks",), {})


def test_another_set_is_another_version(bench: Path) -> None:
    benchmarks.mark("desks", bench)
    one = benchmarks.of(task(COMMON))
    shutil.rmtree(bench / "red")
    benchmarks.mark("fewer desks", bench)
    both = benchmarks.of(task(COMMON))
    assert one and both and one.version != both.version
    benchmarks.unmark("fewer desks")
    again = benchmarks.of(task(COMMON))
    assert again and again.version == one.version


def test_a_name_is_marked_once(bench: Path) -> None:
    benchmarks.mark("desks", bench)
    with pytest.raises(ValueError, match="marked already"):
        benchmarks.mark("desks", bench)
    for name in (" ", "a\x1b[31mb", "a\nb", "x" * 121):
        with pytest.raises(ValueError, match="characters"):
            benchmarks.mark(name, bench)
    assert BenchmarkSet.objects.count() == 1


def test_two_tasks_of_one_name_are_two_and_one_that_says_a_thing_twice_is_one(tmp_path: Path) -> None:
    for place in ("old", "new", "last"):
        folder(tmp_path / place, "red", SENTENCE.format(place) * 2)
    marked = benchmarks.mark("desks", tmp_path)
    assert marked.row.tasks == 3
    tasks = set(BenchmarkGram.objects.values_list("task", flat=True))
    assert tasks == {"red", "red (2)", "red (3)"}


def test_a_task_that_cannot_be_read_is_told_and_a_set_without_any_refused(
    bench: Path, tmp_path: Path
) -> None:
    (bench / "red" / "task.toml").write_text("not [ toml")
    marked = benchmarks.mark("desks", bench)
    assert (marked.row.tasks, [path.name for path, _ in marked.refused]) == (2, ["red"])
    with pytest.raises(TaskRefused):
        benchmarks.mark("nothing", tmp_path / "missing")


def test_an_old_terminal_bench_task_is_read(tmp_path: Path) -> None:
    old = tmp_path / "set" / "old-desks"
    old.mkdir(parents=True)
    (old / "task.yaml").write_text(
        f"instruction: |-\n  {SENTENCE.format('old').strip()}\nparser_name: pytest\n"
    )
    (old / "Dockerfile").write_text("FROM debian:bookworm-slim\nWORKDIR /app\n")
    (old / "run-tests.sh").write_text("#!/bin/bash\ntrue\n")
    (old / "solution.sh").write_text("#!/bin/bash\ntrue\n")
    (old / "tests").mkdir()
    (old / "tests" / "test_outputs.py").write_text("def test_it():\n    assert True\n")
    benchmarks.mark("old", tmp_path / "set")
    hits = benchmarks.of(task(SENTENCE.format("old")))
    assert hits and set(hits.hits.values()) == {("old: old-desks",)}


def test_a_long_task_costs_a_query_for_each_few_hundred_runs(bench: Path) -> None:
    benchmarks.mark("desks", bench)
    long = " ".join(f"w{n % 97}x{n}" for n in range(10_000))
    with CaptureQueriesContext(
        connection,
    ) as asked:
        benchmarks.of(task(long))
    assert len(asked) <= 10_000 / benchmarks.GRAMS_A_QUERY + 3


def run(*words: object, code: int = 0) -> None:
    try:
        call_command("benchmark", *map(str, words))
    except SystemExit as left:
        assert left.code == code
    else:
        assert code == 0


def test_the_command_marks_lists_and_removes(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("add", "desks", bench)
    assert "desks is marked: 3 tasks" in capsys.readouterr().out
    run("list", "--json")
    (row,) = json.loads(capsys.readouterr().out)["benchmarks"]
    assert (row["name"], row["tasks"]) == ("desks", 3)
    run("remove", "desks")
    assert not BenchmarkGram.objects.exists()
    run("remove", "desks", code=2)
    assert "no set is marked as 'desks'" in capsys.readouterr().err


def test_the_command_says_what_it_could_not_read(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (bench / "red" / "task.toml").write_text("not [ toml")
    run("add", "desks", bench, "--json", code=1)
    answer = json.loads(capsys.readouterr().out)
    assert (answer["tasks"], len(answer["refused"])) == (2, 1)


# the archive


def long_task(name: str, changes: Changes | None = None) -> Task:
    """One with enough text for a sketch, other than that of any other name."""
    text = " ".join(f"{name}{n} rule" for n in range(400))
    return changed(words(), {"instruction.md": f"{text}\n", **(changes or {})})


def planted(task: Task, name: str) -> Environment:
    found = Source(Path("tests"), name, lambda: Intake(task, (), task.source_digest))
    (made,) = importing.take_in([found])
    assert isinstance(made, importing.Imported)
    return made.environment


def archive_of(one: Environment, **relatives: Environment) -> list[tuple[str, str]]:
    found = surroundings.archive(one.snapshot, load(one.snapshot), own=one, **relatives)
    return [(each.relation, each.reference) for each in found.earlier]


def grown(parent: Environment, task: Task, k: int = 1) -> Environment:
    seed = planted(task, f"temporary-{Environment.objects.count()}")
    lineage = seed.lineage
    Environment.objects.filter(pk=seed.pk).update(
        lineage=parent.lineage, parent=parent, generation=parent.generation + 1, k=k
    )
    lineage.delete()
    return Environment.objects.select_related("lineage", "snapshot").get(pk=seed.pk)


def test_a_near_copy_in_another_lineage_is_found_by_the_later_one_alone() -> None:
    first = planted(long_task("a"), "first")
    stranger = planted(long_task("b"), "stranger")
    copy = planted(long_task("a", {"solution/notes.txt": "a few words more than before\n"}), "copy")
    assert archive_of(first) == []
    assert archive_of(stranger) == []
    assert archive_of(copy) == [("elsewhere", first.reference)]
    assert Sketch.objects.count() == 3


def test_a_withdrawn_environment_is_not_in_the_archive() -> None:
    first = planted(long_task("a"), "first")
    copy = planted(long_task("a", {"solution/notes.txt": "a few words more\n"}), "copy")
    Environment.objects.filter(pk=first.pk).update(quarantined=True)
    assert archive_of(copy) == []


def test_a_folder_that_a_lineage_holds_already_does_not_repeat_itself() -> None:
    first = planted(long_task("a"), "first")
    found = surroundings.archive(first.snapshot, load(first.snapshot))
    assert found.earlier == ()


def test_ancestors_and_siblings_come_with_their_tasks_and_later_ones_do_not_come() -> None:
    seed = planted(long_task("a"), "first")
    parent = grown(seed, long_task("a", {"solution/one": "1\n"}))
    older = grown(parent, long_task("a", {"solution/two": "2\n"}))
    child = grown(parent, long_task("a", {"solution/three": "3\n"}), k=2)
    grown(parent, long_task("a", {"solution/four": "4\n"}), k=3)
    found = surroundings.archive(child.snapshot, load(child.snapshot), parent=parent, own=child)
    assert [(one.relation, one.reference) for one in found.earlier] == [
        ("ancestor", parent.reference),
        ("ancestor", seed.reference),
        ("sibling", older.reference),
    ]
    assert [one.task.digest for one in found.earlier if one.task] == [
        one.snapshot.digest for one in (parent, seed, older)
    ]


def test_the_version_changes_with_what_is_found_and_with_nothing_else() -> None:
    first = planted(long_task("a"), "first")
    one = surroundings.archive(first.snapshot, load(first.snapshot), own=first)
    planted(long_task("b"), "stranger")
    assert surroundings.archive(first.snapshot, load(first.snapshot), own=first) == one
    copy = planted(long_task("a", {"solution/notes.txt": "a few words more\n"}), "copy")
    assert surroundings.archive(copy.snapshot, load(copy.snapshot), own=copy).version != one.version


def test_a_lookup_costs_as_many_queries_in_a_large_archive_as_in_a_small_one() -> None:
    for name in "abc":
        planted(long_task(name), name)
    last = planted(long_task("z"), "last")
    archive_of(last)
    with CaptureQueriesContext(connection) as few:
        archive_of(last)
    for n in range(8):
        archive_of(planted(long_task(f"n{n}x"), f"n{n}"))
    with CaptureQueriesContext(connection) as many:
        archive_of(last)
    assert len(many) == len(few) <= 6


def test_looking_again_at_what_was_audited_stores_nothing_even_where_there_is_no_sketch() -> None:
    first = planted(long_task("a"), "first")
    archive_of(first)
    copy = planted(long_task("a", {"solution/notes.txt": "a few words more\n"}), "copy")
    Audit.objects.create(snapshot=copy.snapshot, profile="standard", backend="docker", judge="offline")
    with CaptureQueriesContext(connection) as asked:
        assert archive_of(copy) == [("elsewhere", first.reference)]
    assert all(query["sql"].startswith("SELECT") for query in asked.captured_queries)
    assert Sketch.objects.count() == 1


def test_environments_from_before_there_were_sketches_get_theirs() -> None:
    first = planted(long_task("a"), "first")
    copy = planted(long_task("a", {"solution/notes.txt": "a few words more\n"}), "copy")
    assert not SketchBand.objects.exists()
    found = surroundings.archive(copy.snapshot, load(copy.snapshot))
    assert [one.reference for one in found.earlier] == [first.reference]


def test_a_file_of_bytes_is_part_of_no_text() -> None:
    one = long_task("a").replace({"tests/data.bin": TaskFile(b"\0" * 100)})
    assert archive_of(planted(one, "bytes")) == []
