"""The main job as a person does it, with every real part: Chromium, a worker, Docker, and then Harbor."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from playwright.sync_api import Page, expect

from lineages.growth.models import Evolution
from lineages.library.importing import import_folders
from lineages.library.models import Environment
from tests import harbor
from tests.workers import until, worker

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.redis,
    pytest.mark.docker,
    pytest.mark.timeout(300),
]

SEED = settings.SEEDS / "log-forensics"
SLOW = 90_000


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the browser puts what it downloads; nobody changes it there."""
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture
def bundle(signed_in: Page, live_server: Any, downloads: Path) -> Path:
    """A generation that was started, approved and downloaded in the browser."""
    (seed,) = import_folders([SEED]).imported
    page, lineage = signed_in, f"{live_server.url}/lineages/{seed.environment.lineage.slug}/"
    page.goto(lineage)
    page.get_by_role("link", name="Grow from log-forensics/g0").click()
    page.get_by_label("me, every plan before it is built").check()
    with worker(ENVEVO_SANDBOX="docker"):
        page.get_by_role("button", name="Start").click()
        approve_the_waiting_plan(page)
        page.goto(lineage)
        until(lambda: Environment.objects.filter(generation=1).exists(), "generation 1", every=0.5)
    page.goto(lineage)
    page.get_by_role("table").get_by_role("link", name="g1", exact=True).first.click()
    with page.expect_download() as download:
        page.get_by_role("link", name="zip", exact=True).click()
    path = downloads / download.value.suggested_filename
    download.value.save_as(path)
    return path


@pytest.fixture
def downloaded(downloads: Path, request: pytest.FixtureRequest) -> Path:
    """The bundle of the test before; where that did not run, one of its own."""
    for path in downloads.iterdir():
        return path
    made: Path = request.getfixturevalue("bundle")
    return made


def approve_the_waiting_plan(page: Page) -> None:
    """The evolution's page shows by itself that a plan waits; a person reads it and approves."""
    decide = page.get_by_role("link", name="Decide")
    expect(decide).to_be_visible(timeout=SLOW)
    assert not Environment.objects.filter(generation=1).exists(), "nothing is built before a person decided"
    decide.click()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status")).to_contain_text("approved")


def test_a_generation_grown_in_the_browser_verifies_from_its_download(
    bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    child = Environment.objects.get(generation=1)
    evolution = Evolution.objects.get()
    assert bundle.name == "log-forensics-g1.zip"
    assert not child.provisional, "its evidence is from Docker, not from bubblewrap"
    assert list(evolution.history().exclude(by=None).values_list("by__username", "to_status")) == [
        ("ada", "building")
    ]

    call_command("verify", str(bundle), "--json")
    verified = json.loads(capsys.readouterr().out)
    assert (verified["verdict"], verified["digest"]) == ("passed", child.snapshot.digest)


@pytest.mark.harbor
def test_harbors_own_agents_agree_with_us(downloaded: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(downloaded) as archive:
        archive.extractall(tmp_path / "unpacked")
    task = tmp_path / "unpacked" / "log-forensics-g1"

    assert harbor.lint(task) == []
    assert harbor.reward(task, "oracle", tmp_path / "oracle") == 1
    assert harbor.reward(task, "nop", tmp_path / "nop") == 0
