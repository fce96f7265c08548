"""What the pages of lineages and evolutions read, in a number of queries that does not grow with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import (
    Case,
    Exists,
    F,
    Model,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Value,
    When,
)
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce
from django.urls import reverse

from lineages.growth.models import Attempt, Candidate, Evolution, Plan, Review
from lineages.library import shelf, tree
from lineages.library.calls import AgentCall
from lineages.library.models import Environment, GateResult, Lineage
from lineages.templatetags.pages import nats, words

SORTS = {
    "lineage": "slug",
    "domain": "domain",
    "generations": "generations",
    "difficulty": "tip_difficulty",
    "newest": "newest",
    "state": "state",
}


@dataclass(frozen=True, slots=True)
class Grown:
    """An environment as a row of its lineage's table."""

    environment: Environment
    summary: str
    delta: float | None
    results: Sequence[GateResult]


def lineages() -> QuerySet[Lineage]:
    """Each with `generations`, `newest`, `tip_difficulty` and `state`; the most urgent state wins."""
    own = Evolution.objects.filter(lineage=OuterRef("pk"))
    grown = Environment.objects.filter(lineage=OuterRef("pk"))
    tip = grown.order_by("-generation", "-k")
    newest = grown.order_by("-created_at")
    state = Case(
        When(Exists(own.filter(status__in=Evolution.HUMAN)), then=Value("waiting")),
        When(Exists(own.filter(status=Evolution.Status.FAILED)), then=Value("failed")),
        When(Exists(own.filter(status__in=Evolution.WORKABLE, paused_at=None)), then=Value("running")),
        When(Exists(own.filter(status__in=Evolution.WORKABLE)), then=Value("paused")),
        When(ended=Evolution.Status.EXHAUSTED, then=Value("exhausted")),
        default=Value("idle"),
    )
    return Lineage.objects.annotate(
        generations=Subquery(tip.values("generation")[:1]),
        tip_difficulty=Subquery(tip.values("difficulty")[:1]),
        newest=Subquery(newest.values("created_at")[:1]),
        ended=Subquery(own.order_by("-pk").values("status")[:1]),
    ).annotate(state=state)


def narrowed(found: QuerySet[Lineage], text: str, state: str, sort: str) -> QuerySet[Lineage]:
    if text:
        found = found.filter(Q(slug__icontains=text) | Q(title__icontains=text) | Q(domain__icontains=text))
    if state:
        found = found.filter(Q(state=state))
    column = F(SORTS.get(sort.lstrip("-"), "newest"))
    descending = sort.startswith("-") or sort.lstrip("-") not in SORTS
    order = column.desc(nulls_last=True) if descending else column.asc(nulls_last=True)
    return found.order_by(order, "pk")


def with_work() -> QuerySet[Evolution]:
    """Evolutions with what a list shows of each: `plan`, `candidate` (newest keys) and their direction."""
    open_one = Attempt.objects.filter(evolution=OuterRef("pk")).order_by("-ordinal")
    plans = Plan.objects.filter(attempt__evolution=OuterRef("pk")).order_by("-attempt__ordinal", "-round")
    candidates = Candidate.objects.filter(attempt__evolution=OuterRef("pk")).order_by(
        "-attempt__ordinal", "-n"
    )
    return Evolution.objects.select_related("lineage", "parent__lineage", "recipe").annotate(
        direction=Coalesce(Subquery(open_one.values("direction")[:1]), Value("")),
        plan=Subquery(plans.values("pk")[:1]),
        summary=Coalesce(
            Subquery(plans.values(text=KT("draft_json__summary"))[:1]), Value(""), output_field=TextField()
        ),
        candidate=Subquery(candidates.values("pk")[:1]),
        tries=Subquery(open_one.values("ordinal")[:1]),
    )


def fruitless() -> QuerySet[Evolution]:
    """The last evolutions of their lineages that ended without a child, newest first, with the `reason`."""
    later = Evolution.objects.filter(lineage=OuterRef("lineage"), pk__gt=OuterRef("pk"))
    closed = Attempt.objects.filter(evolution=OuterRef("pk")).order_by("-ordinal")
    ended = with_work().filter(~Exists(later), status=Evolution.Status.EXHAUSTED)
    reason = Coalesce(Subquery(closed.values("reason")[:1]), Value(""), output_field=TextField())
    return ended.annotate(reason=reason).order_by("-status_since")


def waiting_link(evolution: Evolution) -> str:
    """The page on which a person decides what `evolution` (from `with_work`) waits for."""
    if evolution.status == Evolution.Status.PLAN_APPROVAL and evolution.plan:  # type: ignore[attr-defined]
        return reverse("plan_detail", args=[evolution.plan])  # type: ignore[attr-defined]
    if evolution.status == Evolution.Status.SIGN_OFF and evolution.candidate:  # type: ignore[attr-defined]
        return reverse("candidate_detail", args=[evolution.candidate])  # type: ignore[attr-defined]
    return reverse("evolution_detail", args=[evolution.pk])


def grown(lineage: Lineage) -> list[Grown]:
    """The accepted environments in order, with what each changed and how its gates answered."""
    found = list(lineage.environments.select_related("parent", "evolution"))
    for environment in found:
        environment.lineage = lineage
    results = shelf.newest_results(environment.snapshot_id for environment in found)
    plans = Plan.objects.filter(
        attempt__evolution__child__lineage=lineage, attempt__outcome=Attempt.Outcome.ACCEPTED
    ).order_by("round")
    summaries = dict(plans.values_list("attempt__evolution__child_id", KT("draft_json__summary")))
    return [
        Grown(each, summaries.get(each.pk, ""), _delta(each), results.get(each.snapshot_id, []))
        for each in found
    ]


def picture(rows: Iterable[Grown], evolutions: Iterable[Evolution]) -> tree.Tree:
    """The tree of a lineage: its environments, and dashed the evolutions that are not at an end."""
    return tree.layout([*map(_drawn, rows), *(_tentative(each) for each in evolutions)])


def timeline(evolution: Evolution) -> list[Attempt]:
    """Attempts with their plans, candidates, reviews and gate results, all fetched beforehand."""
    reviews = Review.objects.select_related("user", "superseded_by").prefetch_related("criteria")
    attempts = list(
        evolution.attempts.prefetch_related(
            Prefetch("plans", Plan.objects.prefetch_related(Prefetch("reviews", reviews))),
            Prefetch("candidates", Candidate.objects.select_related("audit", "plan").order_by("n")),
            Prefetch("candidates__reviews", reviews),
            "candidates__audit__results",
        )
    )
    candidates = [candidate for attempt in attempts for candidate in attempt.candidates.all()]
    shelf.with_voidings(row for each in candidates if each.audit for row in each.audit.results.all())
    return attempts


def calls(evolution: Evolution) -> QuerySet[AgentCall]:
    of_it = Q(evolution=evolution) | Q(attempt__evolution=evolution)
    of_it |= Q(audit__candidates__attempt__evolution=evolution)
    return AgentCall.objects.filter(of_it).order_by("started_at", "id")


def progress(pk: int) -> dict[str, Any] | None:
    """Facts that change with everything the live page shows; equal ones mean that it shows all.

    Rows are only ever added, and an attempt closes with a move or another attempt, so that the newest key
    of each kind tells. One query: counting over joins would multiply them with each other. None where
    there is no such evolution.
    """
    newest = {
        "tried": _newest(Attempt, "evolution"),
        "planned": _newest(Plan, "attempt__evolution"),
        "built": _newest(Candidate, "attempt__evolution"),
        "answered": _newest(GateResult, "audit__candidates__attempt__evolution"),
        "plan_reviewed": _newest(Review, "plan__attempt__evolution"),
        "candidate_reviewed": _newest(Review, "candidate__attempt__evolution"),
        "asked": _newest(AgentCall, "attempt__evolution"),
        "sent": _newest(AgentCall, "evolution"),
        "settled": _newest(AgentCall, "evolution", ~Q(outcome=AgentCall.SENT)),
    }
    shown = Evolution.objects.values("version", "paused_at", "faults", "waiting_for").annotate(**newest)
    return shown.filter(pk=pk).first()


def _newest(model: type[Model], evolution: str, which: Q | None = None) -> Subquery:
    """The newest key among the rows of an evolution."""
    rows = model._default_manager.filter(which or Q(), **{evolution: OuterRef("pk")})
    return Subquery(rows.order_by("-pk").values("pk")[:1])


def _delta(environment: Environment) -> float | None:
    return environment.difficulty - environment.parent.difficulty if environment.parent else None


def _drawn(row: Grown) -> tree.Item:
    environment = row.environment
    return tree.Item(
        key=f"e{environment.pk}",
        parent=f"e{environment.parent_id}",
        column=environment.generation,
        label=environment.reference.rsplit("/", 1)[1],
        kind=environment.direction or "seed",
        value=nats(environment.difficulty),
        href=reverse("environment_detail", args=[environment.pk]),
        title=_title(row),
        outcomes=tuple(
            "voided" if getattr(result, "voiding", None) else result.outcome for result in row.results
        ),
        provisional=environment.provisional,
        withdrawn=environment.quarantined,
    )


def _title(row: Grown) -> str:
    environment = row.environment
    said = ", ".join(map(_said, row.results)) or "no gate results"
    parts = [
        environment.reference,
        environment.direction or "seed",
        f"D_T {nats(environment.difficulty)} nats",
        said,
    ]
    if environment.provisional:
        parts.append("provisional")
    if environment.quarantined:
        parts.append("withdrawn")
    return "; ".join(parts)


def _said(result: GateResult) -> str:
    voided = " (voided)" if getattr(result, "voiding", None) else ""
    return f"{result.gate} {words(result.outcome)}{voided}"


def _tentative(evolution: Evolution) -> tree.Item:
    state = "paused" if evolution.paused_at and not evolution.waits_for_person else words(evolution.status)
    return tree.Item(
        key=f"v{evolution.pk}",
        parent=f"e{evolution.parent_id}",
        column=evolution.generation,
        label=f"g{evolution.generation}?",
        kind=evolution.direction or "seed",  # type: ignore[attr-defined]
        value=state,
        href=waiting_link(evolution),
        title=f"evolution {evolution.pk} towards generation {evolution.generation}: {state}",
        tentative=True,
    )
