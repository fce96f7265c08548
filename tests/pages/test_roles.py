"""Who gets where: every address of the site, by every role. An address without an entry fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import get_resolver, reverse
from django.urls.resolvers import RoutePattern, URLPattern, URLResolver

from lineages.growth.models import Evolution, Review
from lineages.library.models import Environment, Job, Quarantine, Voiding
from lineages.lifecycle import Move
from tests import factories
from tests.pages.conftest import _signed_in

pytestmark = pytest.mark.django_db

PUBLIC, ANYBODY, VIEWER, REVIEWER, OPERATOR, ADMIN = (
    "public",
    "nobody",
    "viewer",
    "reviewer",
    "operator",
    "admin",
)
ROLES = (ANYBODY, VIEWER, REVIEWER, OPERATOR, ADMIN)
"""Signed in; lowest first, and `nobody` has an account without a role."""

LOOKS = (VIEWER, None)
ACTS = {role: (VIEWER, role) for role in (REVIEWER, OPERATOR, ADMIN)}
EXPECTED: dict[str, tuple[str, str | None]] = {
    # name: (least role that may look, least role that may send; None: nothing can be sent there)
    "login": (PUBLIC, PUBLIC),
    "logout": (ANYBODY, ANYBODY),
    "account_detail": (ANYBODY, ANYBODY),
    "account_sessions": (ANYBODY, ANYBODY),
    "home": LOOKS,
    "lineage_list": LOOKS,
    "lineage_detail": LOOKS,
    "environment_detail": LOOKS,
    "environment_gates": LOOKS,
    "environment_requirements": LOOKS,
    "gate_list": LOOKS,
    "environment_files": LOOKS,
    "environment_file": LOOKS,
    "environment_raw": LOOKS,
    "environment_download": LOOKS,
    "gate_detail": LOOKS,
    "call_detail": LOOKS,
    "call_body": LOOKS,
    "conversation_detail": LOOKS,
    "command_output": LOOKS,
    "answer_list": LOOKS,
    "call_answer": ACTS[REVIEWER],
    "cost_list": LOOKS,
    "model_list": (OPERATOR, None),
    "model_resume": ACTS[OPERATOR],  # looking leads to the list, which says no
    "evolution_detail": LOOKS,
    "plan_detail": LOOKS,
    "candidate_detail": LOOKS,
    "candidate_raw": LOOKS,
    "compare_choose": LOOKS,
    "compare_detail": LOOKS,
    "campaign_list": LOOKS,
    "campaign_detail": LOOKS,
    "import_detail": LOOKS,
    "import_start": (OPERATOR, OPERATOR),
    "import_verify": ACTS[OPERATOR],
    "plan_decide": ACTS[REVIEWER],
    "candidate_decide": ACTS[REVIEWER],
    "review_override": ACTS[REVIEWER],
    "environment_withdraw": ACTS[REVIEWER],
    "environment_free": ACTS[OPERATOR],
    "environment_verify": ACTS[OPERATOR],
    "evolution_act": ACTS[OPERATOR],
    "evolution_start": (OPERATOR, OPERATOR),
    "campaign_start": (OPERATOR, OPERATOR),
    "campaign_limit": ACTS[OPERATOR],
    "campaign_act": ACTS[OPERATOR],
    "gate_void": ACTS[ADMIN],
    "bench_list": LOOKS,
    "bench_detail": LOOKS,
    "rubric_list": LOOKS,
    "rubric_version": LOOKS,
    "criterion_add": (REVIEWER, REVIEWER),
    "criterion_change": (REVIEWER, REVIEWER),
    "criterion_retire": (REVIEWER, REVIEWER),
    "person_list": (ADMIN, ADMIN),
    "person_detail": (ADMIN, None),
    "person_change": (VIEWER, ADMIN),  # looking leads to the person's page, which says no
}
PARTS = {
    "slug": "words", "key": 1, "path": "task.toml", "string": "words:g0", "format": "zip", "stream": "stdout",
    "action": "cancel", "decision": "approve", "change": "role",
    "body": "sent",
}  # fmt: skip


def addresses(patterns: Any = None) -> Iterator[tuple[str, str]]:
    """Name and an address of everything that the site answers to."""
    for each in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(each, URLResolver):
            yield from addresses(each.url_patterns)
        elif isinstance(each, URLPattern):
            assert isinstance(each.pattern, RoutePattern) and each.name
            parts = each.pattern.converters
            kinds = {part: type(converter).__name__ for part, converter in parts.items()}
            yield each.name, reverse(each.name, kwargs={part: _sample(kind) for part, kind in kinds.items()})


def _sample(kind: str) -> str | int:
    return PARTS[kind.removesuffix("Converter").removeprefix("_").lower()]


def test_every_address_says_who_may_go_there() -> None:
    assert {name for name, _ in addresses()} == set(EXPECTED)


@pytest.mark.parametrize("role", ROLES)
def test_a_role_gets_where_it_may_and_nowhere_else(role: str) -> None:
    user = factories.user(f"a-{role}", role="" if role == ANYBODY else role)
    for name, address in addresses():
        for method, least in zip(("get", "post"), EXPECTED[name], strict=True):
            code = getattr(_signed_in(user), method)(address).status_code
            if least is None:
                assert code == (403 if ROLES.index(role) < ROLES.index(EXPECTED[name][0]) else 405), name
            elif least == PUBLIC or ROLES.index(role) >= ROLES.index(least):
                assert code not in (403, 500), (name, method, code)
            else:
                assert code == 403, (name, method, code)


def test_whoever_is_not_signed_in_is_led_to_the_login(client: Client) -> None:
    for name, address in addresses():
        for method in ("get", "post"):
            response = getattr(client, method)(address)
            if EXPECTED[name] != (PUBLIC, PUBLIC) and name != "logout":
                assert response.status_code == 302, (name, method)
                assert response["Location"].startswith("/login/"), (name, method)


def test_nothing_is_sent_without_the_token_of_a_form() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(factories.user("grace", role=ADMIN))
    for name, address in addresses():
        if EXPECTED[name][1] is not None:
            assert client.post(address).status_code == 403, name


def test_looking_at_the_address_of_an_action_does_nothing() -> None:
    grace = factories.user("grace", role=ADMIN)
    client, seed, held = _signed_in(grace), factories.seed(), factories.seed(quarantined=True)
    hold = Quarantine.objects.create(environment=held, origin=held, reason="no", by=grace)
    plan, candidate = factories.waiting_plan(), factories.waiting_candidate()
    failed = factories.audit(seed.snapshot, outcomes={"rubrics": "failed"}).results.get(gate="rubrics")
    verdict = factories.review(factories.plan(factories.attempt(factories.evolution())), decision="reject")
    addresses_of_actions = [
        f"/environments/{seed.pk}/withdraw/?seen=0&reason=x",
        f"/environments/{seed.pk}/verify/",
        f"/environments/{held.pk}/free/?hold={hold.pk}&reason=x",
        f"/gates/{failed.pk}/void/?reason=x",
        f"/plans/{plan.pk}/approve/?version=2",
        f"/candidates/{candidate.pk}/approve/?version=4",
        f"/reviews/{verdict.pk}/override/?follows=build&reason=x",
        f"/people/{grace.pk}/password/?reason=x",
        *[f"/evolutions/{plan.attempt.evolution_id}/{each}/" for each in ("cancel", "pause", "resume")],
    ]
    before = _everything()

    for address in addresses_of_actions:
        for method in (client.get, client.head):
            assert method(address).status_code == 302, address

    assert _everything() == before


def _everything() -> list[list[Any]]:
    rows = (User, Environment, Quarantine, Voiding, Job, Evolution, Review, Move)
    return [list(each._default_manager.order_by("pk").values()) for each in rows]


def test_an_account_without_a_role_hears_whom_to_ask_and_may_leave() -> None:
    factories.user("grace", role=ADMIN)
    client = _signed_in(factories.user("new", role=""))

    response = client.get("/")

    html = response.content.decode()
    assert response.status_code == 403
    assert "no role here yet. Ask an admin (grace)" in html
    assert "Sign out" in html and ">Lineages<" not in html
    assert client.post("/logout/").status_code == 302


def test_a_refusal_names_the_role_that_it_takes() -> None:
    client = _signed_in(factories.user("vera", role=VIEWER))
    html = client.post("/environments/1/verify/").content.decode()
    assert "This needs the role operator; yours is viewer." in html


CONTROLS = {
    VIEWER: set[str](),
    REVIEWER: {"decide", "override", "withdraw", "Decide"},
    OPERATOR: {"decide", "override", "withdraw", "Decide", "evolve", "verify", "cancel", "free"},
}
CONTROLS[ADMIN] = {*CONTROLS[OPERATOR], "void", "People"}


@pytest.mark.parametrize("role", CONTROLS)
def test_a_page_offers_what_its_reader_may_do_and_nothing_else(role: str) -> None:
    client = _signed_in(factories.user("someone", role=role))
    seed, plan = factories.seed(), factories.waiting_plan()
    failed = factories.audit(seed.snapshot, outcomes={"rubrics": "failed"}).results.get(gate="rubrics")
    held = factories.seed(quarantined=True)
    Quarantine.objects.create(environment=held, origin=held, reason="no", by=factories.user("ada"))
    evolution = plan.attempt.evolution
    pages = [f"/environments/{seed.pk}/", f"/environments/{held.pk}/", f"/plans/{plan.pk}/"]
    pages += [f"/evolutions/{evolution.pk}/", f"/lineages/{seed.lineage.slug}/", f"/gates/{failed.pk}/"]

    html = "".join(client.get(page).content.decode() for page in pages)

    found = {
        "decide": f"/plans/{plan.pk}/approve/" in html,
        "override": "/override/" in html,
        "withdraw": "/withdraw/" in html,
        "Decide": 'id="act-decide"' in html,
        "evolve": "/evolve/" in html,
        "verify": "/verify/" in html,
        "cancel": "/cancel/" in html,
        "free": "/free/" in html,
        "void": "/void/" in html,
        "People": ">People<" in html,
    }
    assert {name for name, shown in found.items() if shown} == CONTROLS[role]


def test_a_role_that_was_taken_away_is_gone_with_the_next_page() -> None:
    user: User = factories.user("vera", role=REVIEWER)
    client, seed = _signed_in(user), factories.seed()
    assert client.post(f"/environments/{seed.pk}/withdraw/", {"seen": 0}).status_code == 422

    user.groups.clear()

    assert client.post(f"/environments/{seed.pk}/withdraw/", {"seen": 0, "reason": "x"}).status_code == 403
    assert not Environment.objects.get(pk=seed.pk).quarantined
