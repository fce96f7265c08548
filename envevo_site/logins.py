"""How a person signs in, and from where."""

from __future__ import annotations

import ipaddress

from django import forms
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm, UsernameField
from django.contrib.auth.models import User
from django.http import HttpRequest


class SignInForm(AuthenticationForm):
    """Django's, which lets names through that are too long for the row of a failed try."""

    username = UsernameField(
        max_length=User._meta.get_field("username").max_length,
        widget=forms.TextInput(attrs={"autofocus": True}),
    )


def client_address(request: HttpRequest) -> str | None:
    """The peer's address, or what our own proxy says where a header of it is configured.

    A proxy writes the address that it saw behind whatever the client had sent: only the last entry counts.
    """
    named = request.headers.get(settings.PROXY_HEADER, "") if settings.PROXY_HEADER else ""
    for address in (named.rpartition(",")[2].strip(), request.META.get("REMOTE_ADDR", "")):
        try:
            return str(ipaddress.ip_address(address))
        except ValueError:
            continue
    return None
