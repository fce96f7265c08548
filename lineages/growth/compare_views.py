"""Any two environments or candidates against each other. How an address names them: `growth.sides`."""

from __future__ import annotations

import io
import posixpath
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from lineages.growth import sides
from lineages.growth.sides import Side
from lineages.library import alignment, blobs, comparing, diff_rendering, differences
from lineages.library.models import SnapshotFile
from lineages.library.shelf import TERMS
from lineages.library.views import attachment

DRAWN_FILES = 200
LISTED_FILES = 1_000


@dataclass(frozen=True, slots=True)
class Term:
    """One term of D_T on both sides."""

    symbol: str
    meaning: str
    left: float
    right: float

    @property
    def delta(self) -> float:
        return self.right - self.left


class SidesForm(forms.Form):
    """Two names, as people write them."""

    left = forms.CharField(label="Left", max_length=120, help_text="such as log-forensics/g0")
    right = forms.CharField(
        label="Right", max_length=120, help_text="such as log-forensics/g3 or candidate:34"
    )

    def clean_left(self) -> str:
        return self._named("left")

    def clean_right(self) -> str:
        return self._named("right")

    def _named(self, field: str) -> str:
        try:
            return sides.find(self.cleaned_data[field]).name
        except sides.NoSuchSide as problem:
            raise forms.ValidationError(str(problem)) from problem


@require_safe
def compare_choose(request: HttpRequest) -> HttpResponse:
    """Leads to the comparison of `left` and `right`, or of the two `side`s that were ticked; else asks."""
    ticked = request.GET.getlist("side")
    named = {"left": request.GET.get("left", ""), "right": request.GET.get("right", "")}
    if ticked:
        named = dict(zip(("left", "right"), ticked, strict=False))
    asked = any(named.values()) or "side" in request.GET
    form = SidesForm(named if asked else None)
    if len(ticked) in (0, 2) and form.is_valid():
        return redirect("compare_detail", form.cleaned_data["left"], form.cleaned_data["right"])
    context = {"form": form, "ticked": len(ticked)}
    return render(request, "lineages/compare_choose.html", context)


@require_safe
def compare_detail(request: HttpRequest, left: str, right: str) -> HttpResponse:
    """`view` is split or unified; `file` shows that file alone, with all of its lines."""
    one, other = _side(left), _side(right)
    view = "unified" if request.GET.get("view") == "unified" else "split"
    comparison, mutations = comparing.compare(one.snapshot, other.snapshot)
    alone = _alone(comparison, request.GET.get("file", ""))
    context = {
        "left": one,
        "right": other,
        "view": view,
        "terms": [Term(*name, *both) for name, *both in zip(TERMS, one.values, other.values, strict=True)],
        "comparable": one.lineage.domain == other.lineage.domain and one.table == other.table,
        "mutations": mutations,
        "rows": alignment.align(one.sequence, other.sequence),
        "changes": comparison.changes,
        "unchanged": comparison.unchanged[:LISTED_FILES],
        "unchanged_count": len(comparison.unchanged),
        "alone": alone,
        **_drawn(comparison, alone, view),
    }
    return render(request, "lineages/compare_detail.html", context)


@require_safe
def candidate_raw(request: HttpRequest, pk: int, path: str) -> FileResponse:
    """One file of a candidate, byte for byte, only ever as an attachment."""
    file = get_object_or_404(SnapshotFile, snapshot__candidates=pk, path=path, link="")
    try:
        return attachment(io.BytesIO(blobs.read(file.blob_id)), posixpath.basename(path))
    except blobs.BlobLost as lost:
        raise Http404 from lost


def _side(name: str) -> Side:
    try:
        return sides.find(name)
    except sides.NoSuchSide as problem:
        raise Http404(str(problem)) from problem


def _alone(comparison: comparing.Comparison, path: str) -> comparing.Change | None:
    """The changed file that was asked for; None without a path."""
    if not path:
        return None
    found = next((change for change in comparison.changes if change.path == path), None)
    if found is None:
        raise Http404(f"{path} does not differ")
    return found


def _drawn(comparison: comparing.Comparison, alone: comparing.Change | None, view: str) -> dict[str, Any]:
    """The files as they are drawn, on one allowance, and those that are only listed."""
    allowance, ink = differences.Allowance(), diff_rendering.Ink()
    chosen = (alone,) if alone else comparison.changes[:DRAWN_FILES]
    rest = () if alone else comparison.changes[DRAWN_FILES:]
    files = [
        diff_rendering.draw(differences.difference(change, allowance, alone=alone is not None), ink, view)
        for change in chosen
    ]
    return {"files": files, "rest": rest[:LISTED_FILES], "rest_count": len(rest)}
