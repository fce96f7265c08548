"""The pages on which reviewers are measured."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents.reviewing.frozen import FROZEN
from lineages.library import rubrics
from lineages.library.rubric_rows import ReviewBench

pytestmark = pytest.mark.django_db


def text(response: Any) -> str:
    return " ".join(response.content.decode().partition("<main")[2].split())


def run_of(model: str, digest: str = FROZEN, **fields: Any) -> ReviewBench:
    """A run with a line of the set and one of people's."""
    versions = {f"{name}_rubric": rubrics.today(name).version for name in rubrics.NAMES}
    made = ReviewBench.objects.create(model=model, cases_digest=digest, cases=9, **versions, **fields)
    made.lines.create(rubric="plan", criterion="harder", faults=3, missed=1, sound=4, accused=0)
    made.lines.create(rubric="people: plan", criterion="any", faults=2, missed=2, sound=0, accused=0)
    return made


def test_without_a_run_the_page_says_how_to_make_one(web: Client) -> None:
    assert "manage.py review_bench --model NAME" in text(web.get("/reviewers/"))


def test_runs_are_listed_newest_first_with_their_sums(web: Client) -> None:
    run_of("opus", served="claude-opus-5")
    run_of("qwen", digest="0" * 64)

    page = text(web.get("/reviewers/"))

    assert page.index("qwen") < page.index("opus")
    assert page.count(">1 of 3</td>") == 2 and page.count("> 2 of 2 </td>") == 2
    assert page.count("another, or a part") == 1 and "claude-opus-5" in page


def test_a_run_keeps_peoples_cases_apart(web: Client) -> None:
    page = text(web.get(f"/reviewers/{run_of('opus', unanswered=2).pk}/"))

    planted, said = page.index("Planted by code"), page.index("Said by people")
    assert planted < page.index(">harder</th>") < said < page.index(">any</th>")
    assert "the whole frozen set" in page and "plan rubric, version 1" in page
    assert '2<span class="delta">of 9</span>' in page
    assert "$0.0000" in page, "nobody was paid"


def test_no_such_run_is_not_found(web: Client) -> None:
    assert web.get("/reviewers/1/").status_code == 404
