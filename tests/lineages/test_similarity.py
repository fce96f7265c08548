"""Likeness: normal forms, shingles, sketches and their bands."""

from __future__ import annotations

from random import Random

import pytest

from lineages.overlap import runs, runs_of, unread
from lineages.similarity import (
    LARGEST_IN_ALL,
    LARGEST_TEXT,
    LEAST_SHINGLES,
    asked,
    bands,
    jaccard,
    likeness,
    normal,
    pack,
    shingles,
    sketch,
    unpack,
)
from sandboxes.files import TaskFile
from tests.tasks import words


def hashes(seed: int, count: int) -> frozenset[int]:
    rng = Random(seed)
    return frozenset(rng.getrandbits(64) for _ in range(count))


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("solution/a.sh", "#!/bin/bash\n# why\n\n  ls   -l\n", "#!/bin/bash\nls -l"),
        ("solution/a.py", "x = 1 # one\n#y = 2\n", "x = 1"),
        ("solution/a.py", "x = '# no' # it's one\n", "x = '# no' # it's one"),
        ("solution/a.c", "// why\nint x; // it\n#include <a.h>\n", "int x;\n#include <a.h>"),
        ("solution/a.sql", "-- why\nselect 1;\n", "select 1;"),
        ("tests/units/10-x", "# why\ntrue\n", "true"),
        ("instruction.md", "# A heading\n\nDo it.\n", "# A heading\nDo it."),
        ("tests/expected/a.csv", "# 1\n", "# 1"),
        ("tests/Dockerfile", "# why\nFROM debian\n", "FROM debian"),
    ],
)
def test_a_file_says_what_is_left_without_comments_and_gaps(path: str, text: str, said: str) -> None:
    assert normal(path, TaskFile.text(text)) == said


def test_bytes_and_links_say_their_hash_and_their_target() -> None:
    assert normal("a", TaskFile(b"\xff\x00")) != normal("a", TaskFile(b"\xff\x01"))
    assert normal("a", TaskFile(link="b")) == "hash b"


def test_shingles_ignore_case_gaps_and_punctuation_but_no_number() -> None:
    one = shingles(["Keep the newest 5 files, please."])
    assert one == shingles(["keep  the newest\n5 files please"])
    assert one != shingles(["Keep the newest 7 files, please."])


def test_likeness_is_estimated_within_the_error_that_is_promised() -> None:
    common, own, other = hashes(1, 2000), hashes(2, 250), hashes(3, 250)
    exact = jaccard(common | own, common | other)
    assert exact == pytest.approx(0.8)
    assert likeness(sketch(common | own), sketch(common | other)) == pytest.approx(exact, abs=0.12)
    assert likeness(sketch(own | hashes(4, 900)), sketch(other | hashes(5, 900))) < 0.05


def test_too_small_a_text_has_no_sketch_and_is_like_nothing() -> None:
    small = sketch(hashes(1, LEAST_SHINGLES - 1))
    assert (small, bands(small), likeness(small, small)) == ((), [], 0.0)
    assert asked(words()) and sketch(asked(words())) == ()


def test_a_sketch_is_made_of_few_shingles_too_and_comes_back_from_its_bytes() -> None:
    values = sketch(hashes(1, LEAST_SHINGLES))
    assert len(values) == 120
    assert unpack(pack(values)) == values


def test_the_alike_share_a_band_and_strangers_do_not() -> None:
    common = hashes(1, 3000)
    shared = [
        set(bands(sketch(common | hashes(n, 150)))) & set(bands(sketch(common | hashes(n + 100, 150))))
        for n in range(2, 22)
    ]
    assert all(shared)
    assert not set(bands(sketch(hashes(200, 3000)))) & set(bands(sketch(hashes(201, 3000))))


def test_case_punctuation_and_gaps_hide_no_run_and_a_changed_number_does() -> None:
    text = "Sort all tickets by desk, then write the 7 oldest of each desk out."
    (one, *rest) = runs(text)
    assert (one.text, one.line) == ("sort all tickets by desk then write the 7 oldest of each desk", 1)
    assert len(rest) == 1
    shouted = "\n\nSORT -- all_tickets;\nby desk: then (write) “the” 7 oldest/of each\tDESK out"
    assert [run.gram for run in runs(shouted)] == [run.gram for run in runs(text)]
    assert next(runs(shouted)).line == 3
    assert {run.gram for run in runs(text.replace("7", "8"))}.isdisjoint(run.gram for run in runs(text))


def test_characters_that_nobody_sees_hide_no_run() -> None:
    text = "Sort all tickets by desk, then write the 7 oldest of each desk out."
    hidden = text.replace("or", "o\u200br").replace("es", "e\u00ads").replace(" ", "\u2060 \ufeff")
    assert [run.gram for run in runs(hidden)] == [run.gram for run in runs(text)]


def test_rows_of_numbers_and_of_one_word_are_no_run() -> None:
    assert not list(runs(" ".join(str(n) for n in range(50))))
    assert not list(runs("ok " * 50))


def test_twelve_words_are_no_run() -> None:
    assert not list(runs("a b c d e f g h i j k l"))


def test_only_instruction_solution_and_tests_are_read_for_runs() -> None:
    long = TaskFile.text("one two three four five six seven eight nine ten eleven twelve thirteen\n")
    task = words().replace({"environment/a": long, "tests/a": long, "solution/b": TaskFile(b"\0")})
    assert {path for path, run in runs_of(task) if run.text.startswith("one two")} == {"tests/a"}
    assert unread(task) == ["solution/b"]


def test_of_more_text_than_is_looked_into_the_smallest_files_are_read_and_the_others_told() -> None:
    large = "word " * (LARGEST_TEXT // 5)
    small = TaskFile.text("one two three four five six seven eight nine ten eleven twelve thirteen\n")
    many = {f"tests/{n}.csv": TaskFile.text(large) for n in range(LARGEST_IN_ALL // LARGEST_TEXT + 1)}
    task = words().replace({**many, "tests/z": small})
    assert "tests/z" in {path for path, _ in runs_of(task)}
    assert set(unread(task)) < set(many)
    assert asked(task) != asked(task.replace({unread(task)[0]: TaskFile.text(large + "more")}))
