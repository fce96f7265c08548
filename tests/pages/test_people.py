"""People: accounts, roles, passwords, sessions, and logins that fail too often."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client, override_settings
from django.utils import timezone

from lineages.lifecycle import Move
from lineages.people import accounts
from lineages.roles import Role, held_by
from tests import factories
from tests.lineages.test_lifecycle import at_once
from tests.pages.conftest import _signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def grace() -> User:
    return factories.user("grace", role="admin")  # type: ignore[no-any-return]


@pytest.fixture
def admin(grace: User) -> Client:
    return _signed_in(grace)


def login(name: str, password: str, client: Client | None = None, **extra: Any) -> Any:
    return (client or Client()).post("/login/", {"username": name, "password": password}, **extra)


def role(name: str) -> Role | None:
    return held_by(User.objects.get(username=name))


def password_in(response: Any) -> str:
    found = re.search(r'id="password">([^<]+)<', response.content.decode())
    assert found
    return found[1]


def change(client: Client, user: User, what: str, **fields: str) -> Any:
    return client.post(f"/people/{user.pk}/{what}/", {"reason": "asked for it", **fields})


def test_the_list_shows_everybody_with_role_last_sign_in_and_whether_they_may(admin: Client) -> None:
    factories.user("vera", role="viewer", last_login=timezone.now())
    factories.user("new", role="", is_active=False)
    html = admin.get("/people/").content.decode()
    for expected in ("grace", "vera", "viewer", "just now", "no role", "deactivated"):
        assert expected in html


def test_an_account_is_made_with_a_password_that_is_shown_once(admin: Client, grace: User) -> None:
    made = admin.post("/people/", {"username": "vera", "role": "viewer"})

    password = password_in(made)
    assert role("vera") == Role.VIEWER
    assert password not in admin.get("/people/").content.decode()
    assert login("vera", password).status_code == 302
    (note,) = accounts.history(User.objects.get(username="vera"))
    assert (note.to_status, note.by, note.reason) == ("viewer", grace, "account made")


def test_a_name_that_is_taken_makes_nothing(admin: Client) -> None:
    response = admin.post("/people/", {"username": "grace", "role": "viewer"})
    assert response.status_code == 422
    assert "already" in response.content.decode()
    assert User.objects.count() == 1


def test_a_role_is_given_with_a_reason_and_stands_in_the_history(admin: Client, grace: User) -> None:
    vera = factories.user("vera", role="viewer")

    assert change(admin, vera, "role", role="operator", reason="joins the night shift").status_code == 302

    assert role("vera") == Role.OPERATOR
    assert list(vera.groups.values_list("name", flat=True)) == ["operator"], "one role, not two"
    note = Move.objects.get(kind="user", row=vera.pk)
    assert (note.from_status, note.to_status, note.by) == ("viewer", "operator", grace)
    assert "joins the night shift" in admin.get(f"/people/{vera.pk}/").content.decode()


@pytest.mark.parametrize("reason", [" ", "\u200b\u2060"])
def test_no_change_without_a_reason(admin: Client, reason: str) -> None:
    vera = factories.user("vera", role="viewer")
    for what in ("role", "deactivate", "password"):
        assert change(admin, vera, what, role="admin", reason=reason).status_code == 422
    assert role("vera") == Role.VIEWER
    assert not Move.objects.exists()


@pytest.mark.parametrize("name", ["Grace", "v" * 151, "a b", ""])
def test_no_account_of_a_name_that_is_too_like_another_too_long_or_none(admin: Client, name: str) -> None:
    assert admin.post("/people/", {"username": name, "role": "viewer"}).status_code == 422
    assert User.objects.count() == 1


@pytest.mark.parametrize(("what", "fields"), [("role", {"role": "viewer"}), ("deactivate", {})])
def test_the_last_admin_stays(admin: Client, grace: User, what: str, fields: dict[str, str]) -> None:
    factories.user("gone", role="admin", is_active=False)

    response = change(admin, grace, what, **fields)

    assert response.status_code == 409
    assert "last admin" in response.content.decode()
    grace.refresh_from_db()
    assert (role("grace"), grace.is_active) == (Role.ADMIN, True)
    assert not Move.objects.exists()


def test_one_of_two_admins_may_go(admin: Client, grace: User) -> None:
    factories.user("second", role="", is_superuser=True)
    assert change(admin, grace, "role", role="viewer").status_code == 302
    assert role("grace") == Role.VIEWER


def test_a_deactivated_person_is_out_at_once(admin: Client) -> None:
    vera = factories.user("vera", role="viewer")
    hers = _signed_in(vera)
    assert hers.get("/").status_code == 200

    change(admin, vera, "deactivate")

    assert hers.get("/").status_code == 302
    assert login("vera", "vera").status_code == 200, "the form again"
    change(admin, vera, "activate")
    assert login("vera", "vera").status_code == 302


def test_a_new_password_by_an_admin_ends_the_old_ones_sessions(admin: Client) -> None:
    vera = factories.user("vera", role="viewer")
    hers = _signed_in(vera)

    password = password_in(change(admin, vera, "password"))

    assert hers.get("/").status_code == 302
    assert login("vera", password).status_code == 302
    assert login("vera", "vera").status_code == 200


def test_ones_own_new_password_ends_every_other_session(ada: User) -> None:
    here, there = _signed_in(ada), _signed_in(ada)
    fields = {"old_password": "ada", "new_password1": "a longer one 7", "new_password2": "a longer one 7"}

    assert here.post("/account/", {**fields, "old_password": "wrong"}).status_code == 422
    assert there.get("/account/").status_code == 200
    assert here.post("/account/", fields).status_code == 302

    assert here.get("/account/").status_code == 200
    assert there.get("/account/").status_code == 302


def test_ones_own_new_password_stands_in_the_history(ada: User) -> None:
    fields = {"old_password": "ada", "new_password1": "a longer one 7", "new_password2": "a longer one 7"}
    _signed_in(ada).post("/account/", {**fields, "old_password": "wrong"})
    assert not accounts.history(ada).exists()

    _signed_in(ada).post("/account/", fields)

    (note,) = accounts.history(ada)
    assert (note.by, note.to_status, note.reason) == (ada, "operator", "changed the password")
    assert login("ada", "a longer one 7").status_code == 302


def test_one_can_sign_out_everywhere_else(ada: User, bob: User) -> None:
    here, there, bobs = _signed_in(ada), _signed_in(ada), _signed_in(bob)

    page = here.post("/account/sessions/", follow=True).content.decode()

    assert "1 session ended" in page
    assert (here.get("/").status_code, there.get("/").status_code, bobs.get("/").status_code) == (
        200,
        302,
        200,
    )


def test_a_session_slides_with_pages_and_not_with_polls(ada: User) -> None:
    client = Client()
    client.force_login(ada)
    client.get("/?seen=0", headers={"HX-Request": "true"})
    assert "opened" not in client.session

    client.get("/")

    assert client.session["opened"] > 0


def test_the_sixth_try_is_refused_with_the_right_password_too(ada: User, bob: User) -> None:
    for _ in range(5):
        login("ada", "wrong")

    refused = login("ada", "ada")

    html = refused.content.decode()
    assert refused.status_code == 429
    assert "Too many wrong passwords." in html and "15 minutes" in html
    assert login("bob", "bob").status_code == 302, "nobody else is locked out"
    assert login("ada", "ada", REMOTE_ADDR="10.0.0.7").status_code == 302, "nor is she from elsewhere"


def test_a_new_password_by_an_admin_works_at_once_where_the_old_one_was_refused(
    admin: Client, ada: User, bob: User
) -> None:
    for _ in range(5):
        login("ada", "wrong")
        login("bob", "wrong")

    password = password_in(change(admin, ada, "password"))

    assert login("ada", password).status_code == 302
    assert login("bob", "bob").status_code == 429, "nobody else is let in by it"


@pytest.mark.parametrize("name", ["\uff41da", " ada ", "ada"])
def test_other_spellings_of_a_name_are_counted_as_that_name(ada: User, name: str) -> None:
    for _ in range(5):
        login(name, "wrong")
    assert login("ada", "ada").status_code == 429
    assert login("\uff41da", "ada").status_code == 429


@pytest.mark.parametrize("name", ["a" * 151, "a" * 5000, "a\0b"])
def test_a_name_that_nobody_can_have_is_refused_and_not_kept(client: Client, name: str) -> None:
    assert login(name, "x", client).status_code == 200
    assert not AccessAttempt.objects.exists()


def test_a_sign_in_gives_the_session_another_key(client: Client, ada: User) -> None:
    planted = Client()
    planted.get("/login/")
    session = planted.session
    session["left"] = "behind"
    session.save()
    client.cookies["sessionid"] = session.session_key

    assert login("ada", "ada", client).status_code == 302

    assert client.cookies["sessionid"].value != session.session_key
    planted.cookies["sessionid"] = session.session_key
    assert planted.get("/account/").status_code == 302


def test_a_right_password_forgets_the_wrong_ones(ada: User) -> None:
    for _ in range(2):
        for _ in range(4):
            assert login("ada", "wrong").status_code == 200
        assert login("ada", "ada").status_code == 302


def test_what_a_client_says_of_its_address_counts_for_nothing_by_default(ada: User) -> None:
    for number in range(5):
        login("ada", "wrong", headers={"X-Forwarded-For": f"10.0.0.{number}"})
    assert login("ada", "ada", headers={"X-Forwarded-For": "10.0.0.9"}).status_code == 429


@override_settings(PROXY_HEADER="X-Forwarded-For")
def test_behind_our_own_proxy_only_what_the_proxy_added_counts(ada: User) -> None:
    for number in range(5):
        login("ada", "wrong", headers={"X-Forwarded-For": f"10.9.9.{number}, 192.0.2.1"})
    assert login("ada", "ada", headers={"X-Forwarded-For": "10.0.0.9, 192.0.2.1"}).status_code == 429
    assert login("ada", "ada", headers={"X-Forwarded-For": "10.0.0.9, 192.0.2.2"}).status_code == 302


def test_the_command_adds_lists_and_gives_roles(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("people", "add", "vera", "admin", "--json")
    made = json.loads(capsys.readouterr().out)
    call_command("people", "add", "bo", "none")
    call_command("people", "role", "bo", "viewer", "--reason", "reads along")
    call_command("people", "list", "--json")
    listed = json.loads(capsys.readouterr().out.split("now\n")[1])["people"]

    assert login("vera", made["password"]).status_code == 302
    assert [(row["name"], row["role"]) for row in listed] == [("bo", "viewer"), ("vera", "admin")]


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["add", "vera", "viewer"], 1, "already"),
        (["role", "vera", "viewer", "--reason", "x"], 1, "last admin"),
        (["role", "nobody", "viewer", "--reason", "x"], 2, "no account"),
        (["add", "a b", "viewer"], 2, "username"),
        (["add", "v" * 151, "viewer"], 2, "150 characters"),
    ],
)
def test_the_command_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str], words: list[str], code: int, sentence: str
) -> None:
    factories.user("vera", role="admin")
    with pytest.raises(SystemExit) as left:
        call_command("people", *words)
    assert left.value.code == code
    assert sentence in capsys.readouterr().err
    assert Group.objects.get(name="admin").user_set.count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.lifecycle
@pytest.mark.parametrize("change_of", ["role", "active"])
def test_two_admins_who_remove_each_other_at_once_leave_one(change_of: str) -> None:
    names = ("grace", "alan", "edsger")
    people = [factories.user(name, role="admin") for name in names]

    def remove(one: User, by: User) -> None:
        if change_of == "role":
            accounts.set_role(one, Role.VIEWER, reason="moved on", by=by)
        else:
            accounts.set_active(one, False, reason="moved on", by=by)

    answers = at_once(*[lambda at=at: remove(people[at], people[at - 1]) for at in range(3)])  # type: ignore[misc]

    assert [type(each) for each in answers].count(accounts.LastAdmin) == 1
    assert answers.count(None) == 2
    left = User.objects.filter(groups__name=Role.ADMIN, is_active=True)
    assert left.count() == 1
    assert not accounts.history(left.get()).exists()
