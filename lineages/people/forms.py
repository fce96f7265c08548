"""What an admin fills in about a person."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import User

from lineages.reasons import ReasonField
from lineages.roles import Role

ROLES = [
    ("", "no role – may not look at anything"),
    (Role.VIEWER, "viewer – reads and downloads"),
    (Role.REVIEWER, "reviewer – decides, overrides, withdraws"),
    (Role.OPERATOR, "operator – starts and stops work, imports, frees"),
    (Role.ADMIN, "admin – gives roles, voids failures of gates"),
]


class RoleField(forms.ChoiceField):
    """A role, or None."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=ROLES, required=False, **kwargs)

    def clean(self, value: Any) -> Role | None:
        chosen = super().clean(value)
        return Role(chosen) if chosen else None


class PersonForm(forms.Form):
    """A new account."""

    username = forms.CharField(
        label="Name",
        max_length=150,
        validators=[User.username_validator],
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    role = RoleField(label="Role", initial=Role.VIEWER)


class ChangeForm(forms.Form):
    """A change of an account, with its reason."""

    role = RoleField(label="Role")
    reason = ReasonField(label="Reason", max_length=1000, widget=forms.Textarea(attrs={"rows": 2}))
