"""Campaigns: what starts, what bounds them, and what a person's word does to all of it."""

from __future__ import annotations

import json
import threading
import time
from argparse import ArgumentTypeError
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone

from agents.models import book_of
from agents.scripted import Script
from lineages.growth import campaigns, evolving, loops, spending
from lineages.growth.acceptance import accept
from lineages.growth.campaigns import CannotCampaign, Limits
from lineages.growth.evolving import RecipeSettings
from lineages.growth.models import Campaign, Evolution
from lineages.library.calls import AgentCall, Conversation
from lineages.library.models import Environment
from lineages.lifecycle import Stale, claim, move
from lineages.management.commands.campaign import moment
from tests import factories
from tests.lineages.test_lifecycle import at_once

pytestmark = pytest.mark.django_db(transaction=True)
OPUS = '[models.opus]\nprovider = "openai"\nmodel = "nobody-prices-this"\n'
OFFLINE = RecipeSettings(author="scripted", profile="paper", directions=("length",))


def campaign_of(
    *environments: Environment, parallel: int = 2, generations: int = 1, **limits: Any
) -> Campaign:
    return campaigns.create(
        "night one",
        environments,
        OFFLINE,
        generations=generations,
        parallel=parallel,
        limits=Limits(**limits),
    )


def seeds(count: int) -> list[Environment]:
    return [factories.seed() for _ in range(count)]


def open_ones(campaign: Campaign) -> list[Evolution]:
    return list(campaign.evolutions.exclude(status__in=Evolution.ENDED))


def end(evolution: Evolution, status: str = "exhausted") -> None:
    move(evolution, status, reason="in this test")


@pytest.mark.lifecycle
def test_no_more_evolutions_are_at_work_than_were_asked_for_and_the_next_follows_when_one_ends() -> None:
    campaign = campaign_of(*seeds(5), parallel=2)

    campaigns.turn(campaign)
    campaigns.turn(campaign)
    assert [each.parent_id for each in open_ones(campaign)] == [
        entry.environment_id for entry in campaign.entries.all()[:2]
    ]

    end(open_ones(campaign)[0])
    campaigns.turn(campaign)
    assert len(open_ones(campaign)) == 2
    assert campaign.evolutions.count() == 3


def test_what_waits_for_a_person_keeps_no_machine_from_other_work() -> None:
    campaign = campaign_of(*seeds(3), parallel=1)
    campaigns.turn(campaign)
    Evolution.objects.filter(campaign=campaign).update(status="plan_approval")

    campaigns.turn(campaign)

    assert sorted(each.status for each in open_ones(campaign)) == ["drafting", "plan_approval"]


@pytest.mark.lifecycle
def test_a_campaign_ends_when_nothing_is_left_and_says_what_came_of_it() -> None:
    campaign = campaign_of(*seeds(2))
    campaigns.turn(campaign)
    for evolution in open_ones(campaign):
        end(evolution)

    campaigns.turn(campaign)

    assert campaign.status == "finished"
    assert campaign.last_reason.startswith("0 environments accepted")
    assert spending.of(campaign).yielded == 0.0


@pytest.mark.lifecycle
@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({"deadline": timezone.now() - timedelta(minutes=1)}, "the deadline of"),
        ({"cost": Decimal("0.50")}, "the budget of $0.50 is spent ($0.75)"),
        ({"hours": 0.001}, "sandbox hours is spent"),
    ],
)
def test_a_reached_limit_stops_the_campaign_and_pauses_what_is_open(
    limits: dict[str, Any], sentence: str
) -> None:
    campaign = campaign_of(*seeds(2), parallel=1)
    campaigns.turn(campaign)
    (evolution,) = open_ones(campaign)
    attempt = factories.attempt(evolution)
    factories.candidate(factories.plan(attempt))
    factories.call(attempt, tokens=10, cost=Decimal("0.75"))
    campaigns.limit(campaign, Limits(**limits), by=None)

    campaigns.turn(campaign)

    assert campaign.status == "stopped"
    assert sentence in campaign.last_reason
    evolution.refresh_from_db()
    assert evolution.paused_at and evolution.status == "drafting", "paused, not lost"
    assert campaign.evolutions.count() == 1, "nothing new was started"
    with pytest.raises(CannotCampaign, match="raise that limit first"):
        campaigns.resume(campaign, by=None)

    campaigns.limit(campaign, Limits(), by=None)
    campaigns.resume(campaign, by=None)
    evolution.refresh_from_db()
    assert campaign.status == "running" and evolution.paused_at is None


def spending_one(**limits: Any) -> tuple[Campaign, Conversation]:
    """A campaign at work, and a conversation with opus in it, which has known requests for 3 cents."""
    campaign = campaign_of(factories.seed(), **limits)
    campaigns.turn(campaign)
    talk = factories.conversation(factories.attempt(open_ones(campaign)[0]))
    factories.model_call(talk)
    return campaign, talk


@pytest.mark.parametrize(
    "unknown",
    [
        {"outcome": "sent", "cost": None, "billed": None, "received_body_id": None},
        {"outcome": "timeout", "cost": None, "billed": None, "received_body_id": None},
    ],
)
def test_a_request_that_is_not_settled_counts_with_the_most_that_it_may_cost(unknown: dict[str, Any]) -> None:
    campaign, talk = spending_one(cost=Decimal("0.93"))
    request = factories.model_call(talk, reserved=Decimal("0.89"), **unknown)
    assert campaigns.reached_limit(campaign) == ""

    AgentCall.objects.filter(pk=request.pk).update(reserved=Decimal("0.9"))
    campaigns.turn(campaign)

    assert campaign.status == "stopped"
    assert "the budget of $0.93 is spent ($0.03, and at most $0.90 for requests" in campaign.last_reason

    AgentCall.objects.filter(pk=request.pk).update(outcome="answered", cost=Decimal("0.1"), billed=True)
    campaigns.resume(campaign, by=None)
    assert campaign.status == "running"


def test_requests_of_unknown_cost_stop_a_campaign_with_a_limit_of_cost_until_their_model_has_a_price(
    settings: Any,
) -> None:
    settings.MODELS = book_of(OPUS, lambda _: None)
    campaign, talk = spending_one(cost=Decimal(1))
    for _ in range(2):
        factories.model_call(talk, cost=None, reserved=None)

    campaigns.turn(campaign)

    assert campaign.status == "stopped"
    assert campaign.last_reason == (
        "2 requests of unknown cost, which no limit of cost can count: write models.opus.price into "
        "models.toml, or take the limit off"
    )
    with pytest.raises(CannotCampaign, match="or take it off"):
        campaigns.resume(campaign, by=None)

    settings.MODELS = book_of(f"{OPUS}price = {{ input = 10, output = 100 }}\n", lambda _: None)
    campaigns.resume(campaign, by=None)
    assert campaign.status == "running"
    campaigns.limit(campaign, Limits(cost=Decimal("0.43")), by=None)
    assert "at most $0.40" in campaigns.reached_limit(campaign), "ten cents in and ten out, for each"


def test_without_a_limit_of_cost_and_for_people_unknown_costs_stop_nothing() -> None:
    free, talk = spending_one(accepted=5)
    factories.model_call(talk, cost=None, reserved=None)
    assert campaigns.reached_limit(free) == ""
    AgentCall.objects.all().delete()
    campaigns.limit(free, Limits(cost=Decimal(1)), by=None)
    factories.model_call(talk, provider="manual", outcome="sent", cost=Decimal(0), reserved=None)
    assert campaigns.reached_limit(free) == ""


def test_show_tells_scripts_how_many_requests_are_not_settled(capsys: pytest.CaptureFixture[str]) -> None:
    campaign, talk = spending_one()
    factories.model_call(talk, outcome="sent", cost=None, billed=None)
    call_command("campaign", "show", campaign.slug, "--json")
    said = json.loads(capsys.readouterr().out)
    assert (said["unsettled"], said["unpriced_calls"]) == (1, 0)
    assert Decimal(said["cost_usd"]) == Decimal("0.03")


def test_the_environments_that_were_asked_for_are_enough(script: Script, seed: Environment) -> None:
    campaign = campaign_of(seed, generations=5, accepted=2)
    campaigns.turn(campaign)
    while campaigns.turn(campaign).status == "running":
        loops.advance(open_ones(campaign)[0].pk)

    assert campaign.status == "stopped"
    assert campaign.last_reason == "the 2 environments that were asked for are there"
    assert seed.lineage.environments.count() == 3
    (third,) = open_ones(campaign)
    assert third.paused_at and third.generation == 3


@pytest.mark.lifecycle
def test_pause_holds_all_of_it_and_resume_lets_all_go_on() -> None:
    ada = factories.user()
    campaign = campaign_of(*seeds(3), parallel=2)
    campaigns.turn(campaign)

    campaigns.pause(campaign, by=ada)
    end(open_ones(campaign)[0])
    campaigns.turn(campaign)
    assert all(each.paused_at for each in open_ones(campaign))
    assert campaign.evolutions.count() == 2, "a paused campaign starts nothing"

    campaigns.resume(campaign, by=ada)
    campaigns.turn(campaign)
    assert not any(each.paused_at for each in open_ones(campaign))
    assert campaign.evolutions.count() == 3
    assert [move.reason for move in campaign.history()] == ["started", "paused", "resumed"]


@pytest.mark.lifecycle
def test_cancel_ends_the_campaign_and_every_open_evolution_for_good() -> None:
    campaign = campaign_of(*seeds(3), parallel=2)
    campaigns.turn(campaign)

    campaigns.cancel(campaign, by=None, reason="wrong seeds")
    campaigns.turn(campaign)

    assert campaign.status == "cancelled"
    assert set(campaign.evolutions.values_list("status", flat=True)) == {"cancelled"}
    assert campaign.evolutions.count() == 2
    with pytest.raises(Stale):
        campaigns.resume(campaign, by=None)


def test_an_entry_that_cannot_start_says_why_and_the_others_go_on() -> None:
    first, second = seeds(2)
    Environment.objects.filter(pk=first.pk).update(quarantined=True)
    campaign = campaign_of(first, second)

    campaigns.turn(campaign)

    notes = list(campaign.entries.values_list("note", flat=True))
    assert "withdrawn" in notes[0] and notes[1] == ""
    assert [each.parent for each in open_ones(campaign)] == [second]


def test_the_successors_of_a_campaigns_evolution_belong_to_it(script: Script, seed: Environment) -> None:
    campaign = campaign_of(seed, generations=2)
    campaigns.turn(campaign)
    loops.drive(open_ones(campaign)[0], tell=lambda _: None)

    assert campaign.evolutions.count() == 2
    assert spending.of(campaign).accepted == 2
    assert campaigns.turn(campaign).status == "finished"


@pytest.mark.lifecycle
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": "!!"}, "letters or digits"),
        ({"environments": []}, "at least one environment"),
        ({"parallel": 0}, "1 to 256 evolutions"),
        ({"parallel": 10**9}, "1 to 256 evolutions"),
        ({"generations": 0}, "1 to 15 generations"),
        ({"generations": 10**6}, "1 to 15 generations"),
        ({"limits": Limits(hours=0)}, "above zero"),
        ({"limits": Limits(hours=float("nan"))}, "above zero"),
        ({"limits": Limits(cost=Decimal("NaN"))}, "above zero"),
        ({"limits": Limits(accepted=10**18)}, "at most 1000000000"),
    ],
)
def test_a_campaign_that_makes_no_sense_is_not_made(change: dict[str, Any], sentence: str) -> None:
    given: dict[str, Any] = {
        "name": "n", "environments": seeds(1), "generations": 1, "parallel": 1, "limits": Limits()
    }  # fmt: skip
    given |= change
    with pytest.raises(CannotCampaign, match=sentence):
        campaigns.create(given.pop("name"), given.pop("environments"), OFFLINE, **given)
    assert not Campaign.objects.exists()


@pytest.mark.lifecycle
@pytest.mark.parametrize("what", [campaigns.pause, campaigns.cancel, campaigns.turn])
def test_the_successor_of_what_is_accepted_at_that_very_moment_is_held_too(what: Callable[..., Any]) -> None:
    """Where `what` is the turn, the campaign's deadline has come."""
    campaign = campaign_of(*seeds(1), generations=2)
    campaigns.turn(campaign)
    (evolution,) = open_ones(campaign)
    candidate = factories.candidate(factories.plan(factories.attempt(evolution)))
    Evolution.objects.filter(pk=evolution.pk).update(status="verifying")
    evolution.refresh_from_db()
    if what is campaigns.turn:
        campaigns.limit(campaign, Limits(deadline=timezone.now()), by=None)
    accepting = threading.Event()

    def worker() -> None:
        with transaction.atomic():
            accept(evolution, candidate)
            accepting.set()
            time.sleep(0.5)  # the other one waits for this row by now, or for all of the database

    def person() -> None:
        accepting.wait(10)
        what(Campaign.objects.get(pk=campaign.pk), **({} if what is campaigns.turn else {"by": None}))

    assert at_once(worker, person) == [None, None]
    successor = Evolution.objects.get(previous=evolution)
    assert successor.paused_at or successor.status == "cancelled"
    assert not Evolution.objects.filter(Evolution.claimable()).exists()


@pytest.mark.lifecycle
def test_turns_at_once_start_each_entry_once_and_never_too_many() -> None:
    campaign = campaign_of(*seeds(9), parallel=3)

    answers = at_once(*[lambda: campaigns.turn(Campaign.objects.get(pk=campaign.pk))] * 4)

    assert not [each for each in answers if isinstance(each, Exception)], answers
    assert campaigns.at_work(campaign).count() == 3
    assert campaign.entries.exclude(evolution=None).count() == 3
    campaign.refresh_from_db()
    assert (campaign.status, campaign.lease_token) == ("running", "")


@pytest.mark.lifecycle
@pytest.mark.parametrize("what", [campaigns.pause, campaigns.cancel])
def test_turns_and_a_persons_word_at_once_leave_nothing_that_runs(what: Callable[..., Any]) -> None:
    campaign = campaign_of(*seeds(9), parallel=9)

    answers = at_once(
        *[lambda: campaigns.turn(Campaign.objects.get(pk=campaign.pk))] * 3,
        lambda: what(Campaign.objects.get(pk=campaign.pk), by=None),
    )

    assert not [each for each in answers if isinstance(each, Exception)], answers
    assert not Evolution.objects.filter(Evolution.claimable()).exists()


@pytest.mark.lifecycle
def test_a_cancel_that_died_on_its_way_is_ended_by_the_next_sweep() -> None:
    campaign = campaign_of(*seeds(2))
    campaigns.turn(campaign)
    move(campaign, "cancelled")

    campaigns.turn_all()

    assert set(campaign.evolutions.values_list("status", flat=True)) == {"cancelled"}


@pytest.mark.lifecycle
def test_a_failed_evolution_keeps_no_campaign_open_and_a_cancel_ends_it_for_good() -> None:
    campaign = campaign_of(*seeds(2), parallel=2)
    campaigns.turn(campaign)
    first, second = open_ones(campaign)
    move(first, "failed", failed_in="drafting")
    campaigns.turn(campaign)
    assert campaign.status == "running"

    campaigns.cancel(campaign, by=None)
    assert set(campaign.evolutions.values_list("status", flat=True)) == {"cancelled"}

    other = campaigns.create("two", seeds(1), OFFLINE, generations=1, parallel=1, limits=Limits())
    campaigns.turn(other)
    move(open_ones(other)[0], "failed", failed_in="drafting")
    campaigns.turn(other)
    assert (other.status, spending.of(other).failed) == ("finished", 1)


def test_resuming_what_runs_leaves_alone_what_a_person_has_paused_in_it() -> None:
    campaign = campaign_of(*seeds(1))
    campaigns.turn(campaign)
    evolving.pause(open_ones(campaign)[0], by=None)

    campaigns.resume(campaign, by=None)

    assert open_ones(campaign)[0].paused_at
    assert [move.reason for move in campaign.history()] == ["started"]


def test_a_turn_asks_no_more_when_hundreds_of_entries_are_left(
    django_assert_max_num_queries: Any,
) -> None:
    campaign = campaign_of(*seeds(40), parallel=2, hours=100, cost=Decimal(100))
    campaigns.turn(campaign)

    with django_assert_max_num_queries(10):
        campaigns.turn(campaign)


@pytest.mark.lifecycle
def test_two_campaigns_of_one_name_are_told_apart_by_refusing_the_second() -> None:
    campaign_of(*seeds(1))
    with pytest.raises(CannotCampaign, match="night-one already"):
        campaign_of(*seeds(1))
    assert Campaign.objects.count() == 1


def test_the_command_drives_a_campaign_to_its_end_and_tells_scripts_of_it(
    script: Script, seed: Environment, capsys: pytest.CaptureFixture[str]
) -> None:
    out = StringIO()
    call_command(
        "campaign", "start", "by-hand", seed.reference, "--author", "scripted", "--profile", "paper",
        "--directions", "length", "--generations", "2", stdout=out,
    )  # fmt: skip
    call_command("campaign", "drive", "by-hand", "--json", stdout=out)

    told = json.loads(capsys.readouterr().out)
    assert (told["status"], told["accepted"], told["entries"], told["yield"]) == ("finished", 2, 1, 1.0)
    assert seed.lineage.environments.count() == 3


def test_a_drive_waits_for_another_process_that_is_just_starting_what_is_due() -> None:
    campaign = campaign_of(*seeds(1))
    Environment.objects.update(quarantined=True)
    lease = claim(campaign)
    assert lease

    def other_process() -> None:
        time.sleep(0.5)
        lease.release()

    answers = at_once(
        other_process, lambda: call_command("campaign", "drive", campaign.slug, stdout=StringIO())
    )

    assert answers == [None, None]
    campaign.refresh_from_db()
    assert campaign.status == "finished", "it did not leave while an entry was due"


@pytest.mark.parametrize("text", ["0x", "h", "99999999999d", "2026-02-31T06:00", "tomorrow", "٣w"])
def test_a_deadline_that_is_no_time_is_refused_in_words(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is no time"):
        moment(text)


def test_the_command_says_that_there_is_no_such_campaign(capsys: pytest.CaptureFixture[str]) -> None:
    err = StringIO()
    with pytest.raises(SystemExit) as left:
        call_command("campaign", "pause", "nowhere", stderr=err)
    assert left.value.code == 2
    assert "there is no campaign 'nowhere'" in err.getvalue()
