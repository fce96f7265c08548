"""The page of cost and yield: its sums are the ledger's, and what is unknown is never nothing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents.casting import Cast
from agents.models import MANUAL, Role
from lineages.growth import spending
from lineages.growth.models import Attempt, Campaign, Evolution
from lineages.library.calls import AgentCall
from lineages.library.money import Money
from lineages.reports import costs
from lineages.reports.costs import Part
from lineages.templatetags.money import whole
from tests import factories
from tests.talks import request

pytestmark = pytest.mark.django_db

CAST = Cast(dict.fromkeys(Role, "opus")).text


@pytest.fixture
def ledger(db: None) -> list[Attempt]:
    """Three attempts of two lineages, with every kind of row."""
    asked = factories.recipe(author="opus", cast=CAST)
    seed = factories.seed(factories.lineage("won"))
    won = factories.accepted(factories.evolution(seed, recipe=asked)).attempts.get()
    lost = factories.evolution(factories.seed(factories.lineage("lost")))
    tries = [
        factories.attempt(lost, direction="skill", outcome="plans_spent"),
        factories.attempt(lost, direction="length"),
    ]
    request(won, "0.500001")
    request(won, "0.25", "gpt", role="plan_reviewer")
    request(won, None, "gpt", role="plan_reviewer", billed=None)
    request(tries[0], "0.1", role="modifier")
    request(tries[0], None, outcome="sent", billed=None, reserved=Decimal("0.7"))
    request(tries[1], None, outcome="not_taken", billed=False, input_tokens=None, output_tokens=None)
    request(tries[1], None, "manual", provider="manual", outcome="sent", billed=None)
    factories.call(won)
    audit = won.candidates.get().audit
    request(None, "0.04", "gpt", role="rubric_verifier", audit=audit, lineage=won.evolution.lineage)
    return [won, *tries]


def counted(rows: list[AgentCall]) -> Money:
    """The ledger, added up in Python."""
    asked = [row for row in rows if row.provider not in ("", "manual")]
    sent = [row for row in asked if row.outcome == "sent"]
    return Money(
        requests=len(asked),
        cost=sum((row.cost for row in asked if row.cost is not None), Decimal(0)),
        unknown=len([r for r in asked if r.cost is None and r.billed is not False and r.outcome != "sent"]),
        sent=len(sent),
        reserved=sum((row.reserved or Decimal(0) for row in sent), Decimal(0)),
        boundless=len([row for row in sent if row.reserved is None]),
        unpriced=len(rows) - len(asked),
        tokens_in=sum(row.input_tokens or 0 for row in asked),
        tokens_cached=sum(row.cached_tokens or 0 for row in asked),
        tokens_out=sum(row.output_tokens or 0 for row in asked),
        tokens_thought=sum(row.thinking_tokens or 0 for row in asked),
    )


def test_the_total_is_what_the_rows_add_up_to(ledger: list[Attempt]) -> None:
    money = costs.total(Part()).money

    assert money == counted(list(AgentCall.objects.all()))
    assert (money.cost, money.unknown, money.sent, money.unpriced) == (Decimal("0.890001"), 1, 1, 2)


KEYS: dict[str, Callable[[AgentCall], str]] = {
    "role": lambda row: row.role,
    "model": lambda row: row.conversation.model if row.conversation else row.author,
    "direction": lambda row: _attempt(row).direction,
    "outcome": lambda row: _attempt(row).outcome,
}


def _attempt(row: AgentCall) -> Attempt:
    found = row.attempt or Attempt.objects.filter(candidates__audit=row.audit_id).first()
    assert found
    return found


@pytest.mark.parametrize("table", KEYS)
def test_each_line_is_what_its_rows_add_up_to_and_all_lines_are_the_total(
    ledger: list[Attempt], table: str
) -> None:
    rows: dict[str, list[AgentCall]] = {}
    for row in AgentCall.objects.exclude(provider__in=["", "manual"]):
        rows.setdefault(KEYS[table](row), []).append(row)

    lines = costs.tables(Part())[table]

    assert {line.key: line.money for line in lines} == {key: counted(each) for key, each in rows.items()}
    total = costs.total(Part()).money
    assert sum(line.money.cost for line in lines) == total.cost
    assert sum(line.money.requests for line in lines) == total.requests


def test_an_accepted_environment_costs_all_that_was_spent_also_on_what_came_to_nothing(
    ledger: list[Attempt],
) -> None:
    total = costs.total(Part())
    assert (total.accepted, total.each) == (1, Decimal("0.890001"))
    assert costs.total(Part(lineage="lost")).each is None


@pytest.mark.parametrize("cast", ["", Cast(dict.fromkeys(Role, MANUAL)).text])
def test_what_was_accepted_without_a_model_makes_no_average_cheaper_and_is_counted_beside_it(
    web: Client, ledger: list[Attempt], capsys: pytest.CaptureFixture[str], cast: str
) -> None:
    free = factories.recipe(cast=cast)
    for _ in range(3):
        factories.accepted(factories.evolution(recipe=free))

    total = costs.total(Part())
    assert (total.accepted, total.others, total.each) == (1, 3, Decimal("0.890001"))
    (scenario,) = [line for line in costs.tables(Part())["direction"] if line.key == "scenario"]
    assert (scenario.accepted, scenario.others, scenario.each) == (1, 3, Decimal("0.790001"))
    assert "1 accepted with models, 3 without" in web.get("/costs/").content.decode()
    call_command("costs")
    assert "3 accepted without a model, in no average" in capsys.readouterr().out
    call_command("costs", "--json")
    assert json.loads(capsys.readouterr().out)["accepted_without_model"] == 3


def test_where_no_cost_is_known_nothing_says_that_it_was_nothing(
    web: Client, ledger: list[Attempt], capsys: pytest.CaptureFixture[str]
) -> None:
    AgentCall.objects.exclude(provider__in=["", "manual"]).update(cost=None, billed=None, outcome="answered")

    call_command("costs")
    said = capsys.readouterr().out
    assert "in all unknown (7 calls)" in said and "unknown for each of 1 accepted with models" in said
    assert "$" not in said
    page = web.get("/costs/").content.decode()
    assert "In all <strong>unknown (7 calls)</strong>" in page and "$" not in page
    call_command("costs", "--json")
    assert json.loads(capsys.readouterr().out)["each"] is None


@pytest.mark.parametrize(
    ("money", "said"),
    [
        (Money(), "$0.00"),
        (Money(requests=2, cost=Decimal("1.5")), "$1.50"),
        (Money(requests=2, cost=Decimal("1.5"), unknown=1), "$1.50 and 1 call of unknown cost"),
        (Money(requests=11, unknown=11), "unknown (11 calls)"),
        (
            Money(requests=2, sent=1, unknown=1, boundless=1),
            "unknown (1 call) and 1 sent and not settled (nobody knows how much)",
        ),
        (Money(requests=1, sent=1, reserved=Decimal("0.5")), "1 sent and not settled ($0.5000 at most)"),
    ],
)
def test_a_sum_in_words_is_never_nothing_where_something_is_not_known(money: Money, said: str) -> None:
    assert whole(money) == said


def test_the_page_says_what_is_unknown_beside_what_is_known(web: Client, ledger: list[Attempt]) -> None:
    page = web.get("/costs/").content.decode()

    assert "$0.8900, 1 call of unknown cost and 1 sent and not settled ($0.7000 at most)" in page
    assert "2 calls more were answered by a person or by an author without a model" in page
    assert "≥ $0.8900" in page


def test_with_nothing_asked_there_is_no_unknown_and_no_average(web: Client, db: None) -> None:
    page = web.get("/costs/").content.decode()

    assert "0 requests to models cost <strong>$0.00</strong>" in page
    assert "No model has been asked." in page


@pytest.mark.parametrize(
    ("part", "cost"),
    [
        ({"lineage": "lost"}, "0.1"),
        ({"lineage": "won"}, "0.790001"),
        ({"campaign": "night"}, "0.1"),
        ({"author": "careful"}, "0.1"),
        ({"author": "careful", "lineage": "won"}, "0"),
    ],
)
def test_the_address_narrows_what_is_added_up(
    web: Client, ledger: list[Attempt], part: dict[str, str], cost: str
) -> None:
    careful = factories.recipe(author="careful")
    night = Campaign.objects.create(slug="night", recipe=factories.recipe(), status="running")
    Evolution.objects.filter(lineage__slug="lost").update(campaign=night, recipe=careful)

    response = web.get("/costs/", part)

    assert response.status_code == 200
    assert response.context["total"].money.cost == Decimal(cost)
    for _, _, _, lines in response.context["tables"]:
        assert sum((line.money.cost for _, line in lines), Decimal(0)) == Decimal(cost)


def test_since_leaves_out_what_was_before_that_day(web: Client, ledger: list[Attempt]) -> None:
    AgentCall.objects.filter(author="gpt").update(started_at=timezone.now() - timedelta(days=9))
    since = timezone.localdate() - timedelta(days=1)

    money = web.get("/costs/", {"since": since.isoformat()}).context["total"].money

    assert (money.cost, money.unknown) == (Decimal("0.600001"), 0)


@pytest.mark.parametrize("asked", [{"lineage": "nope"}, {"campaign": "nope"}, {"since": "soon"}])
def test_a_filter_that_names_nothing_shows_no_figures(
    web: Client, ledger: list[Attempt], asked: dict[str, str]
) -> None:
    response = web.get("/costs/", asked)

    assert response.status_code == 422
    html = response.content.decode()
    assert "Nothing is shown" in html and "$" not in html


def test_the_number_of_queries_does_not_grow_with_the_ledger(web: Client, ledger: list[Attempt]) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            web.get("/costs/")
        return len(found)

    before = queries()
    for _ in range(5):
        attempt = factories.accepted(factories.evolution()).attempts.get()
        request(attempt, "0.01", "another", role="solver")
        factories.attempt(attempt.evolution, direction="length", outcome="refused")

    assert queries() == before


def test_the_yield_counts_plans_by_round_repairs_and_reasons(db: None) -> None:
    evolution = factories.accepted(factories.evolution())
    won = evolution.attempts.get()
    factories.review(won.plans.get())
    factories.candidate(won.plans.get())
    lost = factories.attempt(evolution, outcome="repairs_spent", closed_at=timezone.now())
    for decision, role, name in (("reject", "plan_reviewer", "harder"), ("reject", "rules", "edits")):
        review = factories.review(factories.plan(lost), decision=decision, role=role)
        factories.criterion(review, name, "fail")
    approved = factories.plan(lost)
    factories.review(approved)
    factories.candidate(approved)
    repair = factories.candidate(approved, audit=None)
    repair.audit = factories.audit(
        repair.snapshot, outcomes={"oracle": "failed"}, parent=evolution.parent.snapshot
    )
    repair.save()

    found = costs.yields(Part())

    assert [(r.number, r.plans, r.accepted, r.rejected, r.ruled_out) for r in found.rounds] == [
        (1, 2, 1, 1, 0),
        (2, 1, 0, 0, 1),
        (3, 1, 1, 0, 0),
    ]
    assert (found.repaired, found.repairs, found.repairs_each) == ([(1, 1)], 2, 2.0)
    said = {kind: Counter({each.name: each.times for each in rows}) for kind, rows in found.reasons.items()}
    assert said == {
        "criterion": {"harder": 1},
        "rule": {"edits": 1},
        "gate": {"oracle": 1},
        "attempt": {"repairs_spent": 1},
    }


def test_the_command_says_the_same_as_the_page(
    ledger: list[Attempt], capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("costs", "--json", "--lineage", "won")
    said = json.loads(capsys.readouterr().out)

    total = costs.total(Part(lineage="won"))
    assert (Decimal(said["cost"]), said["unknown"]) == (total.money.cost, 1)
    assert (said["accepted"], Decimal(said["each"])) == (1, total.each)
    by_model = costs.tables(Part(lineage="won"))["model"]
    assert [(row["model"], Decimal(row["cost"])) for row in said["by_model"]] == [
        (line.key, line.money.cost) for line in by_model
    ]

    call_command("costs")
    assert "1 call of unknown cost and 1 sent and not settled" in capsys.readouterr().out


def test_the_command_names_what_belongs_to_no_attempt_and_prints_the_yield(
    ledger: list[Attempt], capsys: pytest.CaptureFixture[str]
) -> None:
    request(None, "0.01", "gpt", role="rubric_verifier")
    AgentCall.objects.filter(attempt=None, audit=None).update(evolution=None)
    factories.review(ledger[0].plans.get())
    Attempt.objects.filter(outcome="plans_spent").update(closed_at=timezone.now())

    call_command("costs")

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    said = [" ".join(line) for line in lines]
    assert any(line.startswith("direction no attempt (seeds, benches) 1 ") for line in said)
    assert "1 1 1 0 0 100%" in said, "the first round: a plan, accepted"
    assert said[said.index("repairs accepted after them") + 2] == "0 1"
    assert any(line.startswith("How attempts ended") and line.endswith(" 1") for line in said)


def test_the_command_refuses_a_filter_that_names_nothing(
    db: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        call_command("costs", "--lineage", "nope")
    assert left.value.code == 2
    assert "There is no lineage called nope." in capsys.readouterr().err


def test_a_campaign_has_spent_what_its_evolutions_audits_and_lost_requests_say(ledger: list[Attempt]) -> None:
    night = Campaign.objects.create(slug="night", recipe=factories.recipe(), status="running")
    Campaign.objects.update(created_at=timezone.now() - timedelta(days=1))
    Evolution.objects.update(campaign=night)
    won = ledger[0]
    audit = won.candidates.get().audit
    request(None, "0.06", "gpt", role="adversary", audit=audit, evolution=won.evolution)

    spent = spending.of(Campaign.objects.get())

    assert (spent.cost, spent.unpriced) == (Decimal("0.950001"), 1)
    assert (spent.unsettled, spent.reserved) == (1, Decimal("0.7"))
