"""How a view answers: a whole page or its fragment, and whether a poll has anything new to say."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, cast

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.views.decorators.http import require_http_methods

from lineages.roles import Role, admins, may, role_of

View = Callable[..., HttpResponse]

MOST_NAMES = 5
HEADERS = ("HX-Request", "HX-Boosted", "HX-History-Restore-Request")


def wants_fragment(request: HttpRequest) -> bool:
    """A boosted link and a history restore are htmx requests that need the whole page."""
    htmx: Any = getattr(request, "htmx", None)  # not there yet when a middleware before htmx's refuses
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def person(request: HttpRequest) -> User:
    """Who asks; nobody comes to a view without a login."""
    return cast(User, request.user)


def page(
    request: HttpRequest, template: str, context: Mapping[str, Any], fragment: str, status: int = 200
) -> HttpResponse:
    """The page, or its partial named `fragment` where that is wanted; templates see which as `fragment`."""
    wanted = wants_fragment(request)
    name = f"{template}#{fragment}" if wanted else template
    return uncached(render(request, name, {**context, "fragment": wanted}, status=status))


def uncached(response: HttpResponse) -> HttpResponse:
    """No cache keeps it, so that the back button shows what is true now."""
    patch_vary_headers(response, HEADERS)
    patch_cache_control(response, private=True, no_store=True)
    return response


def unchanged() -> HttpResponse:
    """The answer to a poll that shows everything already."""
    return uncached(HttpResponse(status=204))


def posted(page_name: str, role: Role) -> Callable[[View], View]:
    """A view that acts on POST for people of that role or a higher one.

    Whoever only looks at its address is led to the page named `page_name`.
    """

    def decorate(view: View) -> View:
        @require_http_methods(["GET", "HEAD", "POST"])
        @wraps(view)
        def looked_at_or_posted(request: HttpRequest, pk: int, **kwargs: Any) -> HttpResponse:
            if request.method != "POST":
                return redirect(page_name, pk=pk)
            require(request, role)
            return view(request, pk, **kwargs)

        return looked_at_or_posted

    return decorate


def for_role(role: Role) -> Callable[[View], View]:
    """A view for people of that role or a higher one, whatever the method."""

    def decorate(view: View) -> View:
        @wraps(view)
        def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            require(request, role)
            return view(request, *args, **kwargs)

        return checked

    return decorate


def require(request: HttpRequest, role: Role) -> None:
    """Raises `PermissionDenied` with the sentence that the 403 page shows."""
    if may(request.user, role):
        return
    held = role_of(request.user)
    names = ", ".join(admins()[:MOST_NAMES])
    whom = f"Ask an admin ({names})" if names else "Ask whoever runs envevo here"
    if held is None:
        raise PermissionDenied(f"Your account has no role here yet. {whom} for one.")
    raise PermissionDenied(f"This needs the role {role}; yours is {held}. {whom} for it.")


def page_number(request: HttpRequest) -> int:
    """The page of a list that the address asks for, from 1; what makes no sense is the first."""
    asked = request.GET.get("page", "")
    return max(1, int(asked)) if asked.isdecimal() and len(asked) < 7 else 1


def stamp(*facts: object) -> str:
    """What a poll sends back as `seen`; equal facts give equal stamps."""
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def nothing_new(request: HttpRequest, current: str) -> bool:
    """Whether this is a poll whose sender already shows `current`; 204 then leaves the page alone."""
    return wants_fragment(request) and request.GET.get("seen") == current
