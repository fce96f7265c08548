"""Which part of the work the page of costs shows."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any

from django import forms
from django.utils import timezone

from lineages.growth.models import Campaign, Recipe
from lineages.library.models import Lineage
from lineages.reports.costs import Part


class CostFilter(forms.Form):
    """All of it stands in the address. What does not exist is said rather than shown as costing nothing."""

    lineage = forms.CharField(required=False, max_length=100)
    campaign = forms.ChoiceField(required=False)
    author = forms.ChoiceField(required=False)
    since = forms.DateField(required=False, widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        campaigns = Campaign.objects.values_list("slug", flat=True)
        authors = Recipe.objects.order_by("author").values_list("author", flat=True).distinct()
        for name, anything, values in (("campaign", "all", campaigns), ("author", "anyone", authors)):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = [("", anything), *((value, value) for value in values)]

    def clean_lineage(self) -> str:
        slug: str = self.cleaned_data["lineage"].strip()
        if slug and not Lineage.objects.filter(slug=slug).exists():
            raise forms.ValidationError(f"There is no lineage called {slug}.")
        return slug

    def part(self) -> Part:
        day = self.cleaned_data["since"]
        since = timezone.make_aware(datetime.combine(day, time.min)) if day else None
        chosen = {name: self.cleaned_data[name] for name in ("lineage", "campaign", "author")}
        return Part(**chosen, since=since)
