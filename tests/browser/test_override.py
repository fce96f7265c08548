"""A person overrules a reviewer in the browser, with a real worker, and withdraws what came of it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from lineages.growth.evolving import RecipeSettings, start
from lineages.growth.models import Evolution
from lineages.library.models import Environment
from lineages.library.snapshots import store
from tests import factories
from tests.tasks import words
from tests.workers import until, worker

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.redis,
    pytest.mark.timeout(300),
]

SLOW = 90_000
WHY = "The reviewer misread the second pair."


def test_an_overridden_plan_is_built_in_a_new_evolution_and_its_lineage_can_be_withdrawn(
    signed_in: Page, live_server: Any
) -> None:
    page = signed_in
    seed = factories.seed(factories.lineage("words"), snapshot=store(words()))
    picky = RecipeSettings(author="scripted-picky", directions=("length",), plan_rounds=1)
    old = start(seed, picky)
    with worker():
        until(lambda: Evolution.objects.get(pk=old.pk).status == "exhausted", "the rejection", every=0.3)
        child = overrides_the_rejection(page, live_server.url, old)
        waiting = start(child, RecipeSettings(author="scripted", directions=("length",), approval="plans"))
        plan_waits = Evolution.objects.filter(pk=waiting.pk, status="plan_approval")
        until(plan_waits.exists, "a plan for generation 2", every=0.3)

    page.goto(f"{live_server.url}/environments/{seed.pk}/")
    page.get_by_text("Withdraw words/g0 and everything below it").click()
    page.get_by_label("Reason").fill("Its reward can be had without solving it.")
    page.get_by_role("button", name="Withdraw it").click()
    expect(page.get_by_role("status").first).to_contain_text("1 environment below it")
    expect(page.locator("#hold-1, [id^=hold-]").first).to_contain_text("by ada")

    page.get_by_role("link", name="words", exact=True).click()
    tree = page.get_by_role("group", name=re.compile("^Tree of environments"))
    for reference in ("words.g0", "words.g1"):  # a slash would end the selector
        expect(tree.get_by_role("link", name=re.compile(f"^{reference};.*withdrawn$"))).to_be_visible()
    expect(tree.get_by_role("link", name=re.compile("^evolution"))).to_have_count(0)
    assert set(Environment.objects.filter(quarantined=True)) == {seed, child}
    waiting.refresh_from_db()
    assert (waiting.status, waiting.last_reason) == ("cancelled", "words/g0 was withdrawn")


def overrides_the_rejection(page: Page, site: str, old: Evolution) -> Environment:
    """From the evolution that ended over it; returns the environment that the overridden plan became."""
    page.goto(f"{site}/evolutions/{old.pk}/")
    page.get_by_role("link", name="Plan, round 1").click()
    page.get_by_text("Override", exact=True).click()
    expect(
        page.get_by_text("A new evolution starts from the same parent and builds this plan")
    ).to_be_visible()
    page.get_by_role("button", name="Override this rejection").click()
    expect(page.get_by_label("Reason")).to_be_focused()
    page.get_by_label("Reason").fill(WHY)
    page.get_by_role("button", name="Override this rejection").click()
    expect(page.get_by_role("status")).to_contain_text("starts at this plan")
    expect(page.get_by_role("link", name="by ada")).to_be_visible()

    page.get_by_role("link", name=re.compile("^Follow evolution")).click()
    expect(page.get_by_text("Begun by an override")).to_be_visible()
    expect(page.get_by_text(WHY).first).to_be_visible()
    page.get_by_role("link", name="Open words/g1").click(timeout=SLOW)
    expect(page.get_by_role("heading", name="words/g1")).to_be_visible()
    new = Evolution.objects.get(origin__supersedes__plan__attempt__evolution=old)
    assert new.child is not None
    assert list(new.history().values_list("to_status", flat=True)) == ["verifying", "accepted"]
    assert new.attempts.get().plans.get().reviews.count() == 0, "no model was asked about it again"
    old.refresh_from_db()
    assert old.status == "exhausted"
    return new.child
