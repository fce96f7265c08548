"""The pages of campaigns."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from lineages.growth import campaigns
from lineages.growth.campaigns import Limits
from lineages.growth.evolving import RecipeSettings
from lineages.growth.models import Campaign, Evolution
from lineages.library.models import Environment
from tests import factories
from tests.pages.conftest import seen

pytestmark = pytest.mark.django_db

CHOSEN = {
    "name": "Monday night",
    "source": "seeds",
    "generations": "3",
    "parallel": "2",
    "effort": "high",
    "directions": ["scenario", "length"],
    "approval": "plans",
    "hours": "1.5",
}


def running(name: str = "night", count: int = 2, **limits: Any) -> Campaign:
    environments = [factories.seed() for _ in range(count)]
    return campaigns.create(
        name, environments, RecipeSettings(), generations=3, parallel=count, limits=Limits(**limits)
    )


def test_an_operator_starts_a_campaign_over_every_seed(web: Client) -> None:
    first, second = factories.seed(), factories.seed()

    answer = web.post(reverse("campaign_start"), CHOSEN)

    campaign = Campaign.objects.get()
    assert answer["Location"] == reverse("campaign_detail", args=[campaign.pk])
    assert [entry.environment for entry in campaign.entries.all()] == [first, second]
    assert (campaign.slug, campaign.recipe.approval, campaign.hours_limit) == ("monday-night", "plans", 1.5)
    assert {each.parent for each in campaign.evolutions.all()} == {first, second}
    assert campaign.history().first().by.get_username() == "ada"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"source": "these", "references": "nowhere/g0"}, "there is no environment"),
        ({"source": "these", "references": ""}, "Name at least one environment"),
        ({"deadline": "2020-01-01T06:00"}, "This time is over already."),
        ({"cost": "1e30"}, "less than or equal to 1000000000"),
        ({"hours": "inf"}, "Enter a number."),
        ({"accepted": "99999999999"}, "less than or equal to 1000000000"),
        ({"source": "seeds"}, "choose at least one environment"),
    ],
)
def test_a_wrong_campaign_is_said_at_its_field_and_nothing_starts(
    web: Client, change: dict[str, str], sentence: str
) -> None:
    answer = web.post(reverse("campaign_start"), {**CHOSEN, **change})

    assert answer.status_code == 422
    assert sentence in answer.content.decode().replace("&#x27;", "'")
    assert not Campaign.objects.exists()
    assert not Evolution.objects.exists()


def test_the_page_of_a_campaign_shows_progress_yield_and_the_bounds(web: Client) -> None:
    campaign = running(accepted=40)
    campaigns.turn(campaign)
    factories.accepted(campaign.evolutions.first())

    text = web.get(reverse("campaign_detail", args=[campaign.pk])).content.decode()

    assert "1 of 3" in text and "of 40" in text
    assert "100 %" in text, "of those that ended, all with a child"
    assert "Pause all" in text and "Cancel all" in text


def test_a_poll_with_nothing_new_gets_no_page(htmx: Client) -> None:
    campaign = running()
    address = reverse("campaign_detail", args=[campaign.pk])
    stamp = seen(htmx.get(address))

    assert htmx.get(address, {"seen": stamp}).status_code == 204
    campaigns.turn(campaign)
    assert htmx.get(address, {"seen": stamp}).status_code == 200


def test_the_page_of_an_ended_campaign_asks_no_more(htmx: Client) -> None:
    campaign = running()
    campaigns.cancel(campaign, by=None)

    text = htmx.get(reverse("campaign_detail", args=[campaign.pk])).content.decode()

    assert "hx-trigger" not in text.split("<p hx-swap-oob")[0].split("<form")[0]
    assert "Pause all" not in text


def test_an_entry_that_could_not_start_is_news_for_the_page(htmx: Client) -> None:
    campaign = running(count=2)
    withdrawn = campaign.entries.last().environment_id
    Environment.objects.filter(pk=withdrawn).update(quarantined=True)
    Campaign.objects.filter(pk=campaign.pk).update(parallel=1)
    campaigns.turn(campaign)
    address = reverse("campaign_detail", args=[campaign.pk])
    stamp = seen(htmx.get(address))

    Campaign.objects.filter(pk=campaign.pk).update(parallel=2)
    campaigns.turn(campaign)

    answer = htmx.get(address, {"seen": stamp})
    assert answer.status_code == 200 and "is withdrawn" in answer.content.decode()


@pytest.mark.parametrize("number", ["0", "-1", "x", "²", "9" * 30, "9" * 5000])
def test_a_page_number_that_makes_no_sense_is_the_first_page(web: Client, number: str) -> None:
    running()
    assert "night" in web.get(reverse("campaign_list"), {"page": number}).content.decode()


def test_pausing_and_resuming_is_stored_with_who_did_it(htmx: Client) -> None:
    campaign = running()
    for action in ("pause", "resume"):
        assert htmx.post(reverse("campaign_act", args=[campaign.pk, action])).status_code == 200

    history = [(move.reason, move.by and move.by.get_username()) for move in campaign.history()]
    assert history == [("started", None), ("paused", "ada"), ("resumed", "ada")]


def test_what_has_ended_cannot_be_resumed_and_says_so(htmx: Client) -> None:
    campaign = running()
    campaigns.cancel(campaign, by=None)

    answer = htmx.post(reverse("campaign_act", args=[campaign.pk, "resume"]))

    assert answer.status_code == 409
    assert "already cancelled" in answer.content.decode()
    campaign.refresh_from_db()
    assert campaign.status == "cancelled"


def test_limits_are_set_from_the_page_and_a_wrong_one_is_said(htmx: Client) -> None:
    campaign = running()
    address = reverse("campaign_limit", args=[campaign.pk])

    assert htmx.post(address, {"hours": "2"}).status_code == 200
    assert htmx.post(address, {"hours": "-2"}).status_code == 422

    campaign.refresh_from_db()
    assert campaign.hours_limit == 2


def test_a_reviewer_reads_campaigns_and_starts_none(db: Any) -> None:
    client = Client()
    client.force_login(factories.user("rae", role="reviewer"))
    campaign = running()

    assert client.get(reverse("campaign_list")).status_code == 200
    assert client.get(reverse("campaign_detail", args=[campaign.pk])).status_code == 200
    assert client.post(reverse("campaign_start"), CHOSEN).status_code == 403
    assert client.post(reverse("campaign_act", args=[campaign.pk, "cancel"])).status_code == 403
    campaign.refresh_from_db()
    assert campaign.status == "running"


def test_the_list_asks_no_more_when_there_are_more_campaigns(
    web: Client, django_assert_max_num_queries: Any
) -> None:
    for number in range(6):
        running(f"night {number}", count=1)
    with django_assert_max_num_queries(8):
        assert web.get(reverse("campaign_list")).content.decode().count("night-") >= 6


def test_the_detail_asks_no_more_when_there_are_more_lineages(
    web: Client, django_assert_max_num_queries: Any
) -> None:
    campaign = running(count=12)
    campaigns.turn(campaign)
    with django_assert_max_num_queries(16):
        web.get(reverse("campaign_detail", args=[campaign.pk]))
