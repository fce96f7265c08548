"""What a person chooses for a campaign."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.utils import timezone

from lineages.growth.campaigns import MOST, MOST_PARALLEL, Limits
from lineages.growth.forms import RecipeForm
from lineages.growth.models import Campaign
from lineages.library.models import Environment
from lineages.library.references import NoSuchEnvironment, find

SEEDS, THESE = "seeds", "these"


class LimitsForm(forms.Form):
    """The bounds of a campaign; an empty one does not bound."""

    cost = forms.DecimalField(
        label="Budget in US dollars",
        required=False,
        min_value=Decimal("0.01"),
        max_value=MOST,
        decimal_places=2,
        help_text="Of model calls. The offline author calls none.",
    )
    hours = forms.FloatField(
        label="Budget in sandbox hours",
        required=False,
        min_value=0.01,
        max_value=MOST,
        help_text="The time of gates, added up over machines.",
    )
    accepted = forms.IntegerField(label="Enough environments", required=False, min_value=1, max_value=MOST)
    deadline = forms.DateTimeField(
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text="In the site's time zone. Open evolutions are paused then, not lost.",
    )

    def clean_deadline(self) -> Any:
        deadline = self.cleaned_data["deadline"]
        if deadline and deadline <= timezone.now():
            raise forms.ValidationError("This time is over already.")
        return deadline

    def limits(self) -> Limits:
        chosen = self.cleaned_data
        return Limits(chosen["cost"], chosen["hours"], chosen["accepted"], chosen["deadline"])

    @classmethod
    def of(cls, campaign: Campaign) -> LimitsForm:
        return cls(
            initial={
                "cost": campaign.cost_limit,
                "hours": campaign.hours_limit,
                "accepted": campaign.accepted_limit,
                "deadline": campaign.deadline,
            }
        )


class CampaignForm(LimitsForm, RecipeForm):
    """A new campaign."""

    name = forms.CharField(max_length=80, help_text="Kept in small letters, digits and hyphens.")
    source = forms.ChoiceField(
        label="Grow from",
        choices=[(SEEDS, "every seed of the library"), (THESE, "the environments named below")],
        initial=SEEDS,
        widget=forms.RadioSelect,
    )
    references = forms.CharField(
        label="Environments",
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "placeholder": "log-forensics/g0"}),
        help_text="One reference a line.",
    )
    parallel = forms.IntegerField(
        label="At work at once",
        min_value=1,
        max_value=MOST_PARALLEL,
        initial=4,
        help_text="Evolutions. A machine runs no more sandboxes than it has slots, whatever stands here.",
    )
    field_order = (
        "name",
        "source",
        "references",
        "generations",
        "parallel",
        "cost",
        "hours",
        "accepted",
        "deadline",
    )

    def clean(self) -> dict[str, Any]:
        chosen = super().clean() or {}
        if chosen.get("source") == THESE and not self.errors:
            chosen["environments"] = self._named(chosen["references"].split())
        return chosen

    def _named(self, references: list[str]) -> list[Environment]:
        found = []
        for reference in references:
            try:
                found.append(find(reference))
            except NoSuchEnvironment as problem:
                self.add_error("references", str(problem))
        if not references:
            self.add_error("references", "Name at least one environment, or choose every seed.")
        return found

    def environments(self) -> list[Environment]:
        if self.cleaned_data["source"] == THESE:
            named: list[Environment] = self.cleaned_data["environments"]
            return named
        return list(Environment.objects.filter(generation=0, quarantined=False).select_related("lineage"))
