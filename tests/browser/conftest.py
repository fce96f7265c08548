"""Chromium from the distribution, on a live server with the test's own database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from tests import factories

# Playwright's synchronous API runs an event loop in this thread; Django would take that for async code.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    path = os.environ.get("ENVEVO_CHROMIUM", "/usr/bin/chromium")
    return {**browser_type_launch_args, "executable_path": path, "args": QUIET}


@pytest.fixture
def signed_in(page: Page, live_server: Any) -> Iterator[Page]:
    """Ada, signed in through the form, on the home page. Errors of the page's scripts fail the test."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    factories.user("ada")
    page.goto(live_server.url)
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("ada")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{live_server.url}/")
    yield page
    assert errors == []
