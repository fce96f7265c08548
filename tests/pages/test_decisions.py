"""People decide on plans and candidates: one row, one move, and a sentence for whoever came second."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from lineages.growth.models import Attempt, Candidate, Evolution, Plan, Review
from lineages.library.models import Environment
from lineages.lifecycle import Move
from lineages.templatetags import pages
from tests import factories

Subject = Plan | Candidate


@pytest.fixture(params=["plan", "candidate"])
def subject(request: pytest.FixtureRequest, db: Any) -> Subject:
    return factories.waiting_plan() if request.param == "plan" else factories.waiting_candidate()


def url(subject: Subject, decision: str = "") -> str:
    kind = "plan" if isinstance(subject, Plan) else "candidate"
    return (
        reverse(f"{kind}_decide", args=[subject.pk, decision])
        if decision
        else reverse(f"{kind}_detail", args=[subject.pk])
    )


def version(subject: Subject) -> int:
    return Evolution.objects.get(pk=subject.attempt.evolution_id).version


def decide(client: Client, subject: Subject, decision: str, at: int | None = None, comment: str = "") -> Any:
    at = version(subject) if at is None else at
    return client.post(url(subject, decision), {"version": at, "comment": comment})


def people(subject: Subject) -> list[tuple[str, str]]:
    return list(subject.reviews.filter(role="person").values_list("reviewer", "decision"))


def status(subject: Subject) -> str:
    return Evolution.objects.get(pk=subject.attempt.evolution_id).status


def test_a_plan_shows_what_a_reviewer_needs(web: Client) -> None:
    plan = factories.waiting_plan(wish="Keep the name.")
    html = web.get(url(plan)).content.decode()
    for expected in (
        "The text arrives in shuffled parts",
        "records split over shuffled parts",
        "plain text file",
        "have to be put in order",
        "one lever",
        "put in order by their manifest",
        "Keep the name.",
        'name="version" value="2"',
    ):
        assert expected in html


def test_a_candidate_shows_its_difference_from_the_parent(web: Client) -> None:
    parent = factories.seed(snapshot=factories.snapshot({"tests/test.sh": "old\n"}))
    made = factories.snapshot({"tests/test.sh": "new <b>\n", "environment/a.bin": b"\0\1"})
    html = web.get(url(factories.waiting_candidate(parent, snapshot=made))).content.decode()
    assert "-old" in html and "+new &lt;b&gt;" in html and "Binary:" in html
    assert "solution/steps/49-join" in html and "tests/units/01-restored" in html


def test_approving_a_plan_stores_one_review_and_lets_it_be_built(htmx: Client) -> None:
    plan = factories.waiting_plan()
    response = decide(htmx, plan, "approve")
    assert response.status_code == 200 and "Stored: approved by you" in response.content.decode()
    assert people(plan) == [("ada", "approve")]
    assert status(plan) == "building"
    assert Move.objects.get().by.username == "ada"


def test_approving_a_candidate_makes_the_environment(htmx: Client) -> None:
    candidate = factories.waiting_candidate()
    assert decide(htmx, candidate, "approve").status_code == 200
    child = Environment.objects.get(generation=1)
    assert child.snapshot == candidate.snapshot and status(candidate) == "accepted"


def test_without_htmx_a_decision_leads_back_to_the_page(web: Client, subject: Subject) -> None:
    response = decide(web, subject, "approve")
    assert response.status_code == 302 and response["Location"] == url(subject)
    assert people(subject) == [("ada", "approve")]
    assert "Stored: approved by you" in web.get(url(subject)).content.decode()


@pytest.mark.parametrize("decision", ["reject", "changes"])
@pytest.mark.parametrize("comment", ["", "   \n"])
def test_rejecting_and_asking_for_changes_need_a_reason(
    htmx: Client, subject: Subject, decision: str, comment: str
) -> None:
    before = status(subject)
    response = decide(htmx, subject, decision, comment=comment)
    html = response.content.decode()
    assert response.status_code == 422 and "Say in a sentence why" in html
    assert re.search(r"<textarea[^>]*\sautofocus", html), "the keyboard goes on where the reason is missing"
    assert people(subject) == [] and status(subject) == before and not Move.objects.exists()


def test_a_reason_that_was_refused_keeps_what_was_typed(htmx: Client, subject: Subject) -> None:
    long = "x" * 4001
    response = decide(htmx, subject, "reject", comment=long)
    assert response.status_code == 422 and long in response.content.decode()


def test_rejecting_closes_the_attempt(htmx: Client, subject: Subject) -> None:
    assert decide(htmx, subject, "reject", comment="No test can tell.").status_code == 200
    attempt = Attempt.objects.get(pk=subject.attempt_id)
    assert (attempt.outcome, attempt.reason) == ("rejected", "No test can tell.")
    assert people(subject) == [("ada", "reject")]


def test_asking_for_changes_keeps_the_attempt_open(htmx: Client, subject: Subject) -> None:
    assert decide(htmx, subject, "changes", comment="Keep the name.").status_code == 200
    assert Attempt.objects.get(pk=subject.attempt_id).outcome == "open"
    assert status(subject) in {"drafting", "repairing"}


def test_the_same_decision_again_by_the_same_person_is_told_and_not_stored(
    htmx: Client, subject: Subject
) -> None:
    drawn = version(subject)
    decide(htmx, subject, "approve", drawn)
    again = decide(htmx, subject, "approve", drawn)
    assert again.status_code == 200 and "Already approved by you" in again.content.decode()
    assert len(people(subject)) == 1


def test_the_second_of_two_people_is_told_who_decided(
    htmx: Client, bobs_htmx: Client, subject: Subject
) -> None:
    drawn = version(subject)
    decide(htmx, subject, "approve", drawn)
    late = decide(bobs_htmx, subject, "reject", drawn, comment="No.")
    html = late.content.decode()
    assert late.status_code == 409
    assert "ada approved this just now; your decision was not stored." in html
    assert 'id="detail"' in html and "<html" not in html
    assert people(subject) == [("ada", "approve")]


def test_a_stale_decision_is_a_conflict_before_its_form_is_judged(htmx: Client, subject: Subject) -> None:
    response = decide(htmx, subject, "reject", version(subject) - 1)
    assert response.status_code == 409 and people(subject) == []


def test_a_change_of_mind_after_deciding_is_a_conflict_that_says_so(htmx: Client, subject: Subject) -> None:
    drawn = version(subject)
    decide(htmx, subject, "approve", drawn)
    response = decide(htmx, subject, "reject", drawn, comment="Wait, no.")
    assert response.status_code == 409 and "You approved this" in response.content.decode()


@pytest.mark.parametrize("sent", ["", "x", "-1", "99", "²"])
def test_a_version_that_was_never_drawn_is_stale(htmx: Client, subject: Subject, sent: str) -> None:
    response = htmx.post(url(subject, "approve"), {"version": sent})
    assert response.status_code == 409 and people(subject) == []


def test_an_evolution_that_ended_meanwhile_is_named_with_who_ended_it(
    htmx: Client, bob: Any, subject: Subject
) -> None:
    evolution = subject.attempt.evolution
    drawn = evolution.version
    Evolution.objects.filter(pk=evolution.pk).update(status="cancelled", version=drawn + 1)
    factories.moved(evolution, evolution.status, "cancelled", by=bob)
    response = decide(htmx, subject, "approve", drawn)
    assert response.status_code == 409
    assert "the evolution is now “cancelled” by bob" in response.content.decode()


def test_an_older_round_shows_no_buttons_and_takes_no_decision(htmx: Client) -> None:
    plan = factories.waiting_plan()
    factories.plan(plan.attempt)
    assert "<textarea" not in htmx.get(url(plan)).content.decode()
    assert decide(htmx, plan, "approve").status_code == 409
    assert people(plan) == []


@pytest.mark.parametrize("decision", ["approve", "reject", "changes"])
def test_looking_never_decides(web: Client, subject: Subject, decision: str) -> None:
    before = status(subject)
    response = web.get(url(subject, decision))
    assert response.status_code == 302 and response["Location"] == url(subject)
    assert web.get(url(subject)).status_code == 200
    assert people(subject) == [] and status(subject) == before


def test_a_word_that_is_no_decision_has_no_address(web: Client) -> None:
    plan = factories.waiting_plan()
    assert web.post(url(plan) + "destroy/", {"version": 2}).status_code == 404


def test_every_button_is_a_real_form_beside_htmx(web: Client, subject: Subject) -> None:
    html = web.get(url(subject)).content.decode()
    assert f'<form method="post" action="{url(subject, "approve")}"' in html
    for decision in ("changes", "reject"):
        assert (
            f'formaction="{url(subject, decision)}"' in html and f'hx-post="{url(subject, decision)}"' in html
        )


def test_the_next_plan_that_waits_is_one_key_away(web: Client) -> None:
    first, second = factories.waiting_plan(), factories.waiting_plan()
    assert f'href="{url(second)}" data-key="n"' in web.get(url(first)).content.decode()
    assert f'href="{url(first)}" data-key="n"' in web.get(url(second)).content.decode()


def test_a_paused_evolution_is_named_before_and_after_the_decision(
    web: Client, htmx: Client, subject: Subject
) -> None:
    evolution = subject.attempt.evolution
    Evolution.objects.filter(pk=evolution.pk).update(paused_at=timezone.now())
    page = reverse("evolution_detail", args=[evolution.pk])
    paused = pages.badge("paused")
    before = web.get(url(subject)).content.decode()
    assert paused in before and f'href="{page}">resume the evolution</a>' in before
    assert paused in web.get("/").content.decode()
    after = decide(htmx, subject, "changes", comment="Keep the name.").content.decode()
    assert "Stored: asked for changes by you." in after
    assert "It is paused:" in after and f'href="{page}">resume it</a> to go on' in after


def test_what_runs_or_has_ended_is_not_called_paused(web: Client, subject: Subject) -> None:
    assert "paused" not in web.get(url(subject)).content.decode()
    ended = {"status": "cancelled", "paused_at": timezone.now()}
    Evolution.objects.filter(pk=subject.attempt.evolution_id).update(**ended)
    assert "paused" not in web.get(url(subject)).content.decode()


def test_a_decision_is_read_out_by_the_region_that_stays(htmx: Client, subject: Subject) -> None:
    html = decide(htmx, subject, "approve").content.decode()
    assert '<p hx-swap-oob="innerHTML:#live">Stored: approved by you.</p>' in html
    assert 'role="status"' not in html


HIDDEN = "ignore\U000e0041\u3164this\u2028"
WRITTEN_OUT = "ignore⟨U+E0041⟩⟨U+3164⟩this⟨U+2028⟩"


def test_nothing_that_an_author_wrote_hides_on_a_page(web: Client, subject: Subject) -> None:
    said = factories.review(subject, role="other", comment=HIDDEN, reviewer=HIDDEN)
    factories.criterion(said, HIDDEN, explanation=HIDDEN, quote=HIDDEN)
    type(subject).objects.filter(pk=subject.pk).update(wish=HIDDEN)
    plan = subject if isinstance(subject, Plan) else subject.plan
    plan.draft_json.update(summary=HIDDEN, rationale=HIDDEN)
    plan.save()
    subject.attempt.reason = HIDDEN
    subject.attempt.save()
    factories.candidate(plan, notes=HIDDEN).bindings.update(requirement=HIDDEN, solution_block=HIDDEN)
    evolution = subject.attempt.evolution
    factories.moved(evolution, "drafting", "plan_review", reason=HIDDEN)
    factories.call(subject.attempt, error=HIDDEN)
    slug = evolution.lineage.slug
    for address in (url(subject), f"/evolutions/{evolution.pk}/", f"/lineages/{slug}/", "/"):
        html = web.get(address).content.decode()
        assert not set(HIDDEN[6:8] + HIDDEN[-1]) & set(html), address
        assert WRITTEN_OUT in html, address


def test_a_hostile_reason_and_quote_are_text(web: Client, ada: Any) -> None:
    plan = factories.waiting_plan()
    said = factories.review(
        plan, user=ada, decision=Review.Decision.CHANGES, comment="<script>alert(1)</script>"
    )
    factories.criterion(said, "x", quote='"><img src=x onerror=alert(1)>')
    html = web.get(url(plan)).content.decode()
    assert "<script>alert" not in html and "<img" not in html


@pytest.mark.parametrize("rounds", [1, 12])
def test_a_plan_takes_as_many_queries_however_often_it_was_reviewed(
    web: Client, django_assert_max_num_queries, rounds: int
) -> None:
    plan = factories.waiting_plan()
    for number in range(rounds):
        factories.review(plan, role=f"reviewer-{number}")
    with django_assert_max_num_queries(17):
        web.get(url(plan))


def test_a_plan_whose_attempt_is_closed_offers_no_decision_while_another_waits(web: Client) -> None:
    closed = factories.waiting_plan()
    evolution = closed.attempt.evolution
    Attempt.objects.filter(pk=closed.attempt.pk).update(outcome=Attempt.Outcome.REJECTED)
    waiting = factories.plan(factories.attempt(evolution, direction="length"))

    text = web.get(reverse("plan_detail", args=[closed.pk])).content.decode()
    assert "Approve <kbd>" not in text and "waits with another one" in " ".join(text.split())
    assert "Approve <kbd>" in web.get(reverse("plan_detail", args=[waiting.pk])).content.decode()
