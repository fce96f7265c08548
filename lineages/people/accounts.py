"""Accounts and their roles. Each change leaves a row in the history of that person."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from axes.utils import reset
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from lineages.lifecycle import Move
from lineages.reasons import needed
from lineages.roles import Role, held_by

KIND = "user"
NONE = "none"
PASSWORD_BYTES = 12


class LastAdmin(ValueError):
    """Somebody has to be able to give roles."""


class NameTaken(ValueError):
    """There is an account of that name, or of one that people would take for that."""


def people() -> QuerySet[User]:
    return User.objects.prefetch_related("groups").order_by("username")


def history(user: User) -> QuerySet[Move]:
    return Move.objects.filter(kind=KIND, row=user.pk).select_related("by").order_by("id")


def create(username: str, role: Role | None, *, by: User | None) -> tuple[User, str]:
    """A new account and its password, which is kept nowhere. Raises `NameTaken`, `ValidationError`."""
    username, password = User.normalize_username(username.strip()), secrets.token_urlsafe(PASSWORD_BYTES)
    user = User(username=username)
    User._meta.get_field("username").run_validators(username)
    user.set_password(password)
    if User.objects.filter(username__iexact=username).exists():
        raise NameTaken(f"there is an account {username!r} already, in these letters or their capitals")
    try:
        with transaction.atomic():
            user.save()
            _give(user, role)
            _note(user, "", role or NONE, "account made", by)
    except IntegrityError as taken:
        raise NameTaken(f"there is an account {username!r} already") from taken
    return user, password


def set_role(user: User, role: Role | None, *, reason: str, by: User | None) -> None:
    """Give this role and take every other. Raises `LastAdmin`, `ReasonNeeded`."""
    reason = needed(reason)
    with _one_admin_stays():
        before = held_by(_fresh(user)) or NONE
        User.objects.filter(pk=user.pk).update(is_superuser=False)
        _give(user, role)
        _note(user, before, role or NONE, reason, by)


def set_active(user: User, active: bool, *, reason: str, by: User | None) -> None:
    """Let the person sign in or not; a deactivated one's sessions are over. As `set_role`."""
    reason = needed(reason)
    with _one_admin_stays():
        if User.objects.filter(pk=user.pk, is_active=not active).update(is_active=active):
            words = ("deactivated", "active")
            _note(user, words[not active], words[active], reason, by)
    if not active:
        sign_out(user)


def new_password(user: User, *, reason: str, by: User | None) -> str:
    """A new password, shown once; the old one and every session with it are over. Raises `ReasonNeeded`.

    Tries that failed before are forgotten, so that it works at once wherever the old one was refused.
    """
    reason, password = needed(reason), secrets.token_urlsafe(PASSWORD_BYTES)
    user.set_password(password)
    with transaction.atomic():
        user.save(update_fields=["password"])
        held = held_by(_fresh(user)) or NONE
        _note(user, held, held, f"new password: {reason}", by)
    reset(username=user.get_username())
    return password


def own_password(user: User) -> None:
    """Store the password that its owner has just set on `user`."""
    with transaction.atomic():
        user.save(update_fields=["password"])
        held = held_by(_fresh(user)) or NONE
        _note(user, held, held, "changed the password", user)


def sign_out(user: User, *, but: str = "") -> int:
    """End the person's sessions, except the one with the key `but`; returns how many those were."""
    ended = 0
    for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator():
        mine = session.get_decoded().get("_auth_user_id") == str(user.pk)
        if mine and session.session_key != but:
            session.delete()
            ended += 1
    return ended


@contextmanager
def _one_admin_stays() -> Iterator[None]:
    """A transaction that is undone with `LastAdmin` where it leaves no active admin."""
    with transaction.atomic():
        # One such change at a time: two admins who demote each other at once would leave none.
        group, _ = Group.objects.get_or_create(name=Role.ADMIN)
        Group.objects.filter(pk=group.pk).update(name=Role.ADMIN)
        yield
        admins = Q(is_superuser=True) | Q(groups__name=Role.ADMIN)
        if not User.objects.filter(admins, is_active=True).exists():
            raise LastAdmin("This is the last admin: give the role to somebody else first.")


def _give(user: User, role: Role | None) -> None:
    user.groups.remove(*Group.objects.filter(name__in=list(Role)))
    if role:
        user.groups.add(Group.objects.get_or_create(name=role)[0])


def _fresh(user: User) -> User:
    """As stored: a user object keeps the role that it was first asked for."""
    return User.objects.get(pk=user.pk)


def _note(user: User, before: str, after: str, reason: str, by: User | None) -> None:
    Move.objects.create(kind=KIND, row=user.pk, from_status=before, to_status=after, reason=reason, by=by)
