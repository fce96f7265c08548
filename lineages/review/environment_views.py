"""The page of an environment, and what a person does to it: withdraw it, free it, void a gate's failure."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from lineages.growth import history
from lineages.growth.withdrawing import ParentHeld, free, withdraw
from lineages.library.models import Environment, GateResult, Quarantine
from lineages.library.views import environment_context, gate_page, one
from lineages.lifecycle import Stale
from lineages.pages import person, posted
from lineages.review.forms import ReasonForm, SeenForm
from lineages.review.voiding import NothingToVoid, void
from lineages.roles import Role
from lineages.templatetags.pages import since


@require_safe
def environment_detail(request: HttpRequest, pk: int) -> HttpResponse:
    return _show(request, pk)


@posted("environment_detail", Role.REVIEWER)
def environment_withdraw(request: HttpRequest, pk: int) -> HttpResponse:
    """Hold it and everything below back; bound to what the page knew of earlier withdrawals."""
    environment = one(pk)
    form = SeenForm(request.POST)
    if form.seen() != holds_stamp(environment):
        return _show(request, pk, conflict=_since_then(environment), status=409)
    if not form.is_valid():
        return _show(request, pk, withdraw_form=form.pointed(), status=422)
    try:
        held = withdraw(environment, reason=form.cleaned_data["reason"], by=person(request))
    except Stale:
        return _show(request, pk, conflict=_since_then(environment), status=409)
    below = len(held) - 1
    messages.success(
        request, f"Withdrawn: {environment}, and {below} environment{'' if below == 1 else 's'} below it."
    )
    return redirect("environment_detail", pk=pk)


@posted("environment_detail", Role.OPERATOR)
def environment_free(request: HttpRequest, pk: int) -> HttpResponse:
    """End one of the quarantines that hold it back, the one that the form names."""
    environment = one(pk)
    sent = request.POST.get("hold", "")
    holds = Quarantine.objects.select_related("environment__parent")
    hold = get_object_or_404(
        holds, pk=int(sent) if sent.isdecimal() and len(sent) < 19 else 0, environment=pk
    )
    form = ReasonForm(request.POST)
    if not form.is_valid():
        return _show(request, pk, free_form=form.pointed(), free_hold=hold.pk, status=422)
    try:
        all_free = free(hold, reason=form.cleaned_data["reason"], by=person(request))
    except ParentHeld as held:
        return _show(request, pk, conflict=f"Not freed: {held}.", status=409)
    except Stale:
        return _show(request, pk, conflict=_since_then(environment), status=409)
    left = "" if all_free else " Another withdrawal still holds it back."
    messages.success(request, f"Freed: {environment}.{left}")
    return redirect("environment_detail", pk=pk)


@posted("gate_detail", Role.ADMIN)
def gate_void(request: HttpRequest, pk: int) -> HttpResponse:
    """Say that a failure does not stand, for as long as nothing that the gate looked at changes."""
    result = get_object_or_404(GateResult, pk=pk)
    form = ReasonForm(request.POST)
    if not form.is_valid():
        return gate_page(request, pk, form=form.pointed(), status=422)
    try:
        voiding, new = void(result, reason=form.cleaned_data["reason"], by=person(request))
    except NothingToVoid as problem:
        return gate_page(
            request, pk, form=ReasonForm(), conflict=f"Nothing was stored: {problem}.", status=409
        )
    if not new and voiding.by != request.user:
        when = since(voiding.at, timezone.now())
        sentence = f"{voiding.by.get_username()} voided this failure {when}; your reason was not stored."
        return gate_page(request, pk, form=ReasonForm(), conflict=sentence, status=409)
    messages.success(request, "Stored: this failure is voided under its key.")
    return redirect("gate_detail", pk=pk)


@require_safe
def gate_detail(request: HttpRequest, pk: int) -> HttpResponse:
    return gate_page(request, pk, form=ReasonForm())


def holds_stamp(environment: Environment) -> int:
    """Rises with each withdrawal and each freeing of it: what a page sends back as `seen`."""
    return environment.quarantines.count() + environment.quarantines.filter(freed_at__isnull=False).count()


def _since_then(environment: Environment) -> str:
    """The sentence for the one who came second."""
    last = environment.quarantines.select_related("by", "freed_by").last()
    if last is None:
        return "This page was too old; nothing was stored."
    done, by, at = ("withdrew", last.by, last.at)
    if last.freed_at and last.freed_by:
        done, by, at = ("freed", last.freed_by, last.freed_at)
    return f"{by.get_username()} {done} this {since(at, timezone.now())}; yours was not stored."


def _show(request: HttpRequest, pk: int, *, status: int = 200, **said: Any) -> HttpResponse:
    environment = one(pk)
    holds = environment.quarantines.filter(freed_at=None).select_related("by", "origin__lineage")
    seen = holds_stamp(environment)
    said.setdefault("withdraw_form", SeenForm(initial={"seen": seen}))
    context = {
        **environment_context(environment),
        "moves": history.of_environment(environment),
        "holds": [(hold, ReasonForm(auto_id=f"id_%s_{hold.pk}")) for hold in holds],
        "withdrawn": any(hold.origin_id == environment.pk for hold in holds),
        "parent_held": bool(environment.parent and environment.parent.quarantined),
        "seen": seen,
        **said,
    }
    return render(request, "lineages/environment_detail.html", context, status=status)
