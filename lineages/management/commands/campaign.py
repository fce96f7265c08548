from __future__ import annotations

import time
from argparse import ArgumentTypeError
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from lineages import sweeping
from lineages.growth import campaigns, loops, spending
from lineages.growth.models import Campaign, Evolution
from lineages.library import machine
from lineages.library.models import Environment
from lineages.library.references import find
from lineages.lifecycle import Stale
from lineages.management.commands._output import Exit, emit, leave, plain_errors, progress, table
from lineages.management.commands.evolve import add_recipe_options, settings_of, tell

IDLE_SECONDS = 0.5
UNITS = {"m": "minutes", "h": "hours", "d": "days"}


class Command(BaseCommand):
    help = "Many lineages under one budget and deadline: start, show, pause, resume, limit, cancel, drive."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        start = actions.add_parser("start", help="make a campaign; workers grow it")
        start.add_argument("name")
        start.add_argument("references", nargs="*", metavar="REF", help="environments to grow from")
        start.add_argument("--all-seeds", action="store_true", help="every seed of the library")
        start.add_argument("--generations", type=int, default=1)
        start.add_argument("--parallel", type=int, default=4, help="evolutions at work at once")
        add_limits(start)
        add_recipe_options(start)
        for name, text in PLAIN.items():
            actions.add_parser(name, help=text).add_argument("name")
        add_limits(
            limited := actions.add_parser("limit", help="set the limits anew; what is left out is off")
        )
        limited.add_argument("name")
        actions.add_parser("list", help="all campaigns")
        for each in actions.choices.values():
            each.add_argument("--json", action="store_true", help="machine-readable answer")

    def handle(self, *args: Any, **options: Any) -> None:
        with plain_errors():
            try:
                code = ACTIONS[options["action"]](self, options)
            except (campaigns.CannotCampaign, Stale) as reason:
                self.stderr.write(f"error: {reason}")
                code = Exit.USAGE
        leave(code)

    def say(self, campaign: Campaign, options: dict[str, Any]) -> None:
        campaign.refresh_from_db()
        if options["json"]:
            emit(as_json(campaign))
        else:
            table([HEADING, _row(campaign)], self.stdout.write)
            if campaign.last_reason:
                self.stdout.write(campaign.last_reason)


PLAIN = {
    "show": "what became of it so far",
    "pause": "claim no further step of it",
    "resume": "go on, also after a limit was raised",
    "cancel": "end it and all its open evolutions",
    "drive": "work on it in this process until it ends, stops or waits for people",
}
HEADING = (
    "campaign",
    "status",
    "entries",
    "accepted",
    "exhausted",
    "failed",
    "sandbox h",
    "cost",
    "deadline",
)


def add_limits(parser: CommandParser) -> None:
    parser.add_argument("--cost", type=dollars, metavar="USD", help="stop when model calls cost this much")
    parser.add_argument("--hours", type=float, help="stop after this many hours of sandbox time")
    parser.add_argument("--accepted", type=int, help="stop when this many environments were accepted")
    parser.add_argument("--deadline", type=moment, help="stop then: 8h, 90m, 2d, or 2026-12-01T06:00")


def dollars(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as wrong:
        raise ArgumentTypeError(f"{text!r} is no amount of dollars") from wrong


def moment(text: str) -> datetime:
    """A time from now, or a date with its time in the site's zone."""
    try:
        if text[:-1].isdecimal() and text[-1:] in UNITS:
            return timezone.now() + timedelta(**{UNITS[text[-1]]: int(text[:-1])})
        found = parse_datetime(text)
        if found is not None:
            return timezone.make_aware(found) if timezone.is_naive(found) else found
    except (ValueError, OverflowError):  # no such day, or later than any calendar goes
        pass
    raise ArgumentTypeError(f"{text!r} is no time: write 8h, 90m, 2d or 2026-12-01T06:00")


def limits_of(options: dict[str, Any]) -> campaigns.Limits:
    return campaigns.Limits(options["cost"], options["hours"], options["accepted"], options["deadline"])


def _start(command: Command, options: dict[str, Any]) -> Exit:
    found = [find(reference) for reference in options["references"]]
    if options["all_seeds"]:
        found += Environment.objects.filter(generation=0, quarantined=False).select_related("lineage")
    campaign = campaigns.create(
        options["name"],
        found,
        settings_of(options),
        generations=options["generations"],
        parallel=options["parallel"],
        limits=limits_of(options),
    )
    command.say(campaigns.turn(campaign), options)
    return Exit.WELL


def _list(command: Command, options: dict[str, Any]) -> Exit:
    found = list(Campaign.objects.all())
    if options["json"]:
        emit({"campaigns": [as_json(each) for each in found]})
    else:
        table([HEADING, *map(_row, found)], command.stdout.write)
    return Exit.WELL


def _named(change: Callable[[Campaign, dict[str, Any]], None]) -> Callable[[Command, dict[str, Any]], Exit]:
    def act(command: Command, options: dict[str, Any]) -> Exit:
        campaign = named(options["name"])
        change(campaign, options)
        command.say(campaign, options)
        return Exit.WELL

    return act


def named(slug: str) -> Campaign:
    """Raises `CannotCampaign`."""
    found = Campaign.objects.filter(slug=slug).first()
    if found is None:
        raise campaigns.CannotCampaign(f"there is no campaign {slug!r}; `campaign list` names them")
    return found


def _resume(campaign: Campaign, options: dict[str, Any]) -> None:
    campaigns.resume(campaign, by=None)
    campaigns.turn(campaign)


def _drive(command: Command, options: dict[str, Any]) -> Exit:
    """Work in this process beside any workers there are."""
    campaign = named(options["name"])
    machine.backend().check()
    sweeping.tidy()
    seen: dict[int, tuple[int, str]] = {}
    while campaign.status == Campaign.Status.RUNNING and not campaign.paused_at:
        campaigns.turn(campaign)
        _tell_news(campaign, seen)
        waiting = campaigns.at_work(campaign).filter(Evolution.claimable()).order_by("status_since").first()
        if waiting:
            loops.advance(waiting.pk)
        elif _waits_for_people(campaign):
            break
        else:
            time.sleep(IDLE_SECONDS)
    command.say(campaign, options)
    return Exit.WELL


def _waits_for_people(campaign: Campaign) -> bool:
    """Another process may just be starting what is due, or may end the campaign with its own turn."""
    busy = campaigns.at_work(campaign).exists() or campaigns.not_begun(campaign).exists()
    return not busy and campaign.evolutions.exclude(status__in=Evolution.ENDED).exists()


def _tell_news(campaign: Campaign, seen: dict[int, tuple[int, str]]) -> None:
    """Of what has moved, or waits, since the last call; only that is loaded, since thousands may be known."""
    rows = campaign.evolutions.values_list("pk", "version", "waiting_for")
    now = {pk: (version, waiting_for) for pk, version, waiting_for in rows}
    news = [pk for pk, state in now.items() if seen.get(pk) != state]
    seen.update(now)
    for evolution in campaign.evolutions.filter(pk__in=news).select_related("lineage", "parent__lineage"):
        progress(f"{evolution.lineage.slug}:")
        tell(evolution)


ACTIONS: dict[str, Callable[[Command, dict[str, Any]], Exit]] = {
    "start": _start,
    "list": _list,
    "show": _named(lambda campaign, options: None),
    "pause": _named(lambda campaign, options: campaigns.pause(campaign, by=None)),
    "resume": _named(_resume),
    "cancel": _named(lambda campaign, options: campaigns.cancel(campaign, by=None)),
    "limit": _named(lambda campaign, options: campaigns.limit(campaign, limits_of(options), by=None)),
    "drive": _drive,
}


def as_json(campaign: Campaign) -> dict[str, Any]:
    spent = spending.of(campaign)
    return {
        "campaign": campaign.slug,
        "status": "paused" if campaign.paused_at else campaign.status,
        "reason": campaign.last_reason,
        "entries": campaign.entries.count(),
        "not_started": [
            {"environment": each.environment.reference, "why": each.note}
            for each in campaign.entries.exclude(note="").select_related("environment__lineage")
        ],
        "accepted": spent.accepted,
        "exhausted": spent.exhausted,
        "failed": spent.failed,
        "yield": spent.yielded,
        "cost_usd": str(spent.cost),
        "unpriced_calls": spent.unpriced,
        "unsettled": spent.unsettled,
        "sandbox_hours": round(spent.sandbox_hours, 4),
        "deadline": campaign.deadline.isoformat() if campaign.deadline else None,
    }


def _row(campaign: Campaign) -> tuple[str, ...]:
    spent = spending.of(campaign)
    return (
        campaign.slug,
        "paused" if campaign.paused_at and campaign.status == "running" else campaign.status,
        str(campaign.entries.count()),
        str(spent.accepted),
        str(spent.exhausted),
        str(spent.failed),
        f"{spent.sandbox_hours:.2f}",
        "unknown" if spent.unpriced and not spent.cost else f"${spent.cost:.2f}",
        f"{campaign.deadline:%Y-%m-%d %H:%M}" if campaign.deadline else "none",
    )
