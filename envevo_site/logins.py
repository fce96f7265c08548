"""From where a person signs in."""

from __future__ import annotations

import ipaddress

from django.conf import settings
from django.http import HttpRequest


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
