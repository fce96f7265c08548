"""Plans and candidates: what a person reads before deciding, and the decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from django.contrib import messages
from django.db.models import Model, Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_safe

from lineages.growth import history, overview
from lineages.growth.models import Attempt, Candidate, Evolution, Plan, Review
from lineages.library import alignment, rendering, shelf
from lineages.library.gate_context import gates_of
from lineages.lifecycle import Stale
from lineages.pages import page, person, posted
from lineages.review.decisions import decide_candidate, decide_plan
from lineages.review.forms import DecisionForm, ReasonForm
from lineages.review.overriding import follows
from lineages.review.reading import reading_of
from lineages.roles import Role
from lineages.templatetags.pages import since, words

Page = Callable[..., HttpResponse]
Row = TypeVar("Row", bound=Model)


class Decide(Protocol):
    def __call__(self, row: Any, /, *, version: int, decision: str, comment: str, by: Any) -> Evolution: ...


@require_safe
def plan_detail(request: HttpRequest, pk: int) -> HttpResponse:
    return plan_page(request, pk)


@posted("plan_detail", Role.REVIEWER)
def plan_decide(request: HttpRequest, pk: int, decision: str) -> HttpResponse:
    """Approve, reject or ask for changes; bound to the version that the page was drawn from."""
    return _decided(request, _plan(pk), decision, decide_plan, _plan_page)


@require_safe
def candidate_detail(request: HttpRequest, pk: int) -> HttpResponse:
    return candidate_page(request, pk)


@posted("candidate_detail", Role.REVIEWER)
def candidate_decide(request: HttpRequest, pk: int, decision: str) -> HttpResponse:
    """Sign off, reject or ask for changes; bound to the version that the page was drawn from."""
    return _decided(request, _candidate(pk), decision, decide_candidate, _candidate_page)


def _decided(
    request: HttpRequest, row: Plan | Candidate, decision: str, decide: Decide, show: Page
) -> HttpResponse:
    """Staleness first: a decision on what has moved on is never judged by its form."""
    form = DecisionForm(request.POST, decision=decision)
    if form.drawn_from() != row.attempt.evolution.version:
        return _stale(request, row, decision, show)
    if not form.is_valid():
        return show(request, row, form=form.pointed(), status=422)
    try:
        decide(row, **form.cleaned_data, decision=decision, by=person(request))
    except Stale:
        return _stale(request, row, decision, show)
    sentence = f"Stored: {words(decision)} by you."
    if not request.htmx:  # type: ignore[attr-defined]
        messages.success(request, sentence)
        return redirect(request.path.rsplit("/", 2)[0] + "/")
    return show(request, type(row).objects.get(pk=row.pk), done=sentence)


def _stale(request: HttpRequest, row: Plan | Candidate, decision: str, show: Page) -> HttpResponse:
    """The fresh page and one sentence on who decided. One's own decision once more is no conflict."""
    row = type(row).objects.select_related("attempt__evolution").get(pk=row.pk)
    last = row.reviews.filter(user__isnull=False).select_related("user").last()
    if last and last.user == request.user and last.decision == decision:
        when = since(last.created_at, timezone.now())
        return show(request, row, done=f"Already {words(decision)} by you, {when}; nothing was stored twice.")
    return show(request, row, conflict=_who(row, last, request.user), status=409)


def _who(row: Plan | Candidate, last: Review | None, me: Any) -> str:
    """The sentence for the one who came second."""
    evolution = row.attempt.evolution
    if last:
        name = "You" if last.user == me else last.reviewer
        when = since(last.created_at, timezone.now())
        return f"{name} {words(last.decision)} this {when}; your decision was not stored."
    moved = evolution.history().select_related("by").last()
    by = f" by {moved.by.get_username()}" if moved and moved.by else ""
    now = f"the evolution is now “{words(evolution.status)}”{by}"
    return f"This page was too old: {now}; your decision was not stored."


def plan_page(request: HttpRequest, pk: int, **said: Any) -> HttpResponse:
    return _plan_page(request, _plan(pk), **said)


def candidate_page(request: HttpRequest, pk: int, **said: Any) -> HttpResponse:
    return _candidate_page(request, _candidate(pk), **said)


def _plan_page(request: HttpRequest, plan: Plan, **said: Any) -> HttpResponse:
    evolution = plan.attempt.evolution
    draft = plan.draft
    attempt = plan.attempt
    waits = (
        evolution.status == Evolution.Status.PLAN_APPROVAL
        and attempt.outcome == Attempt.Outcome.OPEN
        and attempt.plan == plan
    )
    context = {
        "plan": plan,
        "draft": draft,
        "rows": alignment.align(draft.before, draft.after),
        "terms": shelf.forecast(draft, evolution.lineage.domain),
        "reading": reading_of(plan),
        "rounds": plan.attempt.plans.all(),
        "candidates": plan.candidates.all(),
        **_common(request, plan, evolution, waits, said),
    }
    return page(request, "lineages/plan_detail.html", context, "detail", said.get("status", 200))


def _candidate_page(request: HttpRequest, candidate: Candidate, **said: Any) -> HttpResponse:
    evolution = candidate.attempt.evolution
    attempt = candidate.attempt
    waits = (
        evolution.status == Evolution.Status.SIGN_OFF
        and attempt.outcome == Attempt.Outcome.OPEN
        and attempt.candidate == candidate
    )
    before, after = shelf.changed_files(evolution.parent.snapshot, candidate.snapshot)
    draft = candidate.plan.draft
    context = {
        "candidate": candidate,
        "draft": draft,
        "rows": alignment.align(draft.before, draft.after),
        "files": rendering.differences(before, after),
        "bindings": [row.value for row in candidate.bindings.all()],
        **gates_of(candidate.audit),
        "revisions": candidate.attempt.candidates.all(),
        **_common(request, candidate, evolution, waits, said),
    }
    return page(request, "lineages/candidate_detail.html", context, "detail", said.get("status", 200))


def _common(
    request: HttpRequest, row: Plan | Candidate, evolution: Evolution, waits: bool, said: dict[str, Any]
) -> dict[str, Any]:
    form = said.get("form") or DecisionForm(initial={"version": evolution.version})
    return {
        "evolution": evolution,
        "attempt": row.attempt,
        "waits": waits,
        "form": form,
        "done": said.get("done", ""),
        "conflict": said.get("conflict", ""),
        "reviews": _reviews(row),
        "override_form": said.get("override_form") or ReasonForm(auto_id="id_override_%s"),
        "override_of": said.get("override_of"),
        "origin": _origin(evolution),
        "moves": history.of_evolution(evolution),
        "follow": said.get("follow", evolution),
        "next": _next_waiting(evolution),
    }


def _reviews(row: Plan | Candidate) -> list[Review]:
    """Oldest first; the last one `follows` what overriding it would do, the others are past that."""
    related = ("user", "supersedes", "superseded_by", "started")
    reviews = list(row.reviews.select_related(*related).prefetch_related("criteria"))
    for review in reviews[-1:]:
        review.follows = follows(review)  # type: ignore[attr-defined]
    return reviews


def _origin(evolution: Evolution) -> Review | None:
    """The override that this evolution began with."""
    return Review.objects.filter(started=evolution).select_related("user").first()


def _next_waiting(evolution: Evolution) -> str:
    """Where the next decision waits, longest first, so that a morning's plans follow one another."""
    others = overview.with_work().filter(status__in=Evolution.HUMAN).exclude(pk=evolution.pk)
    following = others.order_by("status_since", "pk").first()
    return overview.waiting_link(following) if following else ""


def _plan(pk: int) -> Plan:
    return get_object_or_404(_with_evolution(Plan.objects.all()), pk=pk)


def _candidate(pk: int) -> Candidate:
    rows = _with_evolution(Candidate.objects.all()).select_related("plan", "audit", "snapshot")
    return get_object_or_404(rows.prefetch_related(Prefetch("bindings")), pk=pk)


def _with_evolution(rows: QuerySet[Row]) -> QuerySet[Row]:
    return rows.select_related(
        "attempt__evolution__lineage", "attempt__evolution__recipe", "attempt__evolution__parent__lineage"
    )
