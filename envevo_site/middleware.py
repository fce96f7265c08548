"""What a request meets before any view."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.http import HttpResponseClientRedirect

from lineages.pages import require
from lineages.roles import Role


class HtmxLoginMiddleware:
    """Sends a logged-out request back to a *page* after the login, never to a fragment or an action.

    Without this the login form would land inside a fragment, and its `next` would be the fragment's address
    or one that only takes POST.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        login = resolve_url("login")
        to_login = response.status_code == 302 and response["Location"].split("?")[0] == login
        fragment = bool(request.htmx) and not request.htmx.boosted  # type: ignore[attr-defined]
        if not to_login or not (fragment or request.method not in ("GET", "HEAD")):
            return response
        target = f"{login}?{urlencode({'next': _page_of(request)})}"
        return HttpResponseClientRedirect(target) if fragment else redirect(target)


class RoleMiddleware:
    """Nobody without a role sees anything but the way out and their own account.

    What a view asks for beyond `viewer` stands at the view (`lineages.pages`).
    """

    FOR_ALL = frozenset({"logout", "account_detail", "account_sessions"})

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> None:
        match = request.resolver_match
        public = not getattr(view, "login_required", True)
        if not public and not (match and match.url_name in self.FOR_ALL):
            require(request, Role.VIEWER)


class SlidingSessionMiddleware:
    """A sign-in ends a time after the last page was opened; a poll of a page left open keeps none alive.

    Written once in a while, not with each request: a session is a row.
    """

    WRITES = 72
    """How often at most while a sign-in lasts without a page being opened."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        poll = bool(request.htmx) and "seen" in request.GET  # type: ignore[attr-defined]
        if request.user.is_authenticated and not poll:
            now = int(time.time())
            if now - request.session.get("opened", 0) >= settings.SESSION_COOKIE_AGE / self.WRITES:
                request.session["opened"] = now
        return self.get_response(request)


def _page_of(request: HttpRequest) -> str:
    """The path of the page that the request was sent from, if it is one of ours; else the home page."""
    sent_from = request.htmx.current_url or request.headers.get("Referer", "")  # type: ignore[attr-defined]
    try:
        ours = {request.get_host()}
    except DisallowedHost:
        return "/"
    if not url_has_allowed_host_and_scheme(sent_from, allowed_hosts=ours):
        return "/"
    parts = urlsplit(sent_from)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return path if url_has_allowed_host_and_scheme(path, allowed_hosts=None) else "/"
