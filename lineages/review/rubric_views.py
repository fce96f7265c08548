"""The rubrics: what is judged today, how it came to be, and adding to it what a person found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from lineages.growth.models import Review
from lineages.library import rubrics
from lineages.library.models import Environment
from lineages.library.rubric_rows import RubricCriterion, RubricVersion
from lineages.library.rubrics import NAMES, PLAN, RubricMoved, RubricRefused
from lineages.pages import for_role, person, uncached
from lineages.review.criterion_counts import Counted, counts
from lineages.review.forms import ReasonForm
from lineages.review.rubric_forms import LONGEST_ORIGIN, CriterionForm, SeenWordingForm, finding
from lineages.roles import Role

FORM_METHODS = ["GET", "HEAD", "POST"]
NONE = Counted()


@dataclass(frozen=True)
class Row:
    """A criterion of a version: its counts, and what the version before had instead."""

    criterion: RubricCriterion
    counted: Counted
    change: str = ""
    before: RubricCriterion | None = None


@require_safe
def rubric_list(request: HttpRequest) -> HttpResponse:
    shown = []
    for name in NAMES:
        version = rubrics.newest(name)
        shown.append((version, _rows(version, counts(name)), RubricVersion.objects.filter(name=name)))
    return uncached(render(request, "lineages/rubric_list.html", {"rubrics": shown}))


@require_safe
def rubric_version(request: HttpRequest, name: str, ordinal: int) -> HttpResponse:
    """One version, with what it changed; its counts are of work that pins it."""
    newest = _newest(name)
    version = get_object_or_404(RubricVersion.objects.select_related("by"), name=name, ordinal=ordinal)
    before = RubricVersion.objects.filter(name=name, ordinal=ordinal - 1).first()
    rows = _rows(version, counts(name, version.version), before)
    kept = {row.criterion.key for row in rows}
    context = {
        "version": version,
        "before": before,
        "newest": newest,
        "rows": rows,
        "changed": any(row.change for row in rows),
        "retired": [each for each in before.criteria.all() if each.key not in kept] if before else [],
        "after": RubricVersion.objects.filter(name=name, ordinal=ordinal + 1).first(),
    }
    return uncached(render(request, "lineages/rubric_version.html", context))


@require_http_methods(FORM_METHODS)
@for_role(Role.REVIEWER)
def criterion_add(request: HttpRequest, name: str) -> HttpResponse:
    """A new criterion; `found_in` or `environment` in the address say what a person found wanting."""
    newest = _newest(name)
    if request.method != "POST":
        form = CriterionForm(rubric=name, initial=_found(request, name))
        return _adding(request, newest, form)
    form = CriterionForm(request.POST, rubric=name)
    if form.is_valid():
        data = form.cleaned_data
        try:
            rubrics.add_criterion(
                name, form.criterion(), by=person(request), note=data["note"], found_in=data["found_in"]
            )
        except RubricRefused as refused:
            form.add_error("key", str(refused))
        except RubricMoved as moved:
            form.add_error(None, str(moved))
        else:
            return _stored(request, name, f"Added to the {name} rubric: {data['title']}.")
    return _adding(request, newest, form, status=422)


@require_http_methods(FORM_METHODS)
@for_role(Role.REVIEWER)
def criterion_change(request: HttpRequest, name: str, criterion: str) -> HttpResponse:
    """Another wording for a criterion; the same page offers to retire it."""
    line = _line(name, criterion)
    if request.method != "POST":
        return _changing(request, line)
    form = SeenWordingForm(request.POST)
    if not form.is_valid():
        return _changing(request, line, form=form, status=422)
    try:
        rubrics.change_criterion(
            name,
            criterion,
            form.wording(),
            seen=_seen(request),
            by=person(request),
            note=form.cleaned_data["reason"],
        )
    except (RubricRefused, RubricMoved) as problem:
        return _changing(request, line, form=form, conflict=str(problem), status=409)
    return _stored(request, name, f"Changed in the {name} rubric: {form.cleaned_data['title']}.")


@require_http_methods(FORM_METHODS)
@for_role(Role.REVIEWER)
def criterion_retire(request: HttpRequest, name: str, criterion: str) -> HttpResponse:
    """Take a criterion out of the versions from now on."""
    line = _line(name, criterion)
    if request.method != "POST":
        return redirect("criterion_change", name=name, criterion=criterion)
    form = ReasonForm(request.POST, auto_id="id_retire_%s")
    if not form.is_valid():
        return _changing(request, line, retire_form=form.pointed(), status=422)
    reason = form.cleaned_data["reason"]
    try:
        rubrics.retire_criterion(name, criterion, seen=_seen(request), by=person(request), note=reason)
    except (RubricRefused, RubricMoved) as problem:
        return _changing(request, line, retire_form=form, conflict=str(problem), status=409)
    return _stored(request, name, f"Retired from the {name} rubric: {line.title}.")


def _newest(name: str) -> RubricVersion:
    if name not in NAMES:
        raise Http404(f"there is no rubric called {name}")
    return rubrics.newest(name)


def _line(name: str, criterion: str) -> RubricCriterion:
    return get_object_or_404(_newest(name).criteria.select_related("rubric"), key=criterion)


def _seen(request: HttpRequest) -> int:
    """The ordinal that was sent, or -1, which is never today's."""
    sent = request.POST.get("seen", "")
    return int(sent) if sent.isdecimal() and len(sent) < 10 else -1


def _rows(version: RubricVersion, counted: Any, before: RubricVersion | None = None) -> list[Row]:
    old = {each.key: each for each in before.criteria.all()} if before else {}
    rows = []
    for each in version.criteria.select_related("found_in__plan", "found_in__candidate"):
        was, change = old.get(each.key), ""
        if before and was is None:
            change = "new"
        elif was and (was.title, was.question) != (each.title, each.question):
            change = "changed"
        rows.append(Row(each, counted.get(each.key, NONE), change, was))
    return rows


def _adding(
    request: HttpRequest, newest: RubricVersion, form: CriterionForm, status: int = 200
) -> HttpResponse:
    number = str(form["found_in"].value() or "")
    review = finding(newest.name, int(number)) if number.isdecimal() and len(number) < 18 else None
    context = {"form": form, "version": newest, "review": review}
    return uncached(render(request, "lineages/rubric_criterion_form.html", context, status=status))


def _changing(request: HttpRequest, line: RubricCriterion, *, status: int = 200, **said: Any) -> HttpResponse:
    initial = {"title": line.title, "question": line.question}
    context = {
        "line": line,
        "version": line.rubric,
        "form": SeenWordingForm(initial=initial),
        "retire_form": ReasonForm(auto_id="id_retire_%s"),
        **said,
    }
    return uncached(render(request, "lineages/rubric_criterion_change.html", context, status=status))


def _stored(request: HttpRequest, name: str, sentence: str) -> HttpResponse:
    messages.success(request, f"{sentence} What is started from now on is judged by it.")
    return redirect("rubric_version", name=name, ordinal=rubrics.newest(name).ordinal)


def _found(request: HttpRequest, name: str) -> dict[str, Any]:
    """What the form begins with, from the review or the environment that the address names."""
    review = _named_review(request, name)
    if review is None:
        return {}
    evolution = review.subject.attempt.evolution
    where = f"{evolution.lineage.slug}, evolution #{evolution.pk}"
    origin = f"found by {review.reviewer} in a {'plan' if name == PLAN else 'candidate'} of {where}"
    said = review.comment if review.user_id else ""
    return {"found_in": review.pk, "origin": origin[:LONGEST_ORIGIN], "question": said, "note": said}


def _named_review(request: HttpRequest, name: str) -> Review | None:
    """That of the address; for an environment the last one of the candidate that it was."""
    number, place = request.GET.get("found_in", ""), request.GET.get("environment", "")
    if number.isdecimal() and len(number) < 18:
        return finding(name, int(number))
    if name == PLAN or not place.isdecimal() or len(place) >= 18:
        return None
    environment = get_object_or_404(Environment, pk=int(place))
    of = Review.objects.filter(
        candidate__snapshot=environment.snapshot, candidate__attempt__evolution__child=environment
    )
    return of.order_by("-pk").first()
