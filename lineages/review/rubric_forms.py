"""A criterion as a person writes it, and what nobody may change without a reason."""

from __future__ import annotations

from typing import Any

from django import forms

from agents.rubrics import Criterion
from lineages.growth.models import Review
from lineages.library.rubrics import KEY, PLAN
from lineages.review.forms import ReasonForm
from sandboxes.text import clean

LONGEST_ORIGIN = 200


class Words(forms.CharField):
    """Text that any database stores."""

    def to_python(self, value: Any) -> str:
        return clean(super().to_python(value) or "").strip()


class WordingForm(forms.Form):
    title = Words(label="Title", max_length=80, help_text="A few words for a table, such as “Can be solved”.")
    question = Words(
        label="Question",
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="What the judge answers. It passes where the answer is yes.",
    )

    def wording(self) -> dict[str, str]:
        return {each: self.cleaned_data[each] for each in ("title", "question")}


class CriterionForm(WordingForm):
    """A new criterion of the rubric `name`, with the review that it was found in, if any."""

    key = forms.RegexField(
        KEY.pattern,
        label="Key",
        max_length=40,
        help_text="For machines and for good: small letters, digits and underscores, such as “names_units”.",
        error_messages={"invalid": "A small letter first, then small letters, digits and underscores."},
    )
    origin = Words(
        label="Where it comes from",
        max_length=LONGEST_ORIGIN,
        help_text="A paper, a standard, or what happened.",
    )
    note = Words(label="Why now", required=False, max_length=4000, widget=forms.Textarea(attrs={"rows": 2}))
    found_in = forms.IntegerField(required=False, min_value=1, max_value=10**17, widget=forms.HiddenInput)
    field_order = ["title", "question", "key", "origin", "note", "found_in"]

    def __init__(self, *args: Any, rubric: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rubric = rubric

    def clean_found_in(self) -> Review | None:
        number = self.cleaned_data["found_in"]
        return finding(self.rubric, number) if number else None

    def criterion(self) -> Criterion:
        return Criterion(self.cleaned_data["key"], **self.wording(), origin=self.cleaned_data["origin"])


class SeenWordingForm(WordingForm, ReasonForm):
    """Another wording, with the reason. `seen` is the ordinal of the version that the page was drawn from."""

    field_order = ["title", "question", "reason"]


def finding(rubric: str, number: int) -> Review | None:
    """The review of that number, if its subject is what the rubric judges."""
    rows = Review.objects.filter(pk=number, plan__isnull=rubric != PLAN)
    return rows.select_related(
        "plan__attempt__evolution__parent__lineage", "candidate__attempt__evolution__parent__lineage"
    ).first()
