"""The models of this installation: what each may do, what it has cost, and whether it is paused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce, Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from agents import prices
from agents.casting import Cast
from agents.models import MANUAL, Book, ModelSpec
from agents.providers.base import Usage
from lineages.growth.nudge import wake_waiting
from lineages.library import pauses
from lineages.library.calls import AgentCall, ModelPause
from lineages.library.money import SUMS, UNPRICED, Money, money_of
from lineages.lifecycle import Stale
from lineages.pages import for_role, person, require, uncached
from lineages.roles import Role
from lineages.templatetags.money import dollars

SAMPLE = 10_000


@dataclass(frozen=True, slots=True)
class Known:
    """A model of models.toml, or, without a `spec`, one that is only in the ledger or paused."""

    name: str
    spec: ModelSpec | None
    today: Money
    ever: Money
    pause: ModelPause | None

    @property
    def key(self) -> str:
        """Whether its key is there, in words; never the key."""
        if self.spec is None or self.spec.provider == MANUAL:
            return ""
        if not self.spec.key_variable:
            return "none is named"
        return "present" if self.spec.key else "missing"

    @property
    def price(self) -> str:
        """Where its price comes from, and what it is today for a million tokens."""
        if self.spec is None or self.spec.provider == MANUAL:
            return ""
        into, out = (_of_a_million(self.spec, usage) for usage in (Usage(SAMPLE, 0), Usage(0, SAMPLE)))
        if into is None or out is None:
            return "unknown: write it into models.toml"
        source = "models.toml" if self.spec.price else "genai-prices"
        return f"{source}: {dollars(into)} in, {dollars(out)} out, for a million tokens"

    @property
    def can(self) -> list[tuple[str, bool]]:
        """What it takes, as models.toml says."""
        if self.spec is None or self.spec.provider == MANUAL:
            return []
        return [(name.strip("_").replace("_", " "), able) for name, able in self.spec.can]


@dataclass(frozen=True, slots=True)
class Playing:
    """A team: who plays what, as (role, model), and what is to be known of it."""

    name: str
    cast: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]


@for_role(Role.OPERATOR)
@require_safe
def model_list(request: HttpRequest) -> HttpResponse:
    return _show(request)


@require_http_methods(["GET", "HEAD", "POST"])
def model_resume(request: HttpRequest, name: str) -> HttpResponse:
    """Ask a paused model again; 409 where somebody has resumed it already."""
    if request.method != "POST":
        return redirect("model_list")
    require(request, Role.OPERATOR)
    try:
        pauses.resume_model(name, person(request))
    except Stale:
        return _show(request, conflict=f"Not done: {name} is not paused any more.", status=409)
    wake_waiting()
    messages.success(request, f"{name} is asked again.")
    return redirect("model_list")


def _show(request: HttpRequest, *, status: int = 200, **said: Any) -> HttpResponse:
    book: Book = settings.MODELS
    known = _known(book)
    context = {
        "models": [each for each in known if each.spec],
        "gone": [each for each in known if not each.spec],
        "budgets": _budgets(),
        "teams": [_playing(name, book) for name in book.teams],
        **said,
    }
    return uncached(render(request, "lineages/model_list.html", context, status=status))


def _known(book: Book) -> list[Known]:
    """In three queries, whatever there is."""
    midnight = timezone.make_aware(datetime.combine(timezone.localdate(), time.min))
    ever, today = _sums(AgentCall.objects.all()), _sums(AgentCall.objects.filter(started_at__gte=midnight))
    lasting = ModelPause.objects.filter(Q(until=None) | Q(until__gt=Now()))
    paused = {pause.model: pause for pause in lasting}
    names = [*book.models, *sorted({*ever, *paused} - {*book.models})]
    nothing = Money()
    return [
        Known(
            name, book.models.get(name), today.get(name, nothing), ever.get(name, nothing), paused.get(name)
        )
        for name in names
    ]


def _sums(calls: QuerySet[AgentCall]) -> Mapping[str, Money]:
    """By model; authors without one are no models, a person is."""
    asked = calls.exclude(UNPRICED & ~Q(provider=MANUAL)).order_by()
    rows = asked.annotate(key=Coalesce("conversation__model", "author")).values("key").annotate(**SUMS)
    return {row["key"]: money_of(row) for row in rows}


def _budgets() -> list[tuple[str, str, Decimal | None]]:
    """Each as its setting, what it bounds, and US dollars; None bounds nothing."""
    return [
        ("ENVEVO_BUDGET_EVOLUTION", "an evolution", settings.BUDGET_EVOLUTION),
        ("ENVEVO_BUDGET_LINEAGE", "a lineage", settings.BUDGET_LINEAGE),
        ("ENVEVO_BUDGET_DAY", "a day", settings.BUDGET_DAY),
    ]


def _playing(name: str, book: Book) -> Playing:
    cast = Cast.of(book.teams[name], book)
    roles = tuple((role.replace("_", " "), model) for role, model in cast.models.items())
    return Playing(name, roles, cast.warnings_in(book))


def _of_a_million(spec: ModelSpec, usage: Usage) -> Decimal | None:
    """From a sample that is below the lengths from which some models are dearer."""
    cost = prices.price(spec, usage, spec.model, timezone.now()).cost
    return None if cost is None else cost * (1_000_000 // SAMPLE)
