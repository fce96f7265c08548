"""People: their roles, for admins; and everybody's own account."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from lineages.pages import for_role, person, posted, uncached
from lineages.people import accounts
from lineages.people.forms import ChangeForm, PersonForm
from lineages.roles import Role, held_by


@require_http_methods(["GET", "HEAD", "POST"])
@for_role(Role.ADMIN)
def person_list(request: HttpRequest) -> HttpResponse:
    """Everybody, and the form of a new account; its password stands in the one answer that made it."""
    form, made = PersonForm(request.POST or None), {}
    if form.is_valid():
        try:
            user, password = accounts.create(**form.cleaned_data, by=person(request))
            made, form = {"made": user, "password": password}, PersonForm()
        except accounts.NameTaken as taken:
            form.add_error("username", str(taken))
    status = 422 if form.is_bound else 200
    rows = [(user, held_by(user)) for user in accounts.people()]
    context = {"people": rows, "form": form, **made}
    return uncached(render(request, "lineages/person_list.html", context, status=status))


@for_role(Role.ADMIN)
@require_safe
def person_detail(request: HttpRequest, pk: int) -> HttpResponse:
    return _show(request, pk)


@posted("person_detail", Role.ADMIN)
def person_change(request: HttpRequest, pk: int, change: str) -> HttpResponse:
    """Another role, no more sign-in, a sign-in again, a new password: each with a reason that stays."""
    user = get_object_or_404(User, pk=pk)
    form = ChangeForm(request.POST)
    if not form.is_valid():
        return _show(request, pk, form=form, status=422)
    try:
        password = _CHANGES[change](user, form.cleaned_data, person(request))
    except accounts.LastAdmin as last:
        return _show(request, pk, conflict=str(last), status=409)
    if password:
        return _show(request, pk, password=password)
    messages.success(request, f"Stored: {user.get_username()} is changed.")
    return redirect("person_detail", pk=pk)


def _role(user: User, given: dict[str, Any], by: User) -> None:
    accounts.set_role(user, given["role"], reason=given["reason"], by=by)


def _deactivate(user: User, given: dict[str, Any], by: User) -> None:
    accounts.set_active(user, False, reason=given["reason"], by=by)


def _activate(user: User, given: dict[str, Any], by: User) -> None:
    accounts.set_active(user, True, reason=given["reason"], by=by)


def _password(user: User, given: dict[str, Any], by: User) -> str:
    return accounts.new_password(user, reason=given["reason"], by=by)


_CHANGES: Mapping[str, Callable[[User, dict[str, Any], User], str | None]] = {
    "role": _role,
    "deactivate": _deactivate,
    "activate": _activate,
    "password": _password,
}


def _show(request: HttpRequest, pk: int, *, status: int = 200, **said: Any) -> HttpResponse:
    user = get_object_or_404(User, pk=pk)
    held = held_by(user)
    context = {
        "person": user,
        "held": held,
        "form": ChangeForm(initial={"role": held or ""}),
        "moves": accounts.history(user),
        **said,
    }
    return uncached(render(request, "lineages/person_detail.html", context, status=status))


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def account_detail(request: HttpRequest) -> HttpResponse:
    """One's own password; a new one ends every other session of the account."""
    form = PasswordChangeForm(person(request), request.POST or None)
    if form.is_valid():
        accounts.own_password(form.save(commit=False))
        update_session_auth_hash(request, form.user)
        messages.success(request, "Stored: your new password. Every other session of yours is over.")
        return redirect("account_detail")
    status = 422 if form.is_bound else 200
    return uncached(render(request, "lineages/account_detail.html", {"form": form}, status=status))


@require_http_methods(["GET", "HEAD", "POST"])
def account_sessions(request: HttpRequest) -> HttpResponse:
    """Sign out everywhere else."""
    if request.method == "POST":
        ended = accounts.sign_out(person(request), but=request.session.session_key or "")
        messages.success(request, f"Signed out elsewhere: {ended} session{'' if ended == 1 else 's'} ended.")
    return redirect("account_detail")
