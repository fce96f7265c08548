"""Every page in Chromium: axe finds nothing, nothing sticks out, and a poll takes no focus away."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from lineages.growth import campaigns
from lineages.growth.campaigns import Limits
from lineages.growth.evolving import RecipeSettings
from lineages.growth.models import Attempt, Evolution
from lineages.library.calls import ModelPause
from lineages.library.models import Audit, GateFinding
from tests import factories, talks

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser, pytest.mark.timeout(300)]

SCREENS = {"wide and light": (1280, "light"), "narrow and dark": (400, "dark")}


def found(audit: Audit) -> None:
    """Findings of the worst shapes, and runs of which some failed."""
    audit.results.filter(gate="oracle").update(runs=5, runs_passed=3, graded_again=True, weaker=True)
    long = [("a/" * 300 + "b", "A" * 900, "echo " + "x" * 900), ("instruction.md", "names a test", "")]
    result = audit.results.get(gate="static")
    for position, (path, text, repair) in enumerate(long):
        GateFinding.objects.create(
            result=result,
            position=position,
            path=path,
            text=text,
            line=1,
            repair=repair,
            warning=bool(position),
        )


def asked_of_models(attempt: Attempt) -> list[str]:
    """What models cost and said, and questions that wait for a person."""
    talk = talks.built(attempt, first="x" * 900)
    talks.request(attempt, None, outcome="sent", billed=None)
    ModelPause.objects.create(model="gone", reason="r" * 200)
    review = talks.asked(talks.review_question(), attempt, role="plan_reviewer")
    questions = [review, talks.asked(talks.proposal_question()), talks.asked(talks.build_question())]
    call = talk.calls.first()
    assert call
    pages = ["/costs/", "/models/", "/answers/", f"/calls/{call.pk}/"]
    return [*pages, f"/conversations/{talk.pk}/", *(f"/calls/{each.pk}/answer/" for each in questions)]


@pytest.fixture
def addresses() -> list[str]:
    """Every page, each with something on it."""
    grown = factories.chain(2)
    plan, candidate = factories.waiting_plan(grown[-1]), factories.waiting_candidate(grown[0])
    factories.evolution(status=Evolution.Status.FAILED, failed_in="building", fault="no engine answers")
    spent = factories.evolution(status=Evolution.Status.EXHAUSTED)
    factories.attempt(spent, outcome="no_plan", reason="every pair is taken")
    audit = factories.audit(candidate.snapshot, outcomes={"oracle": "failed", "build": "error"})
    type(candidate).objects.filter(pk=candidate.pk).update(audit=audit)
    result = audit.results.get(gate="oracle")
    found(factories.audit(grown[1].snapshot, outcomes={"static": "failed"}, parent=grown[0].snapshot))
    found(audit)
    static = grown[1].snapshot.audits.last().results.get(gate="static")
    run = factories.command(result, stdout=b"three\n", stderr=b"no such file\n", exit_code=2)
    call = factories.call(candidate.attempt, error="nothing is left to propose")
    type(run).objects.create(
        call=call,
        position=0,
        command="command -v awk",
        exit_code=0,
        stdout_id=run.stdout_id,
        stderr_id=run.stderr_id,
        started_at=run.started_at,
        seconds=0.1,
    )
    environment = f"/environments/{grown[1].pk}/"
    campaign = campaigns.create(
        "n" * 80, [grown[0]], RecipeSettings(), generations=1, parallel=1, limits=Limits(hours=1)
    )
    return [
        "/",
        "/lineages/",
        "/lineages/?q=nothing+like+it",
        f"/lineages/{grown[0].lineage.slug}/",
        environment,
        f"{environment}gates/",
        f"{environment}requirements/",
        f"/gates/{static.pk}/",
        "/gates/",
        f"{environment}files/",
        f"{environment}evolve/",
        f"/gates/{result.pk}/",
        f"/calls/{call.pk}/",
        f"/plans/{plan.pk}/",
        f"/candidates/{candidate.pk}/",
        f"/evolutions/{candidate.attempt.evolution_id}/",
        f"/evolutions/{spent.pk}/",
        "/account/",
        "/campaigns/",
        "/campaigns/new/",
        f"/campaigns/{campaign.pk}/",
        *asked_of_models(candidate.attempt),
    ]


@pytest.mark.parametrize("screen", SCREENS)
def test_axe_finds_nothing_on_any_page_and_none_is_wider_than_its_screen(
    signed_in: Page, live_server: Any, addresses: list[str], screen: str
) -> None:
    width, scheme = SCREENS[screen]
    signed_in.set_viewport_size({"width": width, "height": 900})
    signed_in.emulate_media(color_scheme=scheme)
    for address in addresses:
        signed_in.goto(live_server.url + address)
        found = Axe().run(signed_in)
        assert found.violations_count == 0, f"{address}\n{found.generate_report()}"
        assert signed_in.evaluate("document.documentElement.scrollWidth") <= width, address


def test_the_login_and_what_is_not_there_are_clean_too(page: Page, live_server: Any) -> None:
    for address in ("/login/", "/login/nope/"):
        page.goto(live_server.url + address)
        found = Axe().run(page)
        assert found.violations_count == 0, f"{address}\n{found.generate_report()}"


def test_a_poll_leaves_the_focus_where_it_is_and_says_what_is_new(signed_in: Page, live_server: Any) -> None:
    candidate = factories.waiting_candidate()
    evolution = candidate.attempt.evolution
    factories.call(candidate.attempt)
    signed_in.goto(f"{live_server.url}/evolutions/{evolution.pk}/")
    signed_in.evaluate("window.region = document.getElementById('live')")
    gate = signed_in.locator(f"#gate-{candidate.pk}-{candidate.audit.results.first().pk}")
    gate.focus()
    Evolution.objects.filter(pk=evolution.pk).update(status="verifying", version=evolution.version + 1)
    expect(signed_in.get_by_role("status")).to_contain_text("verifying")
    expect(gate).to_be_focused()
    assert signed_in.evaluate("window.region === document.getElementById('live')")


def test_the_live_region_says_the_same_words_only_once(signed_in: Page, live_server: Any) -> None:
    evolution = factories.evolution(status=Evolution.Status.VERIFYING)
    signed_in.goto(f"{live_server.url}/evolutions/{evolution.pk}/")
    signed_in.evaluate(
        """window.said = [];
        new MutationObserver(() => window.said.push(document.getElementById('live').textContent.trim()))
          .observe(document.getElementById('live'), {childList: true})"""
    )
    for n in range(2):
        factories.attempt(evolution)
        expect(signed_in.get_by_text(f"Attempt {n + 1}:")).to_be_visible()
    assert len(signed_in.evaluate("window.said")) == 1


def test_a_decision_is_read_out(signed_in: Page, live_server: Any) -> None:
    plan = factories.waiting_plan()
    signed_in.goto(f"{live_server.url}/plans/{plan.pk}/")
    signed_in.get_by_role("button", name="Approve").click()
    expect(signed_in.get_by_role("status")).to_have_text("Stored: approved by you.")
    expect(signed_in.get_by_role("button", name="Approve")).to_have_count(0)


def test_a_finding_leads_to_its_line_and_its_repair_can_be_copied(signed_in: Page, live_server: Any) -> None:
    seed = factories.seed()
    audit = factories.audit(seed.snapshot, outcomes={"static": "failed"})
    found(audit)
    result = audit.results.get(gate="static")
    signed_in.context.grant_permissions(["clipboard-read", "clipboard-write"])
    signed_in.goto(f"{live_server.url}/gates/{result.pk}/")
    signed_in.get_by_role("button", name="Copy").click()
    expect(signed_in.get_by_role("button", name="Copied")).to_be_visible()
    assert signed_in.evaluate("navigator.clipboard.readText()") == "echo " + "x" * 900
    signed_in.get_by_role("link", name="instruction.md:1").click()
    expect(signed_in.locator(".row:target")).to_contain_text("# Count the words")


def test_a_page_says_by_itself_whether_its_evidence_is_of_today(signed_in: Page, live_server: Any) -> None:
    seed = factories.seed()
    factories.audit(seed.snapshot)
    signed_in.goto(f"{live_server.url}/environments/{seed.pk}/")
    expect(signed_in.locator("#requirements")).to_contain_text("It stays accepted")
