"""What a person may choose when an evolution starts, and how a list of lineages is narrowed."""

from __future__ import annotations

from typing import Any

from django import forms

from agents.models import ModelsError
from agents.plan import Direction, Effort
from agents.roles import AgentsError
from lineages import casting
from lineages.gates import PROFILES
from lineages.growth.evolving import MOST_GENERATIONS, RecipeSettings
from lineages.growth.models import Recipe
from lineages.library.audits import WHOLE_PROFILE
from lineages.library.models import Environment

EFFORTS = [
    (Effort.LOW, "low – one pair"),
    (Effort.HIGH, "high – one contiguous span"),
    (Effort.MAX, "max – anything"),
]
DIRECTIONS = [
    (Direction.SCENARIO, "σ scenario – another situation, the same skill"),
    (Direction.SKILL, "κ skill – another skill, the same situation"),
    (Direction.LENGTH, "L length – further dependent steps"),
]
APPROVALS = [
    (Recipe.Approval.AUTO, "nobody – reviewers and gates decide"),
    (Recipe.Approval.PLANS, "me, every plan before it is built"),
    (Recipe.Approval.ENVIRONMENTS, "me, every environment before it is accepted"),
    (Recipe.Approval.BOTH, "me, both"),
]
GATES = [(each.name, f"{each.name} – {each.title}") for each in PROFILES.values()]
MOST_REPEATS = 20


class RecipeForm(forms.Form):
    """The settings that every evolution is started with."""

    author = forms.ChoiceField(
        choices=casting.author_choices,
        initial="offline",
        required=False,
        help_text="Who proposes, builds and reviews. Models cost money: see the page of models for budgets.",
    )
    judge = forms.ChoiceField(
        choices=casting.judge_choices,
        required=False,
        help_text="Which model reviews plans and environments, where an author with a model makes them.",
    )
    generations = forms.IntegerField(
        min_value=1,
        max_value=MOST_GENERATIONS,
        initial=1,
        help_text="Each accepted child is the next parent.",
    )
    effort = forms.ChoiceField(choices=EFFORTS, initial=Effort.HIGH, widget=forms.RadioSelect)
    directions = forms.MultipleChoiceField(
        choices=DIRECTIONS,
        initial=list(Direction),
        widget=forms.CheckboxSelectMultiple,
        help_text="Tried in a random order; the next one when a direction fails.",
    )
    approval = forms.ChoiceField(
        label="Who decides", choices=APPROVALS, initial=Recipe.Approval.AUTO, widget=forms.RadioSelect
    )
    profile = forms.ChoiceField(
        label="Gates",
        choices=GATES,
        initial=WHOLE_PROFILE,
        required=False,
        widget=forms.RadioSelect,
        help_text="Which checks a child has to pass, and its seed before it.",
    )
    seed = forms.IntegerField(
        initial=0,
        min_value=-(2**63),
        max_value=2**63 - 1,
        required=False,
        help_text="The n-th evolution from the same parent with this seed draws the same order and edits.",
    )

    def settings(self) -> RecipeSettings:
        return RecipeSettings(
            effort=self.cleaned_data["effort"],
            directions=tuple(self.cleaned_data["directions"]),
            approval=self.cleaned_data["approval"],
            profile=self.cleaned_data["profile"] or WHOLE_PROFILE,
            seed=self.cleaned_data["seed"] or 0,
            author=self.cleaned_data["author"] or "offline",
            cast=self._cast,
        )

    def clean(self) -> dict[str, Any]:
        chosen: dict[str, Any] = super().clean() or {}
        author, judge = chosen.get("author") or "offline", chosen.get("judge") or ""
        try:
            cast = casting.cast_of(author, judge=judge)
        except (AgentsError, ModelsError) as problem:
            raise forms.ValidationError(str(problem)) from problem
        self._cast = cast.text if cast else ""
        return chosen


class VerifyForm(forms.Form):
    """How an environment is verified again; what is left out is as a lineage needs it.

    `repeats` empty is as often as the profile says. `regrade`: what solvers left is graded again.
    """

    profile = forms.ChoiceField(choices=GATES, required=False)
    repeats = forms.IntegerField(min_value=1, max_value=MOST_REPEATS, required=False)
    regrade = forms.BooleanField(required=False)

    def chosen(self) -> dict[str, Any]:
        return {
            "profile": self.cleaned_data["profile"] or WHOLE_PROFILE,
            "repeats": self.cleaned_data["repeats"] or 0,
            "regrade": self.cleaned_data["regrade"],
        }


class StartForm(RecipeForm):
    """Settings of an evolution from `parent`."""

    def __init__(self, *args: Any, parent: Environment, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.parent = parent

    def clean_generations(self) -> int:
        generations: int = self.cleaned_data["generations"]
        left = MOST_GENERATIONS - self.parent.generation
        if generations > left:
            raise forms.ValidationError(
                f"{self.parent} can grow {left} more; a lineage ends at {MOST_GENERATIONS}."
            )
        return generations


class LineageFilter(forms.Form):
    """The state of the list, all of it in the address. A value that makes no sense is as good as none."""

    STATES = [
        ("", "any state"),
        *((state, state) for state in ("waiting", "failed", "running", "paused", "exhausted", "idle")),
    ]

    q = forms.CharField(
        label="Search", required=False, max_length=80, widget=forms.TextInput(attrs={"type": "search"})
    )
    state = forms.ChoiceField(required=False, choices=STATES)

    def value(self, name: str) -> str:
        return str(self.cleaned_data.get(name) or "") if self.is_valid() else ""
