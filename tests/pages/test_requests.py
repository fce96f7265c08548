"""What every page does with htmx, logins, tokens and errors."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse

from lineages.growth import views
from lineages.growth.models import Evolution, Review
from tests import factories
from tests.pages.conftest import seen

TEMPLATES = Path(__file__).parents[2] / "templates"


@pytest.fixture
def pages(db: Any) -> dict[str, str]:
    """An address of every page, with the fragment that it has."""
    plan, candidate = factories.waiting_plan(), factories.waiting_candidate()
    environment = plan.attempt.evolution.parent
    factories.audit(environment.snapshot)
    result = environment.snapshot.audits.get().results.first()
    call = factories.call(plan.attempt)
    return {
        "/": "home",
        "/lineages/": "list",
        f"/lineages/{environment.lineage.slug}/": "",
        f"/environments/{environment.pk}/": "",
        f"/environments/{environment.pk}/gates/": "gates",
        f"/environments/{environment.pk}/files/": "",
        f"/environments/{environment.pk}/evolve/": "",
        f"/gates/{result.pk}/": "",
        f"/calls/{call.pk}/": "",
        f"/plans/{plan.pk}/": "detail",
        f"/candidates/{candidate.pk}/": "detail",
        f"/evolutions/{plan.attempt.evolution_id}/": "detail",
    }


def test_every_page_has_a_title_breadcrumbs_and_one_heading(web: Client, pages: dict[str, str]) -> None:
    for address in pages:
        html = web.get(address).content.decode()
        assert re.search(r"<title>\S.* · envevo</title>", html), address
        assert 'aria-label="Breadcrumbs"' in html and 'aria-current="page"' in html, address
        assert html.count("<h1") == 1, address


def test_no_page_needs_what_the_policy_forbids(web: Client, pages: dict[str, str]) -> None:
    for address in pages:
        response = web.get(address)
        html = response.content.decode()
        assert not re.search(r"<script(?![^>]*\ssrc=)", html), address
        assert not re.search(r"<[^>]+\s(style|on\w+|hx-on[\w:-]*)=", html), address
        assert "default-src 'self'" in response["Content-Security-Policy"]
        assert "unsafe" not in response["Content-Security-Policy"]


def test_ids_are_given_once_on_a_page(web: Client, pages: dict[str, str]) -> None:
    for address in pages:
        ids = re.findall(r'\sid="([^"]+)"', web.get(address).content.decode())
        assert len(ids) == len(set(ids)), address


def test_htmx_gets_the_fragment_whose_element_has_its_name(htmx: Client, pages: dict[str, str]) -> None:
    for address, fragment in pages.items():
        html = htmx.get(address).content.decode()
        if fragment:
            assert "<html" not in html and re.match(rf'\s*<\w+ id="{fragment}"', html), address
        else:
            assert "<html" in html, address


@pytest.mark.parametrize("header", ["HX-Boosted", "HX-History-Restore-Request"])
def test_a_boosted_link_and_the_back_button_get_the_whole_page(
    htmx: Client, pages: dict[str, str], header: str
) -> None:
    for address in pages:
        assert "<html" in htmx.get(address, headers={header: "true"}).content.decode(), address


def test_caches_keep_page_and_fragment_apart(web: Client, pages: dict[str, str]) -> None:
    for address, fragment in pages.items():
        response = web.get(address)
        if fragment:
            assert {"HX-Request", "HX-History-Restore-Request"} <= {
                each.strip() for each in response["Vary"].split(",")
            }
            assert "private" in response["Cache-Control"] and "no-store" in response["Cache-Control"]


def test_a_poll_without_news_is_kept_by_no_cache_either(htmx: Client) -> None:
    factories.waiting_plan()
    response = htmx.get("/", {"seen": seen(htmx.get("/"))})
    assert response.status_code == 204
    assert "HX-Request" in response["Vary"] and "no-store" in response["Cache-Control"]


def test_a_boosted_link_to_what_is_not_there_gets_the_whole_page_that_no_cache_keeps(htmx: Client) -> None:
    for header in ("HX-Boosted", "HX-History-Restore-Request"):
        response = htmx.get("/nope/", headers={header: "true"})
        assert response.status_code == 404 and "<html" in response.content.decode()
        assert header in response["Vary"] and "no-store" in response["Cache-Control"]


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}, {"Referer": "http://evil.com/"}])
def test_a_host_that_is_not_ours_is_a_bad_request(ada: Any, settings: Any, headers: dict[str, str]) -> None:
    settings.ALLOWED_HOSTS = ["testserver"]
    client = Client(raise_request_exception=False)
    client.force_login(ada)
    for address in ("/", "/nope/"):
        response = client.get(address, headers={"Host": "evil.com", **headers})
        assert response.status_code == 400 and "This request makes no sense." in response.content.decode()


def test_a_key_of_thirty_digits_is_not_there(web: Client) -> None:
    for address in ("environments/{}/raw/x", "environments/{}/files/x", "plans/{}/", "commands/{}/stdout/"):
        assert web.get("/" + address.format("9" * 30)).status_code == 404


def test_whatever_can_have_the_focus_in_a_polling_fragment_has_an_id_to_get_it_back(
    htmx: Client, db: Any
) -> None:
    candidate = factories.waiting_candidate()
    evolution, environment = candidate.attempt.evolution, candidate.attempt.evolution.parent
    factories.call(candidate.attempt)
    factories.audit(environment.snapshot)
    factories.evolution(status=Evolution.Status.FAILED, fault="x")
    factories.evolution(status=Evolution.Status.EXHAUSTED)
    factories.chain(1)
    htmx.post(f"/environments/{environment.pk}/verify/")
    for address in ("/", f"/evolutions/{evolution.pk}/", f"/environments/{environment.pk}/gates/"):
        html = htmx.get(address).content.decode()
        assert "data-poll" in html
        for tag in re.findall(r"<(?:a|button|summary|textarea)\b[^>]*>|<\w+[^>]*\stabindex[^>]*>", html):
            assert re.search(r'\sid="', tag), (address, tag)


def test_one_live_region_stays_on_the_page_and_fragments_fill_it(
    web: Client, htmx: Client, pages: dict[str, str]
) -> None:
    for address, fragment in pages.items():
        whole = web.get(address).content.decode()
        assert whole.count('<p id="live" class="unseen" role="status"></p>') == 1, address
        assert "hx-swap-oob" not in whole and whole.count('role="status"') == 1, address
        if fragment:
            assert htmx.get(address).content.decode().count('hx-swap-oob="innerHTML:#live"') == 1, address


def test_a_logged_out_person_gets_to_the_page_after_the_login(client: Client, pages: dict[str, str]) -> None:
    for address in pages:
        response = client.get(address)
        assert response.status_code == 302 and _next(response["Location"]) == address


def test_a_logged_out_fragment_sends_the_whole_page_to_the_login_and_back(client: Client, db: Any) -> None:
    plan = factories.waiting_plan()
    response = client.post(
        f"/plans/{plan.pk}/approve/",
        {"version": 2},
        headers={"HX-Request": "true", "HX-Current-URL": f"http://testserver/plans/{plan.pk}/?x=1"},
    )
    assert response.status_code == 200 and response.content == b""
    assert _next(response["HX-Redirect"]) == f"/plans/{plan.pk}/?x=1"
    assert not Review.objects.filter(role="person").exists()


@pytest.mark.parametrize(
    "sent_from", ["", "http://evil.example/x", "javascript:alert(1)", "http://testserver//evil.example"]
)
def test_the_way_back_never_leaves_this_site(client: Client, db: Any, sent_from: str) -> None:
    response = client.get("/", headers={"HX-Request": "true", "HX-Current-URL": sent_from})
    assert _next(response["HX-Redirect"]) == "/"


def test_a_logged_out_form_leads_back_to_its_page_not_to_its_action(client: Client, db: Any) -> None:
    response = client.post("/plans/1/approve/", {}, headers={"Referer": "http://testserver/plans/1/"})
    assert response.status_code == 302 and _next(response["Location"]) == "/plans/1/"
    assert _next(client.post("/plans/1/approve/", {})["Location"]) == "/"


def test_a_boosted_link_of_a_logged_out_person_leads_to_its_own_page(client: Client, db: Any) -> None:
    response = client.get("/lineages/", headers={"HX-Request": "true", "HX-Boosted": "true"})
    assert response.status_code == 302 and _next(response["Location"]) == "/lineages/"


def test_the_login_lets_in_and_goes_where_it_was_asked_to(client: Client, ada: Any) -> None:
    assert "<form" in client.get("/login/").content.decode()
    wrong = client.post("/login/", {"username": "ada", "password": "no"})
    assert wrong.status_code == 200 and 'role="alert"' in wrong.content.decode()
    right = client.post("/login/", {"username": "ada", "password": "ada", "next": "/lineages/?q=x"})
    assert right.status_code == 302 and right["Location"] == "/lineages/?q=x"
    assert client.get("/login/?next=/lineages/")["Location"] == "/lineages/"


def test_signing_out_is_a_form(web: Client) -> None:
    assert web.get("/logout/").status_code == 405
    assert web.post("/logout/").status_code == 302
    assert web.get("/").status_code == 302


def test_a_missing_token_is_a_small_notice_for_htmx_and_a_page_otherwise(ada: Any) -> None:
    plan = factories.waiting_plan()
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    small = client.post(f"/plans/{plan.pk}/approve/", {"version": 2}, headers={"HX-Request": "true"})
    assert small.status_code == 403 and "<html" not in small.content.decode()
    assert "this page is too old" in small.content.decode()
    whole = client.post(
        f"/plans/{plan.pk}/approve/",
        {"version": 2},
        headers={"Referer": f"http://testserver/plans/{plan.pk}/"},
    )
    assert whole.status_code == 403 and "<html" in whole.content.decode()
    assert f'href="http://testserver/plans/{plan.pk}/"' in whole.content.decode()
    assert Evolution.objects.get().status == "plan_approval"


@pytest.mark.parametrize(
    "address", ["/nope/", "/plans/99999/", "/lineages/nope/", "/environments/99999999999999999999/"]
)
def test_what_is_not_there_is_a_notice_for_htmx_and_a_page_otherwise(
    web: Client, htmx: Client, address: str
) -> None:
    whole, small = web.get(address), htmx.get(address)
    assert (whole.status_code, small.status_code) == (404, 404)
    assert "<html" in whole.content.decode() and "There is nothing here." in whole.content.decode()
    assert re.match(r'\s*<div id="notice" role="alert">', small.content.decode())


def test_a_fault_of_ours_says_so_and_tells_nothing_else(ada: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(views.overview, "with_work", broken)
    client = Client(raise_request_exception=False)
    client.force_login(ada)
    for headers, whole in (({}, True), ({"HX-Request": "true"}, False)):
        response = client.get("/", headers=headers)
        html = response.content.decode()
        assert response.status_code == 500 and ("<html" in html) == whole
        assert "Something broke on our side." in html and "secret detail" not in html


def test_htmx_is_told_to_show_conflicts_in_place_and_errors_in_the_notice(client: Client, db: Any) -> None:
    html = client.get("/login/").content.decode()
    config = json.loads(re.search(r"""name="htmx-config"\s+content='([^']+)'""", html)[1])
    handling = {each["code"]: each for each in config["responseHandling"]}
    assert handling["409|422"]["swap"] and handling["[45].."]["target"] == "#notice"
    assert not config["allowEval"] and not config["includeIndicatorStyles"]
    assert config["historyCacheSize"] == 0 and config["refreshOnHistoryMiss"]
    assert '<div id="notice" role="alert">' in html


def test_every_script_and_style_that_a_page_names_exists(web: Client, pages: dict[str, str]) -> None:
    for address in pages:
        for path in re.findall(r'(?:src|href)="/static/([^"]+)"', web.get(address).content.decode()):
            assert finders.find(path), path


def test_every_htmx_control_is_a_real_link_or_form_too() -> None:
    for template in TEMPLATES.rglob("*.html"):
        for tag in re.findall(r"<(\w+)[^>]*\shx-post=", template.read_text()):
            assert tag in {"button", "form"}, template
        assert "hx-disable-elt" not in template.read_text(), template  # it is hx-disabled-elt


def test_every_address_of_the_site_needs_a_login_except_the_login(client: Client, db: Any) -> None:
    assert client.get(reverse("login")).status_code == 200
    for name, args in (
        ("command_output", [1, "stdout"]),
        ("environment_raw", [1, "x"]),
        ("environment_download", [1, "zip"]),
    ):
        assert client.get(reverse(name, args=args)).status_code == 302


def _next(location: str) -> str:
    parts = urlsplit(location)
    assert parts.path == "/login/"
    return parse_qs(parts.query)["next"][0]
