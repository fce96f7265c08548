"""Who plays the roles of an evolution: what `evolve` warns of, and who is named in a review."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.models import book_of
from agents.plan import Change, Pair, PlanDraft, Sequence
from agents.rubrics import PLAN_RUBRIC
from lineages.growth import loops
from lineages.growth.models import Evolution
from lineages.library import by_hand
from lineages.library.models import Environment
from lineages.lifecycle import Move
from lineages.management.commands.evolve import settings_of
from tests import factories
from tests.lineages.conftest import begin

pytestmark = pytest.mark.django_db(transaction=True)

PEOPLE = """
[models.ann]
provider = "manual"
[models.eve]
provider = "manual"
[teams.both]
default = "ann"
plan_reviewer = "eve"
"""
MODELS = """
[models.opus]
provider = "anthropic"
model = "o"
[models.claude]
provider = "anthropic"
model = "o"
"""


def one_more(seed: Environment) -> PlanDraft:
    """A plan that keeps the rules: one more pair at the end."""
    pair = Pair(
        key="more", scenario="result file", skill="write", tool="printf", origin="owned", target="/app/x"
    )
    return factories.draft(
        seed,
        "length",
        before=seed.sequence,
        after=Sequence(pairs=(*seed.sequence.pairs, pair)),
        changes=(Change(kind="insert", pair=pair),),
    )


def options(**chosen: Any) -> dict[str, Any]:
    plain = {"effort": "high", "directions": ["length"], "approve": "auto", "seed": 0, "profile": "paper"}
    return {**plain, "author": "opus", "judge": "", "self_improvement": False, **chosen}


def told(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines of progress, without their times."""
    return [line.partition("] ")[2] for line in capsys.readouterr().err.splitlines()]


def test_evolve_warns_of_its_own_judge_and_offers_another_only_where_none_was_chosen(
    settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.MODELS = book_of(MODELS, lambda _: None)
    settings_of(options())
    assert told(capsys) == [
        "warning: opus reviews the plans that it proposes itself (--judge names another)",
        "warning: opus verifies the environments that it builds itself (--judge names another)",
    ]
    settings_of(options(judge="claude"))
    assert told(capsys) == [
        "warning: claude, the plan reviewer, is the same model as opus, the proposer",
        "warning: claude, the rubric verifier, is the same model as opus, the modifier",
    ]
    settings_of(options(self_improvement=True))
    assert told(capsys) == []


def test_the_page_of_an_evolution_says_which_models_judge_themselves(settings: Any, client: Any) -> None:
    settings.MODELS = book_of(MODELS, lambda _: None)
    cast = settings_of(options(judge="claude")).cast
    evolution = factories.evolution(recipe=factories.recipe(author="opus", cast=cast))
    client.force_login(factories.user())
    page = client.get(f"/evolutions/{evolution.pk}/").content.decode()
    assert "About its models: claude, the plan reviewer, is the same model as opus, the proposer; " in page


def test_a_review_of_a_plan_is_by_the_model_that_answered_and_not_by_its_team(
    seed: Environment, settings: Any
) -> None:
    settings.UNTRUSTED_IN_BUBBLEWRAP = True
    settings.MODELS = book_of(PEOPLE, lambda _: None)
    evolution = begin(seed, author="both", directions=("length",), approval="plans")
    plan = factories.plan(factories.attempt(evolution, direction="length"), one_more(seed))
    Evolution.objects.filter(pk=evolution.pk).update(status="plan_review")
    loops.advance(evolution.pk)
    (question,) = by_hand.waiting()
    passed = [
        {"criterion": key, "verdict": "pass", "explanation": "so it is", "quote": ""}
        for key in PLAN_RUBRIC.keys
    ]
    by_hand.answer(question, user=factories.user(), text=json.dumps({"verdicts": passed}))
    Evolution.objects.filter(pk=evolution.pk).update(retry_at=None)

    loops.advance(evolution.pk)

    review = plan.reviews.get()
    assert (review.role, review.reviewer, review.decision) == ("plan_reviewer", "eve", "approve")
    assert Move.objects.filter(row=evolution.pk, to_status="plan_approval").exists()
