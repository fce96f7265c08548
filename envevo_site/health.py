"""`/healthz`: whether this process reaches the database and the broker, for whoever watches it.

It is answered before anything else looks at the request. So it wants no login, and a probe from inside
the container needs none of the host names that the site is served under. It says which part is silent
and nothing about where that part is or why.
"""

from __future__ import annotations

from collections.abc import Callable

from celery import current_app
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from kombu.exceptions import KombuError

PATH = "/healthz"
BROKER_SECONDS = 3
OK, SILENT = "ok", "does not answer"


class HealthMiddleware:
    """200 when both parts answer, else 503; `{"database": …, "broker": …}` either way."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info != PATH:
            return self.get_response(request)
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        parts = {"database": _database(), "broker": _broker()}
        code = 200 if set(parts.values()) == {OK} else 503
        return JsonResponse(parts, status=code, headers={"Cache-Control": "no-store"})


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return SILENT
    return OK


def _broker() -> str:
    try:
        with current_app.connection_for_write() as link:
            link.ensure_connection(max_retries=0, timeout=BROKER_SECONDS)
    except (OSError, KombuError):
        return SILENT
    return OK
