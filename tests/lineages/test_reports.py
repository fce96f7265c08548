"""What a campaign's report says of its lineages."""

from __future__ import annotations

import json

import pytest
from django.core.management import call_command

from agents.plan import PlanDraft
from agents.roles import Brief, NothingToPropose
from agents.scripted import ACCEPT, REJECT, Script, insert_one
from lineages.growth import campaigns, loops
from lineages.growth.campaigns import Limits
from lineages.growth.evolving import RecipeSettings
from lineages.growth.models import Campaign
from lineages.library.models import Environment
from lineages.reports.yields import REACHED, grown

pytestmark = pytest.mark.django_db(transaction=True)


def driven(seed: Environment, generations: int) -> Campaign:
    campaign = campaigns.create(
        "soak",
        [seed],
        RecipeSettings(author="scripted", profile="paper", directions=("length",)),
        generations=generations,
        parallel=1,
        limits=Limits(),
    )
    campaigns.turn(campaign)
    loops.drive(campaign.evolutions.get(), tell=lambda _: None)
    return campaign


def test_a_lineage_is_told_with_what_it_reached_and_what_that_took(script: Script, seed: Environment) -> None:
    judged: list[PlanDraft] = []

    def review(brief: Brief, plan: PlanDraft) -> object:
        judged.append(plan)
        return REJECT if len(judged) == 1 else ACCEPT

    script.review = review  # type: ignore[assignment]
    (row,) = grown(driven(seed, 2))

    assert (row.lineage, row.effort, row.generations, row.end) == ("words", "high", 2, REACHED)
    assert (row.attempts, row.repairs, dict(row.rejected)) == (2, 0, {"scripted": 1})
    assert row.after.lines > row.before.lines and row.after.words > row.before.words
    assert row.after.difficulty.length == row.before.difficulty.length + 2
    assert row.after.difficulty.total > row.before.difficulty.total


def test_where_a_lineage_ends_early_the_report_says_why(
    script: Script, seed: Environment, capsys: pytest.CaptureFixture[str]
) -> None:
    def propose(brief: Brief) -> PlanDraft:
        if brief.generation > 1:
            raise NothingToPropose("no object is left")
        return insert_one(brief)

    script.propose = propose
    campaign = driven(seed, 3)
    (row,) = grown(campaign)
    assert row.generations == 1
    assert row.end == "exhausted at generation 2 (length: no plan left (no object is left))"

    call_command("report", "soak")
    text = capsys.readouterr().out
    assert "| words | high | 1 |" in text
    assert "- words, high: exhausted at generation 2" in text

    call_command("report", "soak", "--json")
    assert json.loads(capsys.readouterr().out)["lineages"][0]["after"]["words"] == row.after.words


def test_what_was_never_begun_is_told_too(seed: Environment, capsys: pytest.CaptureFixture[str]) -> None:
    campaigns.create(
        "soak",
        [seed],
        RecipeSettings(author="scripted", profile="paper"),
        generations=1,
        parallel=1,
        limits=Limits(),
    )

    call_command("report", "soak")
    assert "- words/g0: not started (its turn has not come)" in capsys.readouterr().out

    call_command("report", "soak", "--json")
    told = json.loads(capsys.readouterr().out)
    assert told["lineages"] == []
    assert told["not_started"] == [{"environment": "words/g0", "why": "its turn has not come"}]


def test_a_report_on_no_campaign_is_refused_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        call_command("report", "nowhere")
    assert left.value.code == 2
    assert "there is no campaign 'nowhere'" in capsys.readouterr().err
