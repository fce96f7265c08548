"""Overriding a review, from the page of its plan or candidate."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from lineages.growth.evolving import CannotStart
from lineages.growth.models import Evolution, Plan, Review
from lineages.lifecycle import Stale
from lineages.pages import person, require
from lineages.review.forms import ReasonForm
from lineages.review.overriding import Follows, override
from lineages.review.views import candidate_page, plan_page
from lineages.roles import Role
from lineages.templatetags.pages import since, words

DONE = {
    Follows.BUILD: "evolution #{0} goes on to build this plan",
    Follows.VERIFY: "evolution #{0} has its gates look at this candidate again",
    Follows.START_AT_PLAN: "evolution #{0} starts at this plan",
    Follows.START_AT_CANDIDATE: "evolution #{0} starts at this candidate",
    Follows.CLOSE: "evolution #{0} goes on with its next direction",
    Follows.WITHDRAW: "the environment is withdrawn, with everything below it",
}


@require_http_methods(["GET", "HEAD", "POST"])
def review_override(request: HttpRequest, pk: int) -> HttpResponse:
    """Bound to what the page said would follow. Whoever only looks at the address is led to the page."""
    if request.method == "POST":
        require(request, Role.REVIEWER)
    review = get_object_or_404(Review.objects.select_related("plan", "candidate"), pk=pk)
    if request.method != "POST":
        return redirect(_address(review))
    form, shown = ReasonForm(request.POST), request.POST.get("follows", "")
    if not form.is_valid():
        return _page(request, review, override_form=form.pointed(), override_of=review.pk, status=422)
    try:
        evolution = override(review, shown=shown, reason=form.cleaned_data["reason"], by=person(request))
    except CannotStart as reason:
        return _page(request, review, conflict=f"Not overridden: {reason}.", status=409)
    except Stale:
        return _stale(request, review)
    return _done(request, review, shown, evolution)


def _done(request: HttpRequest, review: Review, shown: str, evolution: Evolution) -> HttpResponse:
    sentence = f"Overridden: {DONE[Follows(shown)].format(evolution.pk)}."
    if not request.htmx:  # type: ignore[attr-defined]
        messages.success(request, sentence)
        return redirect(_address(review))
    return _page(request, review, done=sentence, follow=evolution)


def _stale(request: HttpRequest, review: Review) -> HttpResponse:
    """The fresh page and one sentence. One's own override once more is no conflict."""
    by = Review.objects.filter(supersedes=review).select_related("user").first()
    if by and by.user == request.user:
        when = since(by.created_at, timezone.now())
        return _page(request, review, done=f"Already overridden by you, {when}; nothing was stored twice.")
    if by:
        when = since(by.created_at, timezone.now())
        sentence = f"{by.reviewer} overrode this {when}; your override was not stored."
    else:
        status = words(review.subject.attempt.evolution.status)
        sentence = (
            f"This page was too old: the evolution is now “{status}”, an override would do something else."
            " Nothing was stored; below is what it would do now."
        )
    return _page(request, review, conflict=sentence, status=409)


def _page(request: HttpRequest, review: Review, **said: object) -> HttpResponse:
    show = plan_page if isinstance(review.subject, Plan) else candidate_page
    return show(request, review.subject.pk, **said)


def _address(review: Review) -> str:
    kind = "plan" if isinstance(review.subject, Plan) else "candidate"
    return f"{reverse(f'{kind}_detail', args=[review.subject.pk])}#review-{review.pk}"
