"""An archive is chosen in Chromium, a worker takes it in, and the page shows by itself what became of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from playwright.sync_api import Page, expect

from lineages.library.models import ImportedTask, Job, Lineage
from tests import factories
from tests.pages.test_import import packed
from tests.workers import worker

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.redis,
    pytest.mark.timeout(180),
]


def test_an_archive_with_one_bad_task_of_three_is_taken_in_before_ones_eyes(
    signed_in: Page, live_server: Any, tmp_path: Path
) -> None:
    archive = tmp_path / "suite.zip"
    archive.write_bytes(packed({"s/one": factories.task(), "s/two": None, "s/three": factories.task()}))
    page = signed_in
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Import").click()
    page.get_by_label("Archive").set_input_files(archive)
    with worker():
        page.get_by_role("button", name="Import", exact=True).click()
        expect(page.get_by_role("heading", name="Import of suite.zip")).to_be_visible()
        expect(page.get_by_role("link", name="2 imported")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("row", name="s/two")).to_contain_text("not valid TOML")
    page.get_by_role("link", name="three", exact=True).click()
    expect(page.get_by_role("heading", name="three")).to_be_visible()

    assert set(Lineage.objects.values_list("slug", flat=True)) == {"one", "three"}
    assert os.listdir(settings.UPLOADS) == []


@pytest.fixture
def addresses() -> list[str]:
    """The form with imports below it, one that is at its end, one that runs, and one that failed."""
    seed, by = factories.seed(), factories.user("ada")
    jobs = [
        Job.objects.create(
            job_kind="import", subject=f"{status}.tar.gz", status=status, total=9, done=3, started_by=by
        )
        for status in ("done", "queued", "failed")
    ]
    for job in jobs:
        for outcome, reason in (
            ("imported", ""),
            ("unchanged", ""),
            ("refused", "task.toml:2:11: not valid TOML: Unescaped '\\' in a string"),
        ):
            ImportedTask.objects.create(
                job=job,
                path=f"terminal-bench/tasks/a-rather-long-name-of-a-task/{outcome}",
                outcome=outcome,
                environment=None if reason else seed,
                reason=reason,
                warnings=""
                if reason
                else "byte order mark removed: instruction.md\nexecutable bit set: tests/test.sh",
            )
    return ["/import/", *(f"/imports/{job.pk}/" for job in jobs)]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_axe_finds_nothing_on_the_pages_of_an_import_and_none_is_wider_than_its_screen(
    signed_in: Page, live_server: Any, addresses: list[str], width: int, scheme: Any
) -> None:
    signed_in.set_viewport_size({"width": width, "height": 900})
    signed_in.emulate_media(color_scheme=scheme)
    for address in addresses:
        signed_in.goto(live_server.url + address)
        found = Axe().run(signed_in)
        assert found.violations_count == 0, f"{address}\n{found.generate_report()}"
        assert signed_in.evaluate("document.documentElement.scrollWidth") <= width, address
