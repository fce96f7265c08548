"""What the page of a plan says of the sequence that its proposer read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from lineages.growth.models import Plan
from lineages.library import blobs
from tests import factories

SAID = "The model read 2 steps, "


def proposal(*tools: str) -> str:
    observed = [{"scenario": f"<b>{tool}", "skill": "reads", "tool": tool} for tool in tools]
    return json.dumps({"observed": observed, "edits": [], "summary": "s", "rationale": "r", "nothing": ""})


def answered(plan: Plan, said: str, *, provider: str = "anthropic", **fields: Any) -> Any:
    subject = f"{plan.attempt.direction} round {plan.round}"
    talk = factories.conversation(plan.attempt, **{"subject": subject, **fields})
    return factories.model_call(talk, said=said, provider=provider)


def page_of(plan: Plan, web: Client) -> str:
    return " ".join(web.get(f"/plans/{plan.pk}/").content.decode().split())


def test_the_page_of_a_models_plan_says_how_far_its_reading_agrees_with_the_record(web: Client) -> None:
    plan = factories.waiting_plan()
    known = plan.draft.before.pairs
    answered(plan, "no proposal yet")
    answered(plan, f"Here it is: {proposal(known[0].tool, 'no-such-tool')}")
    answered(plan, proposal("x"), subject=f"{plan.attempt.direction} round {plan.round + 1}")
    answered(plan, proposal("x"), role="plan_reviewer")

    html = page_of(plan, web)

    verb = "is" if len(known) == 1 else "are"
    assert (
        f"{SAID}{len(known)} {verb} recorded; 1 has the same tool in the same order "
        "(read with the recorded sequence in view)."
    ) in html
    assert "<summary>What opus read</summary>" in html and "<code>no-such-tool</code>" in html
    assert "&lt;b&gt;no-such-tool" in html and "<b>no-such-tool" not in html


@pytest.mark.parametrize("what", ["nobody", "a person", "no proposal", "another round", "lost", "swept"])
def test_nothing_is_said_where_no_reading_of_a_model_is_stored(what: str, web: Client) -> None:
    plan = factories.waiting_plan()
    if what == "a person":
        answered(plan, proposal("cat", "sort"), model="ada", provider="manual")
    elif what == "no proposal":
        answered(plan, "I would rather not.")
    elif what == "another round":
        answered(plan, proposal("cat", "sort"), subject=f"{plan.attempt.direction} round 7")
    elif what == "lost":
        blobs.remove(answered(plan, proposal("cat", "sort")).received_body_id)
    elif what == "swept":
        call = answered(plan, proposal("cat", "sort"))
        type(call).objects.filter(pk=call.pk).update(received_body=None)

    html = page_of(plan, web)

    assert "Sequence, before and after" in html and "The model read" not in html
