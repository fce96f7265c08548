"""The soak's question of trust: what it keeps between runs, and how it tells a gate that does not accept."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from bench.trust import Book, Line, Said, report

REPEAT = Said("k1", "passed", "10 of 10 runs agree.", runs=10, passed=10, warnings=0, seconds=12.4)
ADVERSARY = Said("k2", "failed", "The probe x got it.", runs=37, passed=36, warnings=1, seconds=20.4)


def test_what_was_asked_is_asked_again_only_where_its_key_changed(tmp_path: Path) -> None:
    path = tmp_path / "trust.jsonl"
    Book(path).add(Line("a/g1", {"repeat": replace(REPEAT, key="old")}))
    Book(path).add(Line("a/g1", {"repeat": REPEAT, "adversary": ADVERSARY}))

    book = Book(path)

    assert book.still("a/g1", {"repeat": "k1", "adversary": "changed"}) == {"repeat": REPEAT}
    assert book.still("a/g1", {"repeat": "k1", "adversary": "k2", "wrong_solution": "k3"}) == {
        "repeat": REPEAT,
        "adversary": ADVERSARY,
    }
    assert book.still("a/g2", {"repeat": "k1"}) == {}


def test_a_line_and_the_table_say_which_gate_did_not_accept_and_why() -> None:
    good, bad = Line("a/g0", {"repeat": REPEAT}), Line("a/g1", {"repeat": REPEAT, "adversary": ADVERSARY})
    chosen = argparse.Namespace(
        generations=2, lineage="a", effort="high", at_once=4, gates=["repeat", "adversary"]
    )
    good = replace(good, said={**good.said, "adversary": replace(ADVERSARY, result="passed", passed=37)})

    text = "\n".join(report([good, bad], ['{"rule": "x"}'], chosen, seconds=90))

    assert (good.well, bad.well) == (True, False)
    assert str(bad) == "a/g1: repeat 10 of 10, adversary 36 of 37 (33 s); The probe x got it."
    assert "1 of 2 generations of a (effort high) and 1 seeds" in text
    assert "| a/g1 | 10 of 10 | **36 of 37** | 1 | 33 |" in text
    assert "`repeat`, as it should be: 10 of 10 over the generations, 20 of 20 with the seeds." in text
    assert "lint of all 2, exported: 1 findings" in text and str(bad) in text
