"""A signed-in browser without a browser."""

from __future__ import annotations

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
def page(ada: Any) -> Client:
    """Ada, signed in, following links and sending forms."""
    return _signed_in(ada)


@pytest.fixture
def htmx(ada: Any) -> Client:
    """Ada, signed in, through htmx."""
    return _signed_in(ada, headers=HTMX)


@pytest.fixture
def bobs_htmx(bob: Any) -> Client:
    return _signed_in(bob, headers=HTMX)


def _signed_in(user: Any, **kwargs: Any) -> Client:
    client = Client(**kwargs)
    client.force_login(user)
    return client
