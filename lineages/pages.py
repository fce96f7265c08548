"""How a view answers: a whole page or its fragment, and whether a poll has anything new to say."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_cache_control, patch_vary_headers

HEADERS = ("HX-Request", "HX-Boosted", "HX-History-Restore-Request")


def wants_fragment(request: HttpRequest) -> bool:
    """A boosted link and a history restore are htmx requests that need the whole page."""
    htmx = request.htmx  # type: ignore[attr-defined]
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def person(request: HttpRequest) -> User:
    """Who asks; nobody comes to a view without a login."""
    return cast(User, request.user)


def page(
    request: HttpRequest, template: str, context: Mapping[str, Any], fragment: str, status: int = 200
) -> HttpResponse:
    """The page, or its partial named `fragment` where that is wanted.

    No cache keeps it, so that the back button shows what is true now.
    """
    name = f"{template}#{fragment}" if wants_fragment(request) else template
    response = render(request, name, dict(context), status=status)
    patch_vary_headers(response, HEADERS)
    patch_cache_control(response, private=True, no_store=True)
    return response


def stamp(*facts: object) -> str:
    """What a poll sends back as `seen`; equal facts give equal stamps."""
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def nothing_new(request: HttpRequest, current: str) -> bool:
    """Whether this is a poll whose sender already shows `current`; 204 then leaves the page alone."""
    return wants_fragment(request) and request.GET.get("seen") == current
