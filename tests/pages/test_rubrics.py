"""The pages of the rubrics: what is judged, what changed, and a finding that becomes a criterion."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents.rubrics import ENVIRONMENT_RUBRIC, PLAN_RUBRIC, Criterion
from lineages.growth.models import Review
from lineages.library import rubrics
from lineages.library.rubric_rows import RubricVersion
from tests import factories
from tests.pages.conftest import _signed_in

pytestmark = pytest.mark.django_db

POLITE = {
    "key": "polite",
    "title": "Is polite",
    "question": "Is nobody insulted?",
    "origin": "found in words:g1",
    "note": "",
}


def text(response: Any) -> str:
    return " ".join(response.content.decode().split())


def failed_plan(**of: Any) -> Review:
    """A role's rejection, for want of being specific."""
    recipe = factories.recipe(plan_rubric=PLAN_RUBRIC.version)
    plan = factories.plan(factories.attempt(factories.evolution(recipe=recipe)))
    review = factories.review(plan, decision="reject", **of)
    factories.criterion(review, "specific", "fail", explanation="no object")
    factories.criterion(review, "solvable", "pass")
    factories.criterion(review, "effort", "not_applicable")
    return review


def test_both_rubrics_are_listed_with_where_each_criterion_comes_from(web: Client) -> None:
    page = text(web.get("/rubrics/"))

    for rubric in (PLAN_RUBRIC, ENVIRONMENT_RUBRIC):
        for criterion in rubric.criteria:
            assert criterion.question.split(",")[0].replace("'", "&#x27;") in page
            assert f'id="{rubric.name}-{criterion.key}"' in page
    assert "harbor check 0.26: hardcoded_solution" in page


def test_a_criterion_says_how_often_it_failed_and_was_overruled(web: Client, ada: Any) -> None:
    failed_plan()
    review = failed_plan()
    Review.objects.create(
        plan=review.plan, role="person", reviewer="ada", user=ada, decision="approve", supersedes=review
    )

    rows = {row.criterion.key: row.counted for row in web.get("/rubrics/").context["rubrics"][0][1]}

    assert (rows["specific"].judged, rows["specific"].failed, rows["specific"].overruled) == (2, 2, 1)
    assert (rows["solvable"].judged, rows["solvable"].failed, rows["solvable"].overruled) == (2, 0, 0)
    assert rows["effort"].judged == 0, "not applicable is no judgement"


def test_a_version_counts_only_what_was_judged_by_it(web: Client, ada: Any) -> None:
    failed_plan()
    rubrics.add_criterion("plan", Criterion("polite", "Is polite", "Is nobody insulted?"), by=ada)

    failed = [
        {row.criterion.key: row.counted.failed for row in web.get(f"/rubrics/plan/{n}/").context["rows"]}
        for n in (1, 2)
    ]

    assert (failed[0]["specific"], failed[1]["specific"]) == (1, 0)


def test_a_version_shows_what_it_changed(web: Client, ada: Any) -> None:
    rubrics.add_criterion("plan", Criterion("polite", "Is polite", "Is nobody insulted?"), by=ada)
    rubrics.change_criterion("plan", "polite", {"title": "Is kind"}, seen=2, by=ada, note="kinder words")
    rubrics.retire_criterion("plan", "solvable", seen=3, by=ada, note="the gates tell")

    added, changed, retired = (text(web.get(f"/rubrics/plan/{n}/")) for n in (2, 3, 4))

    assert '<span class="change new">new</span> Is polite' in added
    assert '<span class="change changed">changed</span> Is kind' in changed
    assert "Before: “Is polite”" in changed and "kinder words" in changed
    assert '<span class="change removed">retired</span> <span><strong>Can be solved</strong>' in retired
    assert "today&#x27;s" not in added and "past" in added


def test_no_such_rubric_or_version_is_not_found(web: Client) -> None:
    for address in (
        "/rubrics/poem/1/",
        "/rubrics/plan/2/",
        "/rubrics/plan/change/polite/",
        "/rubrics/x/new/",
    ):
        assert web.get(address).status_code == 404, address


def test_a_reviewer_adds_a_criterion(web: Client, ada: Any) -> None:
    response = web.post("/rubrics/environment/new/", POLITE, follow=True)

    assert response.redirect_chain == [("/rubrics/environment/2/", 302)]
    assert "Added to the environment rubric: Is polite." in text(response)
    row = rubrics.newest("environment")
    assert (row.ordinal, row.by, row.criteria.last().key) == (2, ada, "polite")


@pytest.mark.parametrize("wrong", [{"key": "Not so"}, {"key": "described"}, {"title": " "}, {"question": ""}])
def test_what_makes_no_criterion_is_said_and_not_stored(web: Client, wrong: dict[str, str]) -> None:
    response = web.post("/rubrics/environment/new/", {**POLITE, **wrong})

    assert response.status_code == 422
    assert 'class="wrong"' in text(response)
    assert rubrics.newest("environment").ordinal == 1


def test_a_persons_review_leads_to_a_form_with_the_finding_in_it(web: Client, ada: Any) -> None:
    review = failed_plan()
    mine = Review.objects.create(
        plan=review.plan,
        role="person",
        reviewer="ada",
        user=ada,
        decision="reject",
        comment="It asks for <b>nothing</b>.",
        supersedes=review,
    )
    address = f"/rubrics/plan/new/?found_in={mine.pk}"
    assert f'href="{address}"' in text(web.get(f"/plans/{review.plan_id}/"))

    form = web.get(address)
    web.post(address, {**POLITE, "found_in": mine.pk})

    assert "It asks for &lt;b&gt;nothing&lt;/b&gt;." in text(form)
    assert form.context["form"].initial["origin"].startswith("found by ada in a plan of ")
    assert rubrics.newest("plan").criteria.get(key="polite").found_in == mine


def test_a_review_of_the_other_kind_is_not_taken_for_where_it_was_found(web: Client) -> None:
    review = failed_plan()

    web.post("/rubrics/environment/new/", {**POLITE, "found_in": review.pk})

    assert rubrics.newest("environment").criteria.get(key="polite").found_in is None


def test_an_environment_leads_to_the_form_with_its_last_review(web: Client) -> None:
    child = factories.chain(1)[-1]
    candidate = factories.Candidate.objects.get(attempt__evolution__child=child)
    review = factories.review(candidate)
    address = f"/rubrics/environment/new/?environment={child.pk}"
    assert f'href="{address}"' in text(web.get(f"/environments/{child.pk}/"))

    assert web.get(address).context["form"].initial["found_in"] == review.pk


def test_a_viewer_reads_and_is_offered_nothing_to_change(db: None) -> None:
    viewer = _signed_in(factories.user("vera", role="viewer"))

    page = text(viewer.get("/rubrics/"))

    assert "Can be solved" in page
    assert "/new/" not in page and "/change/" not in page
    assert viewer.post("/rubrics/plan/new/", POLITE).status_code == 403
    assert rubrics.newest("plan").ordinal == 1


def test_a_change_needs_a_reason_and_the_version_that_was_seen(web: Client, ada: Any) -> None:
    address = "/rubrics/plan/change/specific/"
    wording = {"title": "Exact", "question": "Is it exact?", "seen": 1}

    assert web.post(address, wording).status_code == 422
    rubrics.add_criterion("plan", Criterion("polite", "Is polite", "Is nobody insulted?"), by=ada)
    stale = web.post(address, {**wording, "reason": "shorter"})
    assert (stale.status_code, "at version 2 by now" in text(stale)) == (409, True)
    assert rubrics.newest("plan").ordinal == 2

    web.post(address, {**wording, "reason": "shorter", "seen": 2})
    row = rubrics.newest("plan")
    assert (row.ordinal, row.note, row.criteria.get(key="specific").title) == (3, "shorter", "Exact")


def test_a_criterion_is_retired_with_a_reason(web: Client) -> None:
    address = "/rubrics/plan/retire/specific/"

    assert web.get(address).url == "/rubrics/plan/change/specific/"
    assert web.post(address, {"seen": 1, "reason": " "}).status_code == 422
    assert web.post(address, {"seen": 9, "reason": "why not"}).status_code == 409
    assert web.post(address, {"seen": 1, "reason": "it says nothing"}).status_code == 302

    row = RubricVersion.objects.filter(name="plan")[0]
    assert (row.ordinal, row.note) == (2, "it says nothing")
    assert not row.criteria.filter(key="specific").exists()
