"""contamination: 13 tokens in a row that stand in a benchmark."""

from __future__ import annotations

from lineages.gates import contamination
from lineages.gates.base import Outcome, Result
from lineages.gates.contamination import MOST_FINDINGS
from lineages.gates.surroundings import Benchmarks
from lineages.overlap import runs
from tests.gates.subjects import Changes, subject

SENTENCE = "Sort the tickets by desk and write the seven oldest of each desk to a file of its own."
RUNS = [run.text for run in runs(SENTENCE)]


def asked(changes: Changes, *hits: str, names: tuple[str, ...] = ("bench",)) -> Outcome:
    benchmarks = Benchmarks("0" * 64, names, dict.fromkeys(hits, ("bench: desks",)))
    return contamination.check(subject(changes, benchmarks=benchmarks))


def test_where_no_set_is_marked_the_gate_does_not_apply_and_says_how_to_mark_one() -> None:
    said = contamination.check(subject())
    assert said.result is Result.NOT_APPLICABLE
    assert "manage.py benchmark add" in said.summary


def test_a_task_of_which_nothing_stands_in_a_benchmark_passes() -> None:
    assert asked({"instruction.md": SENTENCE}).result is Result.PASSED


def test_an_overlap_is_told_once_a_stretch_with_set_task_line_and_our_own_words() -> None:
    said = asked({"instruction.md": f"First.\n\n{SENTENCE}\n"}, *RUNS)
    (finding,) = said.findings
    assert (said.result, finding.path, finding.line) == (Result.FAILED, "instruction.md", 3)
    assert "bench: desks" in finding.text
    assert RUNS[0] in finding.text


def test_solution_and_tests_are_read_too() -> None:
    said = asked({"solution/notes.md": SENTENCE, "tests/notes.md": SENTENCE}, *RUNS)
    assert [finding.path for finding in said.findings] == ["solution/notes.md", "tests/notes.md"]


def test_what_is_no_text_is_said_to_be_unread() -> None:
    said = asked({"tests/data.bin": "a\0b"})
    (finding,) = said.findings
    assert (said.result, finding.path, finding.warning) == (Result.PASSED, "tests/data.bin", True)


def test_of_many_files_that_are_no_text_the_first_are_named_and_the_others_counted() -> None:
    said = asked({f"tests/{n}.bin": "a\0b" for n in range(MOST_FINDINGS + 3)})
    assert len(said.findings) == MOST_FINDINGS + 1
    assert said.findings[-1].text.startswith("3 more files were not compared")
