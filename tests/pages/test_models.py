"""The page of models: what they may do and have cost, and a paused one that a person resumes."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agents.models import book_of
from lineages.growth.models import Evolution
from lineages.library.calls import ModelPause
from tests import factories, talks
from tests.pages.conftest import _signed_in

pytestmark = pytest.mark.django_db

MODELS = """
[models.opus]
provider = "anthropic"
model = "claude-opus-4-1"
key_variable = "OPUS_KEY"
requests_per_minute = 50
[models.gpt]
provider = "openai"
model = "gpt-6"
key_variable = "GPT_KEY"
price = {input = "2.5", output = "10"}
[models.again]
provider = "anthropic"
model = "claude-opus-4-1"
[models.odd]
provider = "openai-chat"
model = "nobody-knows-it"
base_url = "http://127.0.0.1:9/v1"
[teams.careful]
default = "opus"
plan_reviewer = "gpt"
rubric_verifier = "gpt"
[teams.same]
default = "opus"
plan_reviewer = "gpt"
rubric_verifier = "again"
"""


@pytest.fixture(autouse=True)
def book(settings: Any) -> None:
    settings.MODELS = book_of(MODELS, {"OPUS_KEY": "sk-very-secret"}.get)


def shown(web: Client, name: str) -> Any:
    response = web.get("/models/")
    return next(
        each for each in (*response.context["models"], *response.context["gone"]) if each.name == name
    )


def test_a_model_shows_what_the_file_says_and_never_its_key(web: Client) -> None:
    page = web.get("/models/").content.decode()

    assert "sk-very-secret" not in page
    assert "claude-opus-4-1" in page and "50 requests a minute" in page
    assert "models.toml: $2.50 in, $10.00 out" in page
    assert shown(web, "again").price.startswith("genai-prices: $")
    assert shown(web, "odd").price == "unknown: write it into models.toml"
    assert [shown(web, name).key for name in ("opus", "gpt", "again")] == [
        "present",
        "missing",
        "none is named",
    ]
    assert page.count("key missing") == 1


def test_what_was_spent_today_and_in_all_is_the_ledgers(web: Client) -> None:
    attempt = factories.attempt(factories.evolution())
    talks.request(attempt, "0.25")
    talks.request(attempt, None, billed=None)
    talks.request(attempt, "1.5", started_at=timezone.now() - timedelta(days=2))
    talks.request(attempt, "9", "gone-by-now")
    talks.asked(talks.proposal_question(), attempt)

    opus, person = shown(web, "opus"), shown(web, "manual")

    assert (opus.today.cost, opus.today.unknown, opus.today.requests) == (Decimal("0.25"), 1, 2)
    assert (opus.ever.cost, opus.ever.requests) == (Decimal("1.75"), 3)
    assert (person.ever.unpriced, person.ever.requests) == (1, 0)
    assert shown(web, "gone-by-now").ever.cost == 9
    assert "$0.2500 and 1 call of unknown cost, 2 requests" in web.get("/models/").content.decode()


def test_a_team_whose_judge_judges_itself_is_warned_of_under_either_name(web: Client) -> None:
    page = web.get("/models/").content.decode()

    warned = {team.name: team.warnings for team in web.get("/models/").context["teams"]}
    assert warned["careful"] == ()
    assert len(warned["same"]) == 1
    assert page.count("judges itself") == 1 and "This is allowed." in page


def test_a_paused_model_says_why_and_is_resumed_by_a_person(web: Client) -> None:
    ModelPause.objects.create(model="opus", reason="opus is paused: the key was refused <401>.")
    waits = factories.evolution(waiting_for="opus", retry_at=timezone.now() + timedelta(hours=1))
    page = web.get("/models/").content.decode()
    assert "the key was refused &lt;401&gt;." in page
    assert "Nobody asks it until somebody resumes it." in page

    response = web.post("/models/opus/resume/", follow=True)

    assert not ModelPause.objects.exists()
    assert "opus is asked again." in response.content.decode()
    assert Evolution.objects.get(pk=waits.pk).retry_at is None, "what waited for it is due at once"


def test_a_model_that_somebody_resumed_before_is_said_to_go_on_already(web: Client) -> None:
    response = web.post("/models/opus/resume/")

    assert response.status_code == 409
    assert "opus is not paused any more" in response.content.decode()


def test_a_pause_that_is_over_is_none_and_one_that_ends_says_when(web: Client) -> None:
    now = timezone.now()
    ModelPause.objects.create(model="opus", reason="busy", until=now - timedelta(minutes=1))
    ModelPause.objects.create(model="gpt", reason="busy", until=now + timedelta(minutes=1))

    assert shown(web, "opus").pause is None
    assert "It goes on by itself after" in web.get("/models/").content.decode()


def test_a_viewer_resumes_nothing(db: None) -> None:
    ModelPause.objects.create(model="opus", reason="closed")
    vera = _signed_in(factories.user("vera", role="viewer"))

    assert vera.get("/models/").status_code == 403
    assert vera.post("/models/opus/resume/").status_code == 403
    assert ModelPause.objects.exists()


def test_the_number_of_queries_does_not_grow_with_models_and_calls(
    web: Client, django_assert_max_num_queries: Any
) -> None:
    for number in range(12):
        talks.request(factories.attempt(factories.evolution()), "0.1", f"model-{number}")
    with django_assert_max_num_queries(10):
        web.get("/models/")


def test_the_budgets_are_said_and_what_is_not_bound_too(web: Client, settings: Any) -> None:
    settings.BUDGET_EVOLUTION, settings.BUDGET_LINEAGE, settings.BUDGET_DAY = Decimal(5), None, Decimal(0)

    said = " ".join(
        web.get("/models/").content.decode().partition('id="budgets"')[2].partition("</p>")[0].split()
    )

    assert "<strong>$5.00</strong> for an evolution (<code>ENVEVO_BUDGET_EVOLUTION</code>)" in said
    assert "no bound for a lineage" in said and "<strong>$0.00</strong> for a day" in said
