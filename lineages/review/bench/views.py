"""What was measured of reviewers: the runs, and one run criterion by criterion."""

from __future__ import annotations

from django.db.models import F, Q, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from agents.reviewing.frozen import FROZEN
from agents.reviewing.tally import PEOPLE
from lineages.library.rubric_rows import ReviewBench, RubricVersion
from lineages.pages import uncached
from lineages.review.bench.running import cost_of

LISTED = 100


@require_safe
def bench_list(request: HttpRequest) -> HttpResponse:
    """The newest runs."""
    rows = list(_summed(ReviewBench.objects.all())[:LISTED])
    context = {"benches": rows, "frozen": FROZEN, "more": ReviewBench.objects.count() - len(rows)}
    return uncached(render(request, "lineages/bench_list.html", context))


@require_safe
def bench_detail(request: HttpRequest, pk: int) -> HttpResponse:
    bench = get_object_or_404(_summed(ReviewBench.objects.all()), pk=pk)
    lines = list(bench.lines.all())
    context = {
        "bench": bench,
        "cost": cost_of(bench),
        "whole": bench.cases_digest == FROZEN,
        "parts": [
            ("Planted by code", [line for line in lines if not line.rubric.startswith(PEOPLE)]),
            ("Said by people", [line for line in lines if line.rubric.startswith(PEOPLE)]),
        ],
        "wordings": RubricVersion.objects.filter(version__in=[bench.plan_rubric, bench.environment_rubric]),
    }
    return uncached(render(request, "lineages/bench_detail.html", context))


def _summed(benches: QuerySet[ReviewBench]) -> QuerySet[ReviewBench]:
    """With the sums of the frozen set, and how often the reviewer was right and wrong where people know."""
    people = Q(lines__rubric__startswith=PEOPLE)
    return benches.annotate(
        faults=Sum("lines__faults", filter=~people, default=0),
        missed=Sum("lines__missed", filter=~people, default=0),
        sound=Sum("lines__sound", filter=~people, default=0),
        accused=Sum("lines__accused", filter=~people, default=0),
        overruled=Sum(F("lines__faults") + F("lines__sound"), filter=people, default=0),
        wrong_again=Sum(F("lines__missed") + F("lines__accused"), filter=people, default=0),
    ).order_by("-pk")
