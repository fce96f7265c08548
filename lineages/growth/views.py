"""Home, lineages and evolutions: what waits, what runs, what grew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from lineages import casting
from lineages.growth import branching, evolving, history, jobs, overview
from lineages.growth.currency import today
from lineages.growth.forms import LineageFilter, StartForm, VerifyForm
from lineages.growth.models import Evolution
from lineages.growth.nudge import nudge
from lineages.library import by_hand
from lineages.library.gate_context import asked_of, results_of, shown_audit
from lineages.library.models import Environment, Lineage
from lineages.library.views import one
from lineages.lifecycle import Stale
from lineages.pages import for_role, nothing_new, page, page_number, person, posted, stamp, unchanged
from lineages.roles import Role
from lineages.templatetags.pages import words

COLUMNS = (
    ("lineage", "Lineage", ""),
    ("domain", "Domain", ""),
    ("generations", "Generation", "num"),
    ("difficulty", "Difficulty of tip", "num"),
    ("state", "State", ""),
    ("newest", "Newest", ""),
)
LIST_ROWS = 50
HOME_ROWS = 20
NEWEST_ROWS = 12


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What waits for a person, what broke, what runs, what was accepted last."""
    evolutions = overview.with_work()
    waiting = list(
        evolutions.filter(status__in=Evolution.HUMAN).order_by("status_since", "pk")[: HOME_ROWS + 1]
    )
    running = list(
        evolutions.filter(status__in=Evolution.WORKABLE).order_by("-status_since")[: HOME_ROWS + 1]
    )
    broken = list(
        evolutions.filter(status=Evolution.Status.FAILED).order_by("-status_since")[: HOME_ROWS + 1]
    )
    fruitless = list(overview.fruitless()[: HOME_ROWS + 1])
    newest = (
        Environment.objects.filter(generation__gt=0)
        .select_related("lineage", "parent")
        .order_by("-created_at")
    )
    shown = (*waiting, *running, *broken, *fruitless)
    questions = by_hand.waiting().count()
    current = stamp(
        [(each.pk, each.version, each.faults, each.paused_at, each.waiting_for) for each in shown], questions
    )
    if nothing_new(request, current):
        return unchanged()
    context = {
        "questions": questions,
        "waiting": [(each, overview.waiting_link(each)) for each in waiting[:HOME_ROWS]],
        "running": running[:HOME_ROWS],
        "broken": broken[:HOME_ROWS],
        "fruitless": fruitless[:HOME_ROWS],
        "more": [name for name, rows in _named(waiting, running, broken, fruitless) if len(rows) > HOME_ROWS],
        "newest": newest[:NEWEST_ROWS],
        # Asked anew: what moved between the lists above stands in none of them, and has to come back.
        "polls": Evolution.objects.filter(status__in=Evolution.HUMAN | Evolution.WORKABLE).exists(),
        "empty": not Lineage.objects.exists(),
        "stamp": current,
    }
    return page(request, "lineages/home.html", context, "home")


@require_safe
def lineage_list(request: HttpRequest) -> HttpResponse:
    """Filter, sort and page live in the address. One row too many says whether there is a next page."""
    choice = LineageFilter(request.GET)
    sort = request.GET.get("sort", "-newest")
    number = page_number(request)
    found = overview.narrowed(overview.lineages(), choice.value("q"), choice.value("state"), sort)
    rows = list(found[(number - 1) * LIST_ROWS : number * LIST_ROWS + 1])
    context = {
        "rows": rows[:LIST_ROWS],
        "choice": choice,
        "columns": COLUMNS,
        "filtered": bool(choice.value("q") or choice.value("state")),
        "sort": sort,
        "number": number,
        "previous": number - 1,
        "next": number + 1 if len(rows) > LIST_ROWS else 0,
    }
    return page(request, "lineages/lineage_list.html", context, "list")


@require_safe
def lineage_detail(request: HttpRequest, slug: str) -> HttpResponse:
    lineage = get_object_or_404(Lineage, slug=slug)
    rows = overview.grown(lineage)
    evolutions = list(
        overview.with_work().filter(lineage=lineage).select_related("child__lineage").order_by("-pk")
    )
    unended = [each for each in evolutions if not each.ended or each.status == Evolution.Status.FAILED]
    context = {
        "lineage": lineage,
        "rows": rows,
        "tree": overview.picture(rows, reversed(unended)),
        "evolutions": evolutions,
        "tip": rows[-1].environment if rows else None,
        "provisional": any(row.environment.provisional for row in rows),
    }
    return render(request, "lineages/lineage_detail.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@for_role(Role.OPERATOR)
def evolution_start(request: HttpRequest, pk: int) -> HttpResponse:
    """Start an evolution from an environment."""
    parent = get_object_or_404(Environment.objects.select_related("lineage"), pk=pk)
    grown_by = branching.grown_by(parent)
    form = StartForm(request.POST or None, parent=parent, initial=_settings_of(grown_by))
    if form.is_valid():
        try:
            evolution = evolving.start(
                parent, form.settings(), generations=form.cleaned_data["generations"], by=person(request)
            )
            nudge(evolution)
            return redirect("evolution_detail", pk=evolution.pk)
        except (evolving.CannotStart, ValueError) as reason:
            form.add_error(None, str(reason))
    status = 422 if request.method == "POST" else 200
    context = {
        "parent": parent,
        "form": form,
        "grown_by": grown_by,
        "recipe": branching.described(grown_by.recipe) if grown_by else (),
    }
    return render(request, "lineages/evolution_start.html", context, status=status)


def _settings_of(evolution: Evolution | None) -> dict[str, Any]:
    """What the form starts with: the recipe so far, so that only what is changed makes another."""
    if evolution is None:
        return {}
    recipe = evolution.recipe
    return {
        "author": recipe.author,
        "effort": recipe.effort,
        "directions": recipe.directions.split(","),
        "approval": recipe.approval,
        "profile": recipe.profile,
        "seed": recipe.seed,
    }


@posted("environment_detail", Role.OPERATOR)
def environment_verify(request: HttpRequest, pk: int) -> HttpResponse:
    """Have the gates of a profile look at an environment again; its page shows how that goes."""
    environment = get_object_or_404(Environment.objects.select_related("lineage"), pk=pk)
    form = VerifyForm(request.POST)
    if not form.is_valid():
        said = " ".join(str(error) for errors in form.errors.values() for error in errors)
        messages.error(request, f"Nothing was queued: {said}")
        return redirect("environment_detail", pk=pk)
    chosen = form.chosen()
    job = jobs.request_audit(environment, person(request), **chosen)
    if any(getattr(job, name) != value for name, value in chosen.items()):
        messages.error(request, "Nothing was queued: a verification with other choices waits already.")
    else:
        messages.success(request, "Verification is queued; its results appear under Gates.")
    return redirect("environment_detail", pk=pk)


@require_safe
def environment_requirements(request: HttpRequest, pk: int) -> HttpResponse:
    """What is open of an environment's requirements, and whether the evidence is of today.

    An engine may be slow to say what it is: the page of the environment asks for this once it is shown.
    """
    environment = one(pk)
    audit = shown_audit(environment, request.GET.get("audit", ""))
    checked = today(environment, audit) if audit else None
    context = asked_of(environment, audit, results_of(audit), checked)
    return page(request, "lineages/environment_requirements.html", context, "requirements")


@require_safe
def evolution_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """The loops as they run. Asked again by its own fragment until the evolution is at an end."""
    current = _stamp(pk)
    if nothing_new(request, current):
        return unchanged()
    return _show(request, pk, current)


@posted("evolution_detail", Role.OPERATOR)
def evolution_act(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    """Cancel, pause, resume, move back: once done the fresh page, 409 where somebody was faster."""
    evolution = _evolution(pk)
    try:
        _ACTIONS[action](evolution, request)
    except (Stale, ValueError):
        return _refused(request, pk)
    if not request.htmx:  # type: ignore[attr-defined]
        messages.success(request, f"Done: {words(action)}.")
        return redirect("evolution_detail", pk=pk)
    return _show(request, pk, _stamp(pk))


def _cancel(evolution: Evolution, request: HttpRequest) -> None:
    evolving.cancel(evolution, by=person(request), reason=request.POST.get("reason", "")[:500])


def _pause(evolution: Evolution, request: HttpRequest) -> None:
    evolving.pause(evolution, by=person(request))


def _resume(evolution: Evolution, request: HttpRequest) -> None:
    evolving.resume(evolution, by=person(request))
    nudge(evolution)


def _move_back(evolution: Evolution, request: HttpRequest) -> None:
    evolving.move_back(evolution, by=person(request))
    nudge(evolution)


_ACTIONS: dict[str, Callable[[Evolution, HttpRequest], None]] = {
    "cancel": _cancel,
    "pause": _pause,
    "resume": _resume,
    "move_back": _move_back,
}


def _refused(request: HttpRequest, pk: int) -> HttpResponse:
    current, evolution = _stamp(pk), _evolution(pk)
    sentence = f"Not done: this evolution is now “{words(evolution.status)}”{_mover(evolution)}."
    return _show(request, pk, current, conflict=sentence, status=409)


def _show(
    request: HttpRequest, pk: int, current: str, *, conflict: str = "", status: int = 200
) -> HttpResponse:
    """`current` is the stamp from before reading, so that what changes meanwhile shows at the next poll."""
    evolution = _evolution(pk)
    context = {
        "evolution": evolution,
        "attempts": overview.timeline(evolution),
        "calls": overview.calls(evolution),
        "moves": history.of_evolution(evolution),
        "origin": evolution.origin,
        **_branch(evolution),
        "waiting_link": overview.waiting_link(evolution),
        "conflict": conflict,
        "stamp": current,
        "polls": not evolution.ended,
        "cancellable": not evolution.ended or evolution.status == Evolution.Status.FAILED,
        "pause_action": "resume" if evolution.paused_at else "pause",
    }
    return page(request, "lineages/evolution_detail.html", context, "detail", status)


def _branch(evolution: Evolution) -> dict[str, Any]:
    """Where the recipe is another than the one that made the parent."""
    before = Evolution.objects.filter(child=evolution.parent_id).select_related("recipe").first()
    changes = branching.differences(before.recipe, evolution.recipe) if before else []
    warnings = casting.warnings(evolution.recipe.cast)
    return {"branched_from": before, "branch": changes, "warnings": warnings}


def _evolution(pk: int) -> Evolution:
    related = ("child__lineage", "previous", "successor", "started_by", "origin__plan", "origin__candidate")
    return get_object_or_404(overview.with_work().select_related(*related), pk=pk)


def _stamp(pk: int) -> str:
    return stamp(overview.progress(pk))


def _mover(evolution: Evolution) -> str:
    last = evolution.history().select_related("by").last()
    return f" (by {last.by.get_username()})" if last and last.by else ""


def _named(*found: list[Evolution]) -> zip[Any]:
    return zip(("waiting", "running", "broken", "ended without a child"), found, strict=True)
