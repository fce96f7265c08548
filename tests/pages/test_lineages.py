"""Home, the list of lineages, and one lineage."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from lineages.growth import views
from lineages.growth.models import Evolution
from lineages.lifecycle import Move
from tests import factories
from tests.pages.conftest import seen

LIST = "/lineages/"


def slugs(client: Client, **query: str) -> list[str]:
    return [row.slug for row in client.get(LIST, query).context["rows"]]


def test_an_empty_installation_says_how_to_begin(web: Client) -> None:
    for address in ("/", LIST):
        assert "manage.py import_tasks" in web.get(address).content.decode()


def test_home_shows_what_waits_longest_first_with_the_page_to_decide_on(web: Client) -> None:
    plan, candidate = factories.waiting_plan(), factories.waiting_candidate()
    response = web.get("/")
    assert [link for _, link in response.context["waiting"]] == [
        reverse("plan_detail", args=[plan.pk]),
        reverse("candidate_detail", args=[candidate.pk]),
    ]


def test_home_keeps_what_runs_what_broke_and_what_is_new_apart(web: Client) -> None:
    seed = factories.seed()
    running = factories.evolution(seed, status=Evolution.Status.BUILDING)
    broken = factories.evolution(seed, status=Evolution.Status.FAILED, fault="no engine answers")
    factories.evolution(seed, status=Evolution.Status.CANCELLED)
    child = factories.environment(seed.lineage, generation=1, parent=seed)
    context = web.get("/").context
    assert list(context["running"]) == [running]
    assert list(context["broken"]) == [broken]
    assert list(context["newest"]) == [child]


def test_home_stops_polling_when_nothing_runs_or_waits(web: Client) -> None:
    evolution = factories.evolution(status=Evolution.Status.BUILDING)
    assert "data-poll" in web.get("/").content.decode()
    Evolution.objects.filter(pk=evolution.pk).update(status=Evolution.Status.ACCEPTED)
    assert "data-poll" not in web.get("/").content.decode()


def test_home_asks_again_for_what_moved_while_it_was_read(htmx: Client) -> None:
    evolution = factories.evolution(status=Evolution.Status.PLAN_REVIEW)

    def overtaken(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        found = execute(sql, params, many, context)
        if "status_since" in sql and sql.startswith("SELECT"):
            Evolution.objects.filter(pk=evolution.pk).update(status="plan_approval", version=3)
        return found

    with connection.execute_wrapper(overtaken):
        response = htmx.get("/")
    assert evolution.lineage.slug not in response.content.decode()
    assert evolution.lineage.slug in htmx.get("/", {"seen": seen(response)}).content.decode()


def test_home_answers_a_poll_without_news_with_no_content(htmx: Client) -> None:
    evolution = factories.evolution(status=Evolution.Status.BUILDING)
    stamp = seen(htmx.get("/"))
    assert htmx.get("/", {"seen": stamp}).status_code == 204
    Evolution.objects.filter(pk=evolution.pk).update(version=9)
    assert htmx.get("/", {"seen": stamp}).status_code == 200


def test_the_list_is_narrowed_by_words_and_state(web: Client) -> None:
    factories.seed(factories.lineage("ocr-table", title="Read a table"))
    factories.waiting_plan(factories.seed(factories.lineage("git-secrets")))
    assert slugs(web, q="TABLE") == ["ocr-table"]
    assert slugs(web, state="waiting") == ["git-secrets"]
    assert slugs(web, state="idle") == ["ocr-table"]
    assert slugs(web, q="nothing like it") == []


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("lineage", ["a", "b"]),
        ("-lineage", ["b", "a"]),
        ("generations", ["b", "a"]),
        ("-difficulty", ["a", "b"]),
    ],
)
def test_the_list_is_sorted_by_the_address(web: Client, sort: str, expected: list[str]) -> None:
    factories.chain(2, factories.lineage("a"))
    factories.chain(1, factories.lineage("b"))
    assert slugs(web, sort=sort) == expected


@pytest.mark.parametrize(
    "query", [{"sort": "x; drop"}, {"page": "-1"}, {"page": "1e9"}, {"state": "??"}, {"page": "²"}]
)
def test_an_address_that_makes_no_sense_shows_the_list(web: Client, query: dict[str, str]) -> None:
    factories.seed(factories.lineage("a"))
    assert slugs(web, **query) == ["a"]


def test_sorting_keeps_the_search_in_the_address_and_goes_to_the_first_page(web: Client) -> None:
    factories.seed(factories.lineage("ocr-table"))
    html = web.get(LIST, {"q": "ocr", "page": "1"}).content.decode()
    link = re.search(r'href="([^"]*sort=-?domain[^"]*)"', html)
    assert link and "q=ocr" in link[1] and "page=" not in link[1]


def test_pages_follow_one_another_without_ever_counting(web: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "LIST_ROWS", 2)
    for name in "abcde":
        factories.lineage(name)
    with CaptureQueriesContext(connection) as queries:
        assert slugs(web, sort="lineage", page="2") == ["c", "d"]
    assert not [each for each in queries if "COUNT(" in each["sql"].upper()]
    assert slugs(web, sort="lineage", page="3") == ["e"]
    assert web.get(LIST, {"sort": "lineage", "page": "3"}).context["next"] == 0


def test_the_most_urgent_state_of_a_lineage_wins(web: Client) -> None:
    seed = factories.seed(factories.lineage("a"))
    factories.evolution(seed, status=Evolution.Status.BUILDING)
    assert web.get(LIST).context["rows"][0].state == "running"
    factories.evolution(seed, status=Evolution.Status.FAILED)
    assert web.get(LIST).context["rows"][0].state == "failed"
    factories.waiting_plan(seed)
    assert web.get(LIST).context["rows"][0].state == "waiting"


def test_a_lineage_whose_newest_evolution_had_no_child_says_so(web: Client) -> None:
    spent = factories.seed(factories.lineage("spent"))
    factories.evolution(spent, status=Evolution.Status.EXHAUSTED)
    again = factories.seed(factories.lineage("again"))
    factories.evolution(again, status=Evolution.Status.EXHAUSTED)
    factories.evolution(again, status=Evolution.Status.CANCELLED)
    assert slugs(web, state="exhausted") == ["spent"]
    assert slugs(web, state="idle") == ["again"]
    factories.evolution(spent, status=Evolution.Status.BUILDING)
    assert slugs(web, state="exhausted") == []


def test_home_names_what_ended_without_a_child_until_something_newer_is_tried(web: Client) -> None:
    spent = factories.evolution(status=Evolution.Status.EXHAUSTED)
    factories.attempt(spent, outcome="no_plan", reason="every pair is taken")
    html = web.get("/").content.decode()
    assert "Ended without a child" in html and "every pair is taken" in html
    assert f'href="{reverse("evolution_detail", args=[spent.pk])}"' in html
    factories.evolution(spent.parent, status=Evolution.Status.BUILDING)
    assert "Ended without a child" not in web.get("/").content.decode()


def test_home_tells_when_something_is_paused(htmx: Client) -> None:
    evolution = factories.evolution(status=Evolution.Status.BUILDING)
    stamp = seen(htmx.get("/"))
    Evolution.objects.filter(pk=evolution.pk).update(paused_at=timezone.now())
    response = htmx.get("/", {"seen": stamp})
    assert response.status_code == 200 and "paused" in response.content.decode()


def test_the_legend_says_what_grey_and_dashed_stand_for(web: Client) -> None:
    evolution = factories.evolution(status=Evolution.Status.FAILED)
    html = web.get(reverse("lineage_detail", args=[evolution.lineage.slug])).content.decode()
    assert "dashed: not accepted (yet)" in html and "grey no verdict" in html


def test_a_lineage_draws_every_environment_and_every_open_evolution(web: Client) -> None:
    grown = factories.chain(3)
    evolution = factories.evolution(grown[-1])
    factories.evolution(grown[-1], status=Evolution.Status.CANCELLED)
    response = web.get(reverse("lineage_detail", args=[grown[0].lineage.slug]))
    drawn = {node.item.key for node in response.context["tree"].nodes}
    assert drawn == {*(f"e{each.pk}" for each in grown), f"v{evolution.pk}"}
    html = response.content.decode()
    assert html.count('class="node') == 5
    assert all(f'href="{reverse("environment_detail", args=[each.pk])}"' in html for each in grown)


def test_every_node_says_in_words_what_its_colours_say(web: Client) -> None:
    seed = factories.seed(factories.lineage("a"), provisional=True)
    factories.audit(seed.snapshot, outcomes={"oracle": "failed"})
    html = web.get("/lineages/a/").content.decode()
    label = re.search(r'aria-label="(a/g0;[^"]*)"', html)
    assert label and "oracle failed" in label[1] and "provisional" in label[1] and "5.00 nats" in label[1]


def test_the_table_says_what_each_generation_changed(web: Client) -> None:
    grown = factories.chain(1)
    html = web.get(reverse("lineage_detail", args=[grown[0].lineage.slug])).content.decode()
    assert "The text arrives in shuffled parts" in html and "+1.00" in html


@pytest.mark.parametrize("generations", [15, 60])
def test_a_lineage_takes_as_many_queries_however_long_it_is(
    web: Client, django_assert_max_num_queries, generations: int
) -> None:
    grown = factories.chain(generations)
    factories.waiting_plan(grown[-1])
    with django_assert_max_num_queries(12):
        response = web.get(reverse("lineage_detail", args=[grown[0].lineage.slug]))
    assert len(response.context["rows"]) == generations + 1


@pytest.mark.parametrize("lineages", [2, 40])
def test_the_list_takes_as_many_queries_however_many_there_are(
    web: Client, django_assert_max_num_queries, lineages: int
) -> None:
    for _ in range(lineages):
        factories.seed()
    with django_assert_max_num_queries(5):
        web.get(LIST)


def test_home_takes_as_many_queries_however_much_is_going_on(
    web: Client, django_assert_max_num_queries
) -> None:
    for _ in range(12):
        factories.waiting_plan()
        factories.evolution(status=Evolution.Status.BUILDING)
    with django_assert_max_num_queries(11):
        web.get("/")


def test_reading_changes_nothing(web: Client) -> None:
    plan = factories.waiting_plan()
    before = Evolution.objects.values().get()
    for address in ("/", LIST, f"/lineages/{plan.attempt.evolution.lineage.slug}/"):
        assert web.get(address).status_code == 200
    assert Evolution.objects.values().get() == before and not Move.objects.exists()
