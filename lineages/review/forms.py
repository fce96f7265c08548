"""A person's decision."""

from __future__ import annotations

from typing import Any

from django import forms

from lineages.growth.models import Review
from lineages.reasons import ReasonField, readable


class ReasonForm(forms.Form):
    """What nobody may do without saying why."""

    reason = ReasonField(label="Reason", max_length=4000, widget=forms.Textarea(attrs={"rows": 2}))

    def pointed(self) -> ReasonForm:
        """With the cursor in the reason, for the page that says what is wrong with it."""
        self.fields["reason"].widget.attrs["autofocus"] = True
        return self


class SeenForm(ReasonForm):
    """`seen` is what the page was drawn from."""

    def seen(self) -> int:
        """What was sent, or -1, which is never current."""
        sent = str(self.data.get("seen", ""))
        return int(sent) if sent.isdecimal() and len(sent) < 10 else -1


class DecisionForm(forms.Form):
    """`version` is that of the evolution when the page was drawn. Only an approval needs no reason."""

    version = forms.IntegerField(min_value=0, widget=forms.HiddenInput)
    comment = forms.CharField(
        label="Reason",
        required=False,
        max_length=4000,
        widget=forms.Textarea(
            attrs={"rows": 3, "placeholder": "What is wrong, or what should change", "data-key": "c"}
        ),
    )

    def __init__(self, *args: Any, decision: str = Review.Decision.APPROVE, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.decision = decision

    def clean_comment(self) -> str:
        comment: str = self.cleaned_data["comment"].strip()
        if self.decision != Review.Decision.APPROVE and not readable(comment):
            raise forms.ValidationError("Say in a sentence why: it stays with the decision.")
        return comment

    def pointed(self) -> DecisionForm:
        """With the cursor in the reason, for the page that says what is wrong with it."""
        self.fields["comment"].widget.attrs["autofocus"] = True
        return self

    def drawn_from(self) -> int:
        """The version that was sent, or -1, which is never current."""
        sent = str(self.data.get("version", ""))
        return int(sent) if sent.isdecimal() and len(sent) < 10 else -1
