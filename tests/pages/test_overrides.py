"""Overriding, withdrawing, freeing, voiding on their pages: with and without JavaScript, late, twice."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from lineages.gates import all_gates
from lineages.growth.models import Evolution, Plan, Review
from lineages.growth.withdrawing import withdraw
from lineages.library.models import Environment, Quarantine, Voiding
from lineages.review.voiding import NotWaivable, void
from tests import factories
from tests.pages.conftest import _signed_in

pytestmark = pytest.mark.django_db

WHY = "The reviewer misread the second pair."


def rejected(status: str = "drafting", **fields: Any) -> Review:
    """The rejection of the newest plan of an attempt that is still open."""
    plan = factories.plan(factories.attempt(factories.evolution(status=status, version=2, **fields)))
    return factories.review(plan, decision="reject", comment="second pair: it cannot be told by a test")


def override(client: Client, review: Review, follows: str = "build", reason: str = WHY) -> Any:
    return client.post(reverse("review_override", args=[review.pk]), {"follows": follows, "reason": reason})


def status(review: Review) -> str:
    return Evolution.objects.get(pk=review.subject.attempt.evolution_id).status


def page_of(client: Client, environment: Environment) -> str:
    return client.get(f"/environments/{environment.pk}/").content.decode()


@pytest.fixture
def admin() -> Client:
    return _signed_in(factories.user("grace", role="admin"))


def test_the_form_says_what_will_follow_and_the_reason_stays_beside_the_verdict(web: Client) -> None:
    review = rejected()
    html = web.get(f"/plans/{review.plan_id}/").content.decode()
    assert "The evolution goes on from here and builds this plan." in html
    assert 'name="follows" value="build"' in html

    response = override(web, review)

    assert response.status_code == 302
    assert response["Location"] == f"/plans/{review.plan_id}/#review-{review.pk}"
    html = web.get(f"/plans/{review.plan_id}/").content.decode()
    mine = Review.objects.get(supersedes=review)
    assert status(review) == "building"
    assert f'href="#review-{mine.pk}"' in html and f'href="#review-{review.pk}"' in html, "linked both ways"
    assert "overridden" in html and WHY in html
    assert html.count("/override/") == 2, "the last word alone can be overridden: its action, for both ways"


def test_with_htmx_the_answer_is_the_page_as_it_is_then(htmx: Client) -> None:
    review = rejected()
    response = override(htmx, review)
    html = response.content.decode()
    assert response.status_code == 200
    assert "Overridden: evolution #" in html and "goes on to build this plan" in html
    assert "<html" not in html


@pytest.mark.parametrize("reason", ["", "   ", "\u200b\u00a0\u2060"])
def test_without_a_reason_nothing_is_stored_and_the_form_says_so(web: Client, reason: str) -> None:
    review = rejected()
    response = override(web, review, reason=reason)
    html = response.content.decode()
    assert response.status_code == 422
    assert "Say in a sentence why" in html
    assert re.search(r'id="override-\d+"\s+open', html)
    assert (status(review), Review.objects.count()) == ("drafting", 1)


def test_an_override_of_what_has_moved_on_shows_the_fresh_page_and_stores_nothing(web: Client) -> None:
    review = rejected()
    factories.plan(review.subject.attempt)
    response = override(web, review)
    html = response.content.decode()
    assert response.status_code == 409
    assert "This page was too old" in html
    assert 'name="follows" value="start_at_plan"' in html
    assert (Review.objects.count(), Evolution.objects.count()) == (1, 1)


def test_whoever_comes_second_hears_who_was_first_and_twice_by_one_is_once(web: Client, bob: User) -> None:
    review = rejected()
    override(web, review)

    late = override(_signed_in(bob), review)
    again = override(web, review)

    assert late.status_code == 409
    assert "ada overrode this just now; your override was not stored." in late.content.decode()
    assert again.status_code == 200 and "nothing was stored twice" in again.content.decode()
    assert Review.objects.filter(role="person").count() == 1


@pytest.mark.parametrize("follows", ["", "nonsense", "withdraw"])
def test_what_the_page_never_offered_is_stale(web: Client, follows: str) -> None:
    review = rejected()
    assert override(web, review, follows=follows).status_code == 409
    assert status(review) == "drafting"


def test_looking_at_the_address_leads_to_the_plan(web: Client) -> None:
    review = rejected()
    response = web.get(reverse("review_override", args=[review.pk]))
    assert response["Location"] == f"/plans/{review.plan_id}/#review-{review.pk}"


def test_a_new_evolution_says_what_it_took_up_again_and_why(web: Client) -> None:
    review = rejected(status="exhausted")
    type(review.subject.attempt).objects.update(outcome="plans_spent")

    override(web, review, "start_at_plan")

    new = Evolution.objects.latest("pk")
    plan = Plan.objects.get(attempt__evolution=new)
    mine = Review.objects.get(supersedes=review)
    for address in (f"/evolutions/{new.pk}/", f"/plans/{plan.pk}/"):
        html = web.get(address).content.decode()
        assert "Begun by an override" in html and WHY in html
        assert f'href="/plans/{review.plan_id}/#review-{mine.pk}"' in html
    old = web.get(f"/plans/{review.plan_id}/").content.decode()
    assert f"began evolution #{new.pk}" in old


def test_an_approved_plan_of_an_accepted_child_is_overridden_by_a_withdrawal(web: Client) -> None:
    seed, first, second = factories.chain(2)
    plan = Plan.objects.get(attempt__evolution__child=first)
    review = factories.review(plan)

    assert override(web, review, "withdraw").status_code == 302

    assert set(Environment.objects.filter(quarantined=True)) == {first, second}
    assert WHY in page_of(web, first)
    html = page_of(web, second)
    assert f'Held back with <a href="/environments/{first.pk}/">' in html and WHY in html


def test_a_withdrawal_marks_the_subtree_on_every_page(web: Client) -> None:
    seed, first, second = factories.chain(2)

    response = web.post(f"/environments/{first.pk}/withdraw/", {"seen": 0, "reason": "hackable"}, follow=True)

    html = response.content.decode()
    assert "Withdrawn: " in html and "and 1 environment below it" in html
    assert "do not train on them" in html
    assert "/evolve/" not in html and f"/environments/{first.pk}/withdraw/" not in html
    tree = web.get(f"/lineages/{seed.lineage.slug}/").content.decode()
    assert tree.count("; withdrawn") == 4, "two of three nodes, each with a label and a title"
    assert tree.count('class="strike"') == 2
    assert web.get(f"/environments/{first.pk}/download/zip/").status_code == 200


def test_a_withdrawal_from_an_old_page_is_refused_with_the_name_of_who_was_first(
    web: Client, bob: User
) -> None:
    seed = factories.seed()
    withdraw(seed, reason="flaky", by=bob)
    response = web.post(f"/environments/{seed.pk}/withdraw/", {"seen": 0, "reason": "hackable"})
    assert response.status_code == 409
    assert "bob withdrew this just now; yours was not stored." in response.content.decode()
    assert Quarantine.objects.count() == 1


def test_a_withdrawal_without_a_reason_holds_nothing_back(web: Client) -> None:
    seed = factories.seed()
    response = web.post(f"/environments/{seed.pk}/withdraw/", {"seen": 0, "reason": " "})
    assert response.status_code == 422 and "Say in a sentence why" in response.content.decode()
    assert not Quarantine.objects.exists()


def test_what_is_held_back_is_freed_from_the_top_with_a_reason(web: Client, ada: User) -> None:
    seed, first = factories.chain(1)
    withdraw(seed, reason="hackable", by=ada)
    above, below = Quarantine.objects.order_by("pk")

    def free(hold: Quarantine, reason: str = "mended") -> Any:
        address = f"/environments/{hold.environment_id}/free/"
        return web.post(address, {"hold": hold.pk, "reason": reason})

    assert "free that one first" in page_of(web, first)
    assert free(below).status_code == 409
    assert free(above, "").status_code == 422
    assert free(above).status_code == 302
    assert free(above).status_code == 409, "twice"
    html = page_of(web, seed)
    assert "freed" in html and "mended" in html and "hackable" in html, "the history keeps both reasons"
    assert Environment.objects.get(pk=first.pk).quarantined
    assert free(below, "looked at").status_code == 302
    assert not Environment.objects.filter(quarantined=True).exists()


@pytest.mark.parametrize("hold", ["", "0", "x", "9" * 30])
def test_a_hold_that_is_not_its_own_is_not_found(web: Client, hold: str) -> None:
    seed = factories.seed()
    response = web.post(f"/environments/{seed.pk}/free/", {"hold": hold, "reason": "x"})
    assert response.status_code == 404


def test_a_voided_failure_says_by_whom_and_why_wherever_it_is_shown(admin: Client) -> None:
    candidate = factories.waiting_candidate()
    audit = factories.audit(candidate.snapshot, outcomes={"rubrics": "failed"})
    type(candidate).objects.filter(pk=candidate.pk).update(audit=audit)
    result = audit.results.get(gate="rubrics")
    environment = factories.environment(
        candidate.attempt.evolution.lineage, generation=5, parent=None, snapshot=candidate.snapshot
    )
    assert f"/gates/{result.pk}/void/" in admin.get(f"/gates/{result.pk}/").content.decode()

    response = admin.post(f"/gates/{result.pk}/void/", {"reason": "the mirror was down"})

    assert response.status_code == 302
    voiding = Voiding.objects.get()
    assert (voiding.gate, voiding.key, voiding.by.username) == ("rubrics", result.key, "grace")
    html = admin.get(f"/gates/{result.pk}/").content.decode()
    assert "the mirror was down" in html and "/void/" not in html
    for address in (f"/candidates/{candidate.pk}/", f"/environments/{environment.pk}/"):
        assert "voided by grace" in admin.get(address).content.decode()
    evolution = candidate.attempt.evolution
    assert "(voided)" in admin.get(f"/evolutions/{evolution.pk}/").content.decode()
    assert "voided by grace" in admin.get(f"/lineages/{evolution.lineage.slug}/").content.decode()


def test_only_a_failure_is_voided_once_and_with_a_reason(admin: Client) -> None:
    audit = factories.audit(factories.snapshot(), outcomes={"rubrics": "failed"})
    failed, passed = audit.results.get(gate="rubrics"), audit.results.get(gate="build")

    assert admin.post(f"/gates/{passed.pk}/void/", {"reason": "x"}).status_code == 409
    assert admin.post(f"/gates/{failed.pk}/void/", {"reason": ""}).status_code == 422
    assert admin.post(f"/gates/{failed.pk}/void/", {"reason": "first"}).status_code == 302
    other = _signed_in(factories.user("other", role="admin"))
    late = other.post(f"/gates/{failed.pk}/void/", {"reason": "second"})
    assert late.status_code == 409 and "grace voided this failure" in late.content.decode()
    assert Voiding.objects.get().reason == "first"


@pytest.mark.parametrize("gate", [gate.name for gate in all_gates().values() if not gate.waivable])
def test_nobody_voids_a_failure_that_always_stands(admin: Client, ada: User, gate: str) -> None:
    failed = factories.audit(factories.snapshot(), outcomes={gate: "failed"}).results.get(gate=gate)
    html = admin.get(f"/gates/{failed.pk}/").content.decode()
    assert "/void/" not in html and "nobody may: the task has to change" in html

    response = admin.post(f"/gates/{failed.pk}/void/", {"reason": "the mirror was down"})

    assert response.status_code == 409
    assert f"no person may void a failure of the {gate} gate" in response.content.decode()
    with pytest.raises(NotWaivable):
        void(failed, reason="the mirror was down", by=ada)
    assert not Voiding.objects.exists()


def test_the_history_of_an_evolution_tells_every_decision_with_its_reason(web: Client, ada: User) -> None:
    review = rejected()
    override(web, review)
    html = web.get(f"/evolutions/{review.subject.attempt.evolution_id}/").content.decode()
    log = html[html.index('id="log-title"') :]
    assert "offline (plan reviewer)" in log and "it cannot be told by a test" in log
    assert "override" in log and "by ada" in log
    assert log.count(WHY) == 1, "the move that followed does not say it again"


def test_what_people_write_is_shown_as_text(web: Client) -> None:
    review = rejected()
    override(web, review, reason="<script>alert(1)</script>")
    for address in (f"/plans/{review.plan_id}/", f"/evolutions/{review.subject.attempt.evolution_id}/"):
        assert "<script>alert(1)" not in web.get(address).content.decode()


def test_a_candidate_that_no_gate_has_looked_at_yet_is_shown_as_that(web: Client) -> None:
    candidate = factories.candidate(
        factories.plan(factories.attempt(factories.evolution(status="verifying"))), audit=None
    )
    for address in (f"/candidates/{candidate.pk}/", f"/evolutions/{candidate.attempt.evolution_id}/"):
        html = web.get(address).content.decode()
        assert "o gate has answered yet" in html


def test_the_reason_of_a_cancel_is_kept_as_any_database_can_store_it(web: Client) -> None:
    evolution = factories.evolution()
    response = web.post(f"/evolutions/{evolution.pk}/cancel/", {"reason": " hack\0able \n"})
    assert response.status_code == 302
    evolution.refresh_from_db()
    assert (evolution.status, evolution.last_reason) == ("cancelled", "hack\ufffdable")
