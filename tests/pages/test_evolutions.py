"""Starting, watching, stopping and continuing an evolution."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from lineages.growth import overview
from lineages.growth.models import Evolution, Recipe
from lineages.lifecycle import Move
from tests import factories
from tests.pages.conftest import seen

CHOICES = {
    "generations": 2,
    "effort": "low",
    "directions": ["skill", "length"],
    "approval": "plans",
    "seed": 7,
}


def start(client: Client, parent: Any, **changed: Any) -> Any:
    return client.post(reverse("evolution_start", args=[parent.pk]), {**CHOICES, **changed})


def url(evolution: Evolution, action: str = "") -> str:
    name = "evolution_act" if action else "evolution_detail"
    return reverse(name, args=[evolution.pk, action] if action else [evolution.pk])


def test_starting_stores_the_choices_and_opens_the_evolution(web: Client) -> None:
    parent = factories.seed()
    response = start(web, parent)
    evolution = Evolution.objects.get()
    assert response.status_code == 302 and response["Location"] == url(evolution)
    assert (evolution.parent, evolution.status, evolution.generations_left) == (parent, "drafting", 2)
    assert evolution.started_by.username == "ada"
    recipe = evolution.recipe
    assert (recipe.effort, recipe.directions, recipe.approval, recipe.seed) == (
        "low",
        "skill,length",
        "plans",
        7,
    )


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"generations": 0}, "greater than or equal to 1"),
        ({"generations": 16}, "less than or equal to 15"),
        ({"generations": "many"}, "whole number"),
        ({"directions": []}, "required"),
        ({"directions": ["sideways"]}, "sideways is not one of the available choices"),
        ({"effort": "huge"}, "huge is not one of the available choices"),
        ({"approval": ""}, "required"),
        ({"seed": "x"}, "whole number"),
        ({"seed": 2**63}, "less than or equal to 9223372036854775807"),
        ({"seed": -(2**63) - 1}, "greater than or equal to -9223372036854775808"),
    ],
)
def test_a_wrong_choice_is_told_and_starts_nothing(web: Client, changed: dict[str, Any], said: str) -> None:
    response = start(web, factories.seed(), **changed)
    assert response.status_code == 422 and said in response.content.decode()
    assert not Evolution.objects.exists() and not Recipe.objects.exists()


def test_a_lineage_does_not_grow_past_the_papers_cap(web: Client) -> None:
    seed = factories.seed(factories.lineage("a"))
    late = factories.environment(seed.lineage, generation=14, parent=seed)
    response = start(web, late, generations=2)
    assert response.status_code == 422
    assert "a/g14 can grow 1 more; a lineage ends at 15." in response.content.decode()
    assert start(web, late, generations=1).status_code == 302


def test_the_form_says_what_a_seed_repeats_and_from_which_sibling_it_grows(web: Client) -> None:
    seed = factories.seed(factories.lineage("a"))
    second = factories.environment(seed.lineage, generation=1, parent=seed, k=2)
    html = web.get(reverse("evolution_start", args=[second.pk])).content.decode()
    assert "The n-th evolution from the same parent with this seed draws the same order and edits." in html
    assert ">g1.2</a></li>" in html


def test_the_empty_form_starts_nothing(web: Client) -> None:
    parent = factories.seed()
    assert web.get(reverse("evolution_start", args=[parent.pk])).status_code == 200
    assert not Evolution.objects.exists()


def test_the_live_page_shows_the_loops_in_order(web: Client, ada: Any) -> None:
    plan = factories.waiting_plan()
    factories.attempt(plan.attempt.evolution, direction="skill", outcome="no_plan", reason="no tool for it")
    candidate = factories.candidate(
        plan, audit=factories.audit(factories.snapshot(), outcomes={"oracle": "failed"})
    )
    factories.moved(plan.attempt.evolution, "drafting", "plan_review", reason="because", by=ada)
    factories.call(plan.attempt, outcome="refused", error="nothing left to propose")
    html = web.get(url(plan.attempt.evolution)).content.decode()
    expected = [
        "Attempt 1: scenario",
        "Plan, round 1",
        "Candidate",
        "oracle: The oracle",
        "Attempt 2: skill",
        "no tool",
    ]
    places = [html.index(each) for each in expected]
    assert places == sorted(places)
    assert "because" in html and "nothing left to propose" in html
    assert reverse("candidate_detail", args=[candidate.pk]) in html


@pytest.mark.parametrize("status", Evolution.Status.values)
def test_it_polls_until_it_has_ended_and_then_never(htmx: Client, status: str) -> None:
    html = htmx.get(url(factories.evolution(status=status))).content.decode()
    assert ("hx-trigger" in html) == (status not in Evolution.ENDED)


def test_a_poll_without_news_gets_no_content_and_one_with_news_the_fragment(htmx: Client) -> None:
    evolution = factories.evolution()
    stamp = seen(htmx.get(url(evolution)))
    assert htmx.get(url(evolution), {"seen": stamp}).status_code == 204
    for news in (
        lambda: factories.attempt(evolution),
        lambda: factories.plan(evolution.attempts.get()),
        lambda: factories.review(evolution.attempts.get().plan),
        lambda: factories.candidate(evolution.attempts.get().plan),
        lambda: factories.gate_result(evolution.attempts.get().candidate.audit, "late"),
        lambda: factories.call(evolution.attempts.get()),
        lambda: Evolution.objects.filter(pk=evolution.pk).update(version=5),
    ):
        news()
        response = htmx.get(url(evolution), {"seen": stamp})
        assert response.status_code == 200, news
        stamp = seen(response)


@pytest.mark.parametrize("part", ["timeline", "calls", "waiting_link"])
def test_what_changes_while_the_page_is_read_shows_at_the_next_poll(
    htmx: Client, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    evolution = factories.evolution(status="verifying")
    real = getattr(overview, part)

    def overtaken(shown: Evolution) -> Any:
        Evolution.objects.filter(pk=shown.pk).update(status="exhausted", version=shown.version + 1)
        return real(shown)

    monkeypatch.setattr(overview, part, overtaken)
    stamp = seen(htmx.get(url(evolution)))
    monkeypatch.undo()
    response = htmx.get(url(evolution), {"seen": stamp})
    assert response.status_code == 200 and "exhausted" in response.content.decode()


def test_a_whole_page_is_never_answered_with_no_content(web: Client, htmx: Client) -> None:
    evolution = factories.evolution()
    stamp = seen(htmx.get(url(evolution)))
    assert web.get(url(evolution), {"seen": stamp}).status_code == 200


def test_cancel_ends_it_and_says_who(htmx: Client) -> None:
    evolution = factories.evolution()
    attempt = factories.attempt(evolution)
    response = htmx.post(url(evolution, "cancel"), {"reason": "wrong seed"})
    assert response.status_code == 200 and "hx-trigger" not in response.content.decode()
    evolution.refresh_from_db()
    attempt.refresh_from_db()
    assert (evolution.status, attempt.outcome) == ("cancelled", "abandoned")
    move = Move.objects.get()
    assert (move.by.username, move.reason) == ("ada", "wrong seed")


def test_cancelling_what_has_ended_is_a_conflict_that_names_the_state(htmx: Client, bob: Any) -> None:
    evolution = factories.evolution(status="accepted")
    factories.moved(evolution, "verifying", "accepted", by=bob)
    response = htmx.post(url(evolution, "cancel"))
    assert response.status_code == 409 and "now “accepted” (by bob)" in response.content.decode()
    assert Move.objects.count() == 1


def test_pause_and_resume_change_no_status(htmx: Client) -> None:
    evolution = factories.evolution(status="verifying")
    assert "Resume" in htmx.post(url(evolution, "pause")).content.decode()
    evolution.refresh_from_db()
    assert evolution.paused_at and evolution.status == "verifying"
    assert "Pause" in htmx.post(url(evolution, "resume")).content.decode()
    evolution.refresh_from_db()
    assert evolution.paused_at is None


@pytest.mark.parametrize("action", ["pause", "resume"])
@pytest.mark.parametrize("status", sorted(Evolution.ENDED))
def test_what_has_ended_can_be_neither_paused_nor_resumed(htmx: Client, action: str, status: str) -> None:
    evolution = factories.evolution(status=status)
    response = htmx.post(url(evolution, action))
    assert response.status_code == 409 and f"now “{status}”" in response.content.decode()
    evolution.refresh_from_db()
    assert evolution.paused_at is None and not Move.objects.exists()


def test_a_failed_one_goes_back_to_where_it_failed_with_its_faults_forgotten(htmx: Client) -> None:
    evolution = factories.evolution(status="failed", failed_in="verifying", faults=3, fault="no engine")
    assert "Move back to verifying" in htmx.get(url(evolution)).content.decode()
    assert htmx.post(url(evolution, "move_back")).status_code == 200
    evolution.refresh_from_db()
    assert (evolution.status, evolution.faults, evolution.fault) == ("verifying", 0, "")


def test_only_a_failed_one_can_be_moved_back(htmx: Client) -> None:
    evolution = factories.evolution(status="verifying")
    assert htmx.post(url(evolution, "move_back")).status_code == 409
    assert not Move.objects.exists()


def test_without_htmx_an_action_leads_back_to_the_page(web: Client) -> None:
    evolution = factories.evolution()
    response = web.post(url(evolution, "pause"))
    assert response.status_code == 302 and response["Location"] == url(evolution)


@pytest.mark.parametrize("action", ["cancel", "pause", "resume", "move_back"])
def test_looking_never_acts(web: Client, action: str) -> None:
    evolution = factories.evolution()
    response = web.get(url(evolution, action))
    assert response.status_code == 302 and response["Location"] == url(evolution)
    assert Evolution.objects.get().status == "drafting" and not Move.objects.exists()


def test_a_fault_is_shown_as_it_was_noted(web: Client) -> None:
    evolution = factories.evolution(faults=1, fault="MachineFault: <no engine>")
    assert "MachineFault: &lt;no engine&gt;" in web.get(url(evolution)).content.decode()


def test_gates_stand_in_the_order_of_their_profile_and_say_what_they_check(web: Client) -> None:
    evolution = factories.evolution()
    outcomes = dict.fromkeys(("oracle", "from elsewhere", "build", "static"), "passed")
    audit = factories.audit(factories.snapshot(), outcomes=outcomes)
    candidate = factories.candidate(factories.plan(factories.attempt(evolution)), audit=audit)
    for address in (url(evolution), reverse("candidate_detail", args=[candidate.pk])):
        html = web.get(address).content.decode()
        places = [html.index(f"The {gate} gate said so.") for gate in ("static", "build", "oracle")]
        assert places == sorted(places) and places[-1] < html.index("The from elsewhere gate said so.")
        assert "The reference solution passes" in html and "from elsewhere" in html


def test_each_loop_names_its_gates_even_where_candidates_share_an_audit(web: Client) -> None:
    plan = factories.plan(factories.attempt(factories.evolution()))
    audit = factories.audit(factories.snapshot())
    for _ in range(2):
        factories.candidate(plan, audit=audit)
    ids = re.findall(r'\sid="([^"]+)"', web.get(url(plan.attempt.evolution)).content.decode())
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("rounds", [1, 9])
def test_the_live_page_takes_as_many_queries_however_much_was_tried(
    web: Client, django_assert_max_num_queries, rounds: int
) -> None:
    evolution = factories.evolution()
    for _ in range(rounds):
        factories.candidate(factories.plan(factories.attempt(evolution)))
        factories.review(evolution.attempts.last().plan)
    with django_assert_max_num_queries(20):
        web.get(url(evolution))
