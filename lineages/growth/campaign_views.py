"""Campaigns: a night's work on one page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from lineages.growth import campaigns, spending
from lineages.growth.campaign_forms import CampaignForm, LimitsForm
from lineages.growth.models import Campaign, CampaignEntry, Evolution
from lineages.lifecycle import Stale
from lineages.pages import for_role, nothing_new, page, page_number, person, posted, stamp, unchanged
from lineages.roles import Role
from lineages.templatetags.pages import words

LIST_ROWS = 50
ENTRY_ROWS = 100


@require_safe
def campaign_list(request: HttpRequest) -> HttpResponse:
    number = page_number(request)
    rows = list(_counted(Campaign.objects.all())[(number - 1) * LIST_ROWS : number * LIST_ROWS + 1])
    context = {
        "rows": rows[:LIST_ROWS],
        "number": number,
        "previous": number - 1,
        "next": number + 1 if len(rows) > LIST_ROWS else 0,
    }
    return render(request, "lineages/campaign_list.html", context)


def _counted(found: QuerySet[Campaign]) -> QuerySet[Campaign]:
    grown = Evolution.objects.all()
    return found.select_related("started_by").annotate(
        size=_count_of(CampaignEntry.objects.all()),
        accepted=_count_of(grown.filter(status=Evolution.Status.ACCEPTED)),
        working=_count_of(grown.filter(status__in=Evolution.WORKABLE, paused_at=None)),
        waiting=_count_of(grown.filter(status__in=Evolution.HUMAN)),
    )


def _count_of(rows: QuerySet[Any]) -> Coalesce:
    """How many of the rows are a campaign's, without a join of thousands of them."""
    mine = rows.filter(campaign=OuterRef("pk")).order_by().values("campaign")
    return Coalesce(Subquery(mine.annotate(n=Count("pk")).values("n")), 0)


@require_http_methods(["GET", "HEAD", "POST"])
@for_role(Role.OPERATOR)
def campaign_start(request: HttpRequest) -> HttpResponse:
    form = CampaignForm(request.POST or None, initial={"generations": 3})
    if form.is_valid():
        try:
            return _started(request, form)
        except (campaigns.CannotCampaign, ValueError) as reason:
            form.add_error(None, str(reason))
    status = 422 if request.method == "POST" else 200
    return render(request, "lineages/campaign_start.html", {"form": form}, status=status)


def _started(request: HttpRequest, form: CampaignForm) -> HttpResponse:
    campaign = campaigns.create(
        form.cleaned_data["name"],
        form.environments(),
        form.settings(),
        generations=form.cleaned_data["generations"],
        parallel=form.cleaned_data["parallel"],
        limits=form.limits(),
        by=person(request),
    )
    campaigns.turn(campaign)
    return redirect("campaign_detail", pk=campaign.pk)


@require_safe
def campaign_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """Progress and yield, asked again by its own fragment until the campaign ends."""
    current = _stamp(pk)
    if nothing_new(request, current):
        return unchanged()
    return _show(request, pk, current=current)


@posted("campaign_detail", Role.OPERATOR)
def campaign_act(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    """Pause, resume or cancel all of it; 409 where it has ended meanwhile or a limit is still reached."""
    campaign = get_object_or_404(Campaign, pk=pk)
    try:
        ACTIONS[action](campaign, request)
    except (Stale, campaigns.CannotCampaign, KeyError) as reason:
        return _show(request, pk, conflict=f"Not done: {reason}.", status=409)
    return _done(request, pk, f"Done: {words(action)}.")


@posted("campaign_detail", Role.OPERATOR)
def campaign_limit(request: HttpRequest, pk: int) -> HttpResponse:
    """Set the limits anew."""
    campaign = get_object_or_404(Campaign, pk=pk)
    form = LimitsForm(request.POST)
    if not form.is_valid():
        return _show(request, pk, form=form, status=422)
    try:
        campaigns.limit(campaign, form.limits(), by=person(request))
    except (Stale, campaigns.CannotCampaign) as reason:
        return _show(request, pk, conflict=f"Not done: {reason}.", status=409)
    return _done(request, pk, "The limits are set.")


def _done(request: HttpRequest, pk: int, sentence: str) -> HttpResponse:
    if not request.htmx:  # type: ignore[attr-defined]
        messages.success(request, sentence)
        return redirect("campaign_detail", pk=pk)
    return _show(request, pk, done=sentence)


def _resume(campaign: Campaign, request: HttpRequest) -> None:
    campaigns.resume(campaign, by=person(request))
    campaigns.turn(campaign)


ACTIONS: dict[str, Callable[[Campaign, HttpRequest], None]] = {
    "cancel": lambda campaign, request: campaigns.cancel(campaign, by=person(request)),
    "pause": lambda campaign, request: campaigns.pause(campaign, by=person(request)),
    "resume": _resume,
}


def _show(
    request: HttpRequest, pk: int, *, status: int = 200, current: str = "", **said: Any
) -> HttpResponse:
    current = current or _stamp(pk)  # first: what changes while the rest is read is news to the next poll
    campaign = get_object_or_404(Campaign.objects.select_related("recipe", "started_by"), pk=pk)
    entries = list(_progress(campaign)[: ENTRY_ROWS + 1])
    context = {
        "campaign": campaign,
        "entries": entries[:ENTRY_ROWS],
        "size": campaign.entries.count(),
        "spent": spending.of(campaign),
        "working": campaigns.at_work(campaign).count(),
        "waiting": campaign.evolutions.filter(status__in=Evolution.HUMAN).count(),
        "moves": campaign.history().select_related("by"),
        "polls": campaign.status == Campaign.Status.RUNNING,
        "open": campaign.status in Campaign.TRANSITIONS,
        "form": LimitsForm.of(campaign),
        "stamp": current,
        **said,
    }
    return page(request, "lineages/campaign_detail.html", context, "detail", status)


def _progress(campaign: Campaign) -> QuerySet[CampaignEntry]:
    """Entries with how far their chains have come: `grown` generations and the `newest` evolution's state.

    A chain stays in its entry's lineage; two entries of one lineage share their counts.
    """
    chain = campaign.evolutions.filter(lineage=OuterRef("environment__lineage")).order_by()
    accepted = chain.filter(child__isnull=False).values("lineage").annotate(n=Count("pk")).values("n")
    newest = campaign.evolutions.filter(lineage=OuterRef("environment__lineage")).order_by("-pk")
    return campaign.entries.select_related("environment__lineage").annotate(
        grown=Coalesce(Subquery(accepted), 0),
        state=Subquery(newest.values("status")[:1]),
        newest=Subquery(newest.values("pk")[:1]),
    )


def _stamp(pk: int) -> str:
    campaign = get_object_or_404(Campaign, pk=pk)
    facts = campaign.evolutions.aggregate(
        versions=Count("pk"), newest=Max("status_since"), paused=Count("pk", filter=~Q(paused_at=None))
    )
    noted = campaign.entries.exclude(note="").count()
    limits = (campaign.cost_limit, campaign.hours_limit, campaign.accepted_limit, campaign.deadline)
    return stamp(campaign.version, campaign.paused_at, limits, noted, sorted(facts.items()))
