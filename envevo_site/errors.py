"""The pages that say no: as a whole page, or as the small notice that htmx shows beside what is there."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme

from lineages.pages import uncached, wants_fragment


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _answer(request, 400, "This request makes no sense.", "Nothing was done.")


def permission_denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _answer(request, 403, "You may not do this.", str(exception or "Ask an admin for the right."))


def page_not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _answer(
        request, 404, "There is nothing here.", "It may have been removed, or the address is mistyped."
    )


def server_error(request: HttpRequest) -> HttpResponse:
    return _answer(
        request, 500, "Something broke on our side.", "The log has the details. Nothing was half done."
    )


def too_many_logins(request: HttpRequest, credentials: object = None) -> HttpResponse:
    """The answer to a sign-in under a name and from an address that failed too often, right or wrong."""
    minutes = f"{settings.AXES_COOLOFF_TIME.total_seconds() / 60:g}"
    advice = (
        f"After {settings.AXES_FAILURE_LIMIT} wrong passwords this name is refused from your address for"
        f" {minutes} minutes, with the right one too. Wait that long, or ask an admin for a new password."
    )
    return _answer(request, 429, "Too many wrong passwords.", advice)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Most often: signed out and in again in another tab, so the form's token is an old one."""
    get_token(request)
    advice = "You signed in or out elsewhere since this page was drawn. Reload it, then decide again."
    return _answer(request, 403, "Nothing was done: this page is too old.", advice)


def _answer(request: HttpRequest, code: int, problem: str, advice: str) -> HttpResponse:
    template = "partials/notice.html" if wants_fragment(request) else "error.html"
    context = {"code": code, "problem": problem, "advice": advice, "back": _came_from(request)}
    return uncached(render(request, template, context, status=code))


def _came_from(request: HttpRequest) -> str:
    referer = request.headers.get("Referer", "")
    try:
        ours = {request.get_host()}
    except DisallowedHost:
        return ""
    return referer if url_has_allowed_host_and_scheme(referer, allowed_hosts=ours) else ""
