"""What models cost, and what came of it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from lineages.pages import page
from lineages.reports import costs
from lineages.reports.costs import Part
from lineages.reports.forms import CostFilter
from lineages.reports.labels import REASONS, label, named

TABLES = (
    ("role", "By role", "Role"),
    ("model", "By model", "Model"),
    ("direction", "By direction", "Direction"),
    ("outcome", "By outcome of the attempt", "Outcome"),
)


@require_safe
def cost_list(request: HttpRequest) -> HttpResponse:
    """The filter is the address. A filter that makes no sense shows what is wrong, and no figures."""
    form = CostFilter(request.GET)
    figures = _figures(form.part()) if form.is_valid() else {}
    status = 200 if figures else 422
    return page(request, "lineages/cost_list.html", {"form": form, **figures}, "list", status)


def _figures(part: Part) -> dict[str, Any]:
    found, yielded = costs.tables(part), costs.yields(part)
    return {
        "total": costs.total(part),
        "tables": [
            (name, title, heading, [(label(name, line.key), line) for line in found[name]])
            for name, title, heading in TABLES
        ],
        "yield": yielded,
        "reasons": [
            (kind, title, [(named(reason), reason) for reason in yielded.reasons[kind]])
            for kind, title in REASONS
        ],
    }
