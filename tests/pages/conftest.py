"""A signed-in browser without a browser."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from django.test import Client

from tests import factories

HTMX = {"HX-Request": "true"}


@pytest.fixture
def ada(db: Any) -> Any:
    return factories.user("ada")


@pytest.fixture
def bob(db: Any) -> Any:
    return factories.user("bob")


@pytest.fixture
def web(ada: Any) -> Client:
    """Ada, signed in, following links and sending forms."""
    return _signed_in(ada)


@pytest.fixture
def htmx(ada: Any) -> Client:
    """Ada, signed in, through htmx."""
    return _signed_in(ada, headers=HTMX)


@pytest.fixture
def bobs_htmx(bob: Any) -> Client:
    return _signed_in(bob, headers=HTMX)


def seen(response: Any) -> str:
    """The stamp that the fragment would send back when it polls."""
    found = re.search(r"\?seen=([0-9a-f]{16})", response.content.decode())
    assert found, "the fragment does not poll"
    return found[1]


def _signed_in(user: Any, **kwargs: Any) -> Client:
    client = Client(**kwargs)
    client.force_login(user)
    session = client.session
    session["opened"] = int(time.time())  # as after a first page, so that tests count the queries of a page
    session.save()
    return client
