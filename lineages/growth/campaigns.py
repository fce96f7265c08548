"""Campaigns: many lineages grown under one budget and one deadline.

A campaign keeps `parallel` of its evolutions at work. `turn` is its one step, safe to repeat and to race:
it stops the campaign at a limit, starts what may be started, and finishes it when nothing is left. It is
taken after each step of one of its evolutions and by every sweep.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.text import slugify

from lineages.growth import evolving, spending
from lineages.growth.models import Campaign, CampaignEntry, Evolution
from lineages.growth.nudge import nudge
from lineages.growth.withdrawing import GONE_ON
from lineages.library.models import Environment
from lineages.lifecycle import Lease, LeaseLost, Move, Stale, claim, move
from lineages.lifecycle import cancel as cancel_row

Status = Campaign.Status

MOST = 10**9
"""Of any limit: dollars, hours or environments."""
MOST_PARALLEL = 256


class CannotCampaign(Exception):
    """The campaign was not made or changed; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds a campaign; None does not bound. US dollars, hours of sandbox time, environments."""

    cost: Decimal | None = None
    hours: float | None = None
    accepted: int | None = None
    deadline: datetime | None = None

    def fields(self) -> dict[str, object]:
        return {
            "cost_limit": self.cost,
            "hours_limit": self.hours,
            "accepted_limit": self.accepted,
            "deadline": self.deadline,
        }

    def check(self) -> None:
        """Raises `CannotCampaign` for a limit that nothing could keep to, or that no row could hold."""
        for name, value in (("cost", self.cost), ("hours", self.hours), ("accepted", self.accepted)):
            if value is not None and not (math.isfinite(value) and 0 < value <= MOST):
                raise CannotCampaign(
                    f"the limit of {name} has to be above zero and at most {MOST}; leave it out for no limit"
                )


def create(
    name: str,
    environments: Sequence[Environment],
    settings: evolving.RecipeSettings,
    *,
    generations: int,
    parallel: int,
    limits: Limits,
    by: User | None = None,
) -> Campaign:
    """A running campaign over these environments, each of them once. Its first evolutions start at its turn.

    Raises `CannotCampaign`, and `ValueError` for a wrong setting.
    """
    limits.check()
    slug = slugify(name)[:80]
    if not slug:
        raise CannotCampaign("give the campaign a name of letters or digits")
    if not environments:
        raise CannotCampaign("choose at least one environment to grow from")
    if not 1 <= generations <= evolving.MOST_GENERATIONS:
        raise CannotCampaign(f"ask for 1 to {evolving.MOST_GENERATIONS} generations, not {generations}")
    if not 1 <= parallel <= MOST_PARALLEL:
        raise CannotCampaign(f"1 to {MOST_PARALLEL} evolutions can be at work at once, not {parallel}")
    try:
        with transaction.atomic():
            campaign = Campaign.objects.create(
                slug=slug,
                status=Status.RUNNING,
                recipe=settings.recipe(),
                generations=generations,
                parallel=parallel,
                started_by=by,
                **limits.fields(),
            )
            _enter(campaign, environments)
    except IntegrityError as taken:
        raise CannotCampaign(f"there is a campaign called {slug} already: choose another name") from taken
    _note(campaign, "started", by)
    return campaign


def _enter(campaign: Campaign, environments: Iterable[Environment]) -> None:
    once = dict.fromkeys(environments)
    CampaignEntry.objects.bulk_create(
        CampaignEntry(campaign=campaign, position=position, environment=environment)
        for position, environment in enumerate(once, start=1)
    )


def turn(campaign: Campaign) -> Campaign:
    """Stop at a limit, start what may be started, finish. Nothing where another turn or a pause holds it."""
    lease = claim(campaign)
    if lease is None:
        campaign.refresh_from_db()
        return campaign
    try:
        reached = reached_limit(campaign)
        if reached:
            _stop(lease, campaign, reached)
        else:
            _start_due(lease, campaign)
            if not _unfinished(campaign):
                lease.move(Status.FINISHED, reason=summary(campaign))
    except (LeaseLost, Stale):
        pass  # paused, cancelled or taken over meanwhile: that one's word holds
    finally:
        lease.release()
    campaign.refresh_from_db()
    return campaign


def turn_of(evolution_id: int) -> None:
    """The turn of the running campaign that the evolution belongs to, if any."""
    for campaign in Campaign.objects.filter(Campaign.claimable(), evolutions=evolution_id):
        turn(campaign)


def turn_all() -> None:
    """The turn of each running campaign, and the end of what a cancel that died on its way left open."""
    for campaign in Campaign.objects.filter(Campaign.claimable()):
        turn(campaign)
    left = Evolution.objects.exclude(status__in=GONE_ON)
    for campaign in Campaign.objects.filter(status=Status.CANCELLED, evolutions__in=left).distinct():
        _cancel_open(campaign, None)


def reached_limit(campaign: Campaign) -> str:
    """The limit that is reached, as a sentence; empty while there is none."""
    if campaign.deadline and Campaign.objects.filter(pk=campaign.pk, deadline__lte=Now()).exists():
        return f"the deadline of {campaign.deadline:%Y-%m-%d %H:%M} is over"
    if (campaign.cost_limit, campaign.hours_limit, campaign.accepted_limit) == (None, None, None):
        return ""  # adding up is the dear part of a turn, which follows each step
    spent = spending.of(campaign)
    if campaign.cost_limit is not None and (reached := _reached_cost(campaign, campaign.cost_limit, spent)):
        return reached
    if campaign.hours_limit is not None and spent.sandbox_hours >= campaign.hours_limit:
        return f"the budget of {campaign.hours_limit:g} sandbox hours is spent ({spent.sandbox_hours:.2f})"
    if campaign.accepted_limit is not None and spent.accepted >= campaign.accepted_limit:
        return f"the {campaign.accepted_limit} environments that were asked for are there"
    return ""


def _reached_cost(campaign: Campaign, most: Decimal, spent: spending.Spent) -> str:
    """What is not settled counts with the most that it may cost; what may cost anything ends it."""
    if spent.cost >= most:
        return f"the budget of ${most} is spent (${spent.cost:.2f})"
    if not (spent.unpriced or spent.unsettled):
        return ""
    on_top = spending.on_top(campaign, settings.MODELS)
    if on_top.boundless:
        count = sum(on_top.boundless.values())
        lines = " and ".join(f"models.{name}.price" for name in sorted(on_top.boundless))
        return (
            f"{count} request{'' if count == 1 else 's'} of unknown cost, which no limit of cost can count: "
            f"write {lines} into models.toml, or take the limit off"
        )
    if spent.cost + on_top.most >= most:
        return (
            f"the budget of ${most} is spent (${spent.cost:.2f}, and at most ${on_top.most:.2f} for requests "
            "that are not settled or of unknown cost)"
        )
    return ""


def _stop(lease: Lease, campaign: Campaign, reason: str) -> None:
    with transaction.atomic():
        lease.move(Status.STOPPED, reason=reason)
        _pause_open(campaign, None)


def _start_due(lease: Lease, campaign: Campaign) -> None:
    """Start evolutions of entries in their order until enough are at work."""
    free = campaign.parallel - at_work(campaign).count()
    # One at a time, since `due` is long and each turn starts few; a start takes the entry out of it.
    due = not_begun(campaign).select_related("environment__lineage")
    while free > 0 and (entry := due.first()):
        free -= _start(lease, campaign, entry)


def _start(lease: Lease, campaign: Campaign, entry: CampaignEntry) -> int:
    """Start one entry, or note why it cannot be; returns how many evolutions that made."""
    with lease.writing():
        # A pause that came meanwhile is seen here or waits for this row, and then finds the evolution.
        if not Campaign.objects.filter(pk=campaign.pk, paused_at=None).exists():
            raise LeaseLost(f"campaign {campaign.pk} is paused")
        try:
            evolution = evolving.start(
                entry.environment,
                campaign.recipe,
                generations=campaign.generations,
                by=campaign.started_by,
                campaign=campaign,
            )
        except evolving.CannotStart as reason:
            CampaignEntry.objects.filter(pk=entry.pk).update(note=str(reason))
            return 0
        CampaignEntry.objects.filter(pk=entry.pk).update(evolution=evolution)
        nudge(evolution)
    return 1


def at_work(campaign: Campaign) -> QuerySet[Evolution]:
    """Evolutions that keep a machine or a model busy; those that wait for a person do not."""
    return campaign.evolutions.filter(status__in=Evolution.WORKABLE, paused_at=None)


def not_begun(campaign: Campaign) -> QuerySet[CampaignEntry]:
    """Entries that a turn may still start, in their order."""
    return campaign.entries.filter(evolution=None, note="")


def _unfinished(campaign: Campaign) -> bool:
    """A failed evolution has ended: it is told as failed, and goes on by itself if a person moves it back."""
    return _open(campaign).exists() or not_begun(campaign).exists()


def _open(campaign: Campaign) -> QuerySet[Evolution]:
    return campaign.evolutions.exclude(status__in=Evolution.ENDED)


def summary(campaign: Campaign) -> str:
    spent = spending.of(campaign)
    return f"{spent.accepted} environments accepted in {spent.sandbox_hours:.2f} sandbox hours"


def pause(campaign: Campaign, *, by: User | None) -> None:
    """No further step of it is claimed; running steps end first. Raises `Stale` when it has ended."""
    _check_open(campaign)
    with transaction.atomic():
        still = Campaign.objects.filter(pk=campaign.pk, paused_at=None, status__in=Campaign.TRANSITIONS)
        if still.update(paused_at=Now()):
            _note(campaign, "paused", by)
            _pause_open(campaign, by)
    campaign.refresh_from_db()


def _pause_open(campaign: Campaign, by: User | None) -> None:
    # An evolution that is being accepted just now leaves a successor, which only another look finds.
    while found := list(_open(campaign).filter(paused_at=None)):
        for evolution in found:
            evolving.pause(evolution, by=by)


def resume(campaign: Campaign, *, by: User | None) -> None:
    """Go on, also after a stop whose limit was moved.

    Raises `Stale` when the campaign has ended, `CannotCampaign` while a limit is still reached.
    """
    _check_open(campaign)
    reached = reached_limit(campaign)
    if reached:
        raise CannotCampaign(f"{reached}: raise that limit first, or take it off")
    with transaction.atomic():
        if campaign.status == Status.STOPPED:
            move(campaign, Status.RUNNING, reason="resumed", by=by, paused_at=None)
        elif Campaign.objects.filter(pk=campaign.pk, paused_at__isnull=False).update(paused_at=None):
            _note(campaign, "resumed", by)
        else:
            return  # it runs; what a person has paused in it stays paused
        for evolution in _open(campaign):
            evolving.resume(evolution, by=by)
            nudge(evolution)
    campaign.refresh_from_db()


def cancel(campaign: Campaign, *, by: User | None, reason: str = "") -> None:
    """End the campaign and every evolution of it that is open or could be moved back.

    Raises `Stale` when it has ended already.
    """
    while True:
        _check_open(campaign)
        with contextlib.suppress(Stale):  # a turn has just taken or given back its lease: look again
            cancel_row(campaign, Status.CANCELLED, reason=reason or "cancelled", by=by)
            break
    _cancel_open(campaign, by)


def _cancel_open(campaign: Campaign, by: User | None) -> None:
    why = f"campaign {campaign.slug} was cancelled"
    # An evolution that was just accepted may have a successor that this loop has not seen: look again.
    while found := list(campaign.evolutions.exclude(status__in=GONE_ON)):
        for evolution in found:
            with contextlib.suppress(Stale):
                evolving.cancel(evolution, by=by, reason=why)


def limit(campaign: Campaign, limits: Limits, *, by: User | None) -> None:
    """Move the limits; a stopped campaign goes on once it is resumed. Raises as `create`, and `Stale`."""
    limits.check()
    _check_open(campaign)
    with transaction.atomic():
        still = Campaign.objects.filter(pk=campaign.pk, status__in=Campaign.TRANSITIONS)
        if not still.update(**limits.fields()):
            raise Stale(f"campaign {campaign.slug} has just ended")
        _note(campaign, f"limits: {_said(limits)}", by)
    campaign.refresh_from_db()


def _said(limits: Limits) -> str:
    words = {
        "cost": limits.cost and f"${limits.cost}",
        "sandbox hours": limits.hours and f"{limits.hours:g}",
        "environments": limits.accepted,
        "deadline": limits.deadline and f"{limits.deadline:%Y-%m-%d %H:%M}",
    }
    return ", ".join(f"{name} {value}" for name, value in words.items() if value) or "none"


def _check_open(campaign: Campaign) -> None:
    campaign.refresh_from_db()
    if campaign.status not in Campaign.TRANSITIONS:
        raise Stale(f"campaign {campaign.slug} is already {campaign.status}")


def _note(campaign: Campaign, what: str, by: User | None) -> None:
    """What is no change of status stands in the history all the same."""
    campaign.refresh_from_db()
    status = campaign.status
    Move.objects.create(
        kind=campaign.kind, row=campaign.pk, from_status=status, to_status=status, reason=what, by=by
    )
