"""The import page: one archive comes in, and its own page says what became of each task."""

from __future__ import annotations

import io
import os
import re
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from lineages.growth import jobs, uploads
from lineages.library.models import Environment, Job, Lineage
from lineages.lifecycle import LeaseLost
from sandboxes.task import Task
from tests import factories
from tests.pages.conftest import seen

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, settings: Any) -> None:
    settings.UPLOADS = settings.FILE_UPLOAD_TEMP_DIR = tmp_path / "uploads"


def packed(tasks: Mapping[str, Task | None]) -> bytes:
    """A zip with these tasks in their folders; None stands for one whose task.toml is broken."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for folder, task in tasks.items():
            for path, file in (task or factories.task()).files.items():
                broken = task is None and path == "task.toml"
                archive.writestr(f"{folder}/{path}", b'note = "\\s"' if broken else file.data)
    return out.getvalue()


def send(web: Client, data: bytes, name: str = "tasks.zip") -> Any:
    return web.post("/import/", {"archive": SimpleUploadedFile(name, data)})


def left() -> list[str]:
    return sorted(os.listdir(uploads.folder())) if uploads.folder().exists() else []


def finished(response: Any) -> Job:
    """The job that an upload was answered with, run as a worker would."""
    job = Job.objects.get(pk=int(response["Location"].strip("/").rpartition("/")[2]))
    jobs.run(job.pk)
    job.refresh_from_db()
    return job


def test_three_tasks_one_of_them_broken_come_in_and_are_all_counted(web: Client) -> None:
    tasks = {"suite/a": factories.task(), "suite/deep/b": None, "c": factories.task()}

    job = finished(send(web, packed(tasks)))

    assert (job.status, job.done, job.total, job.upload) == ("done", 3, 3, "")
    assert list(job.tasks.values_list("path", "outcome").order_by("path")) == [
        ("c", "imported"), ("suite/a", "imported"), ("suite/deep/b", "refused"),
    ]  # fmt: skip
    assert "task.toml:1:11: not valid TOML" in job.tasks.get(path="suite/deep/b").reason
    assert Lineage.objects.get(slug="a").source == "tasks.zip/suite/a"
    assert left() == []
    html = web.get(f"/imports/{job.pk}/").content.decode()
    assert "2 imported" in html and "1 refused" in html and "/lineages/c/" in html
    assert "hx-get" not in html, "the end of the job ends the polling"


def test_what_is_there_already_is_said_to_be(web: Client) -> None:
    archive = packed({"a": factories.task()})
    finished(send(web, archive))

    job = finished(send(web, archive))

    assert list(job.tasks.values_list("outcome", "environment__lineage__slug")) == [("unchanged", "a")]
    assert Environment.objects.count() == 1
    assert "already there" in web.get(f"/imports/{job.pk}/").content.decode()


def test_while_it_waits_the_page_polls_and_a_poll_without_news_changes_nothing(
    web: Client, htmx: Client
) -> None:
    address = send(web, packed({"a": factories.task()}))["Location"]

    stamp = seen(htmx.get(address))

    assert htmx.get(f"{address}?seen={stamp}").status_code == 204
    jobs.run(Job.objects.get().pk)
    assert htmx.get(f"{address}?seen={stamp}").status_code == 200


def test_a_damaged_archive_is_refused_as_a_whole_by_its_own_name(web: Client) -> None:
    whole = packed({"a": factories.task()})

    job = finished(send(web, whole[: len(whole) // 2], "half.zip"))

    assert list(job.tasks.values_list("path", "outcome")) == [("half.zip", "refused")]
    assert "cut off" in job.tasks.get().reason
    assert left() == [] and not Environment.objects.exists()


def test_a_worker_that_takes_over_goes_on_and_counts_no_task_twice(
    web: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lineages.library.importing.BATCH_TASKS", 1)
    address = send(web, packed({name: factories.task() for name in "abc"}))
    job = Job.objects.get()
    record = jobs.importing._record

    def dies_after_one(job: Job, outcomes: Any) -> None:
        if job.tasks.exists():
            raise LeaseLost("killed")
        record(job, outcomes)

    monkeypatch.setattr(jobs.importing, "_record", dies_after_one)
    jobs.run(job.pk)
    assert (job.tasks.count(), Environment.objects.count()) == (1, 1), "what was committed stays"
    assert len(left()) == 1, "the archive is still needed"
    monkeypatch.setattr(jobs.importing, "_record", record)

    job = finished(address)

    assert (job.done, job.total, job.tasks.count(), Environment.objects.count()) == (3, 3, 3, 3)
    assert set(job.tasks.values_list("outcome", flat=True)) == {"imported"}
    assert left() == []
    jobs.run(job.pk)
    assert job.tasks.count() == 3, "another message for it does nothing"


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"", "This file is empty"), (b"hello", "not a zip, tar or tar.gz"), (b"Rar!\x1a\x07", "not a zip")],
)
def test_what_is_no_archive_is_refused_with_a_sentence(web: Client, data: bytes, words: str) -> None:
    response = send(web, data)

    assert response.status_code == 422
    assert words in response.content.decode()
    assert left() == [] and not Job.objects.exists()


def test_no_file_at_all_is_refused_with_a_sentence(web: Client) -> None:
    response = web.post("/import/", {})

    assert response.status_code == 422 and "Choose an archive first" in response.content.decode()


def test_an_archive_over_the_cap_is_refused_and_nothing_of_it_stays(web: Client, settings: Any) -> None:
    settings.UPLOAD_MAX_BYTES = 1 << 20

    response = send(web, b"PK\x03\x04" + os.urandom(1 << 20))

    assert response.status_code == 422
    assert "larger than 1 MiB" in response.content.decode()
    assert left() == [] and not Job.objects.exists()


def test_a_folder_of_101_files_gets_the_advice_to_pack_it(web: Client) -> None:
    files = [SimpleUploadedFile(f"file-{number}", b"x") for number in range(101)]

    response = web.post("/import/", {"archive": files})

    assert response.status_code == 422
    assert "101 files came. Pack the folder in one archive" in response.content.decode()
    assert left() == [] and not Job.objects.exists()


@pytest.mark.parametrize("role", ["viewer", "reviewer"])
def test_only_operators_import_and_nothing_of_what_others_send_is_kept(role: str) -> None:
    client = Client()
    client.force_login(factories.user("eve", role))

    assert client.get("/import/").status_code == 403
    assert send(client, packed({"a": factories.task()})).status_code == 403
    assert left() == [] and not Job.objects.exists()
    assert "/import/" not in client.get("/lineages/").content.decode()


def test_a_form_without_its_token_is_refused_and_its_file_is_gone() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(factories.user())

    assert send(client, packed({"a": factories.task()})).status_code == 403
    assert left() == [] and not Job.objects.exists()


def test_a_file_sent_to_another_page_is_never_written(web: Client) -> None:
    web.post("/logout/", {"archive": SimpleUploadedFile("x.zip", packed({"a": factories.task()}))})

    assert left() == []


@pytest.mark.parametrize(
    ("sent", "shown"),
    [("../../etc/passwd.zip", "passwd.zip"), ("a\u202eb<c>.zip", "a_b_c_.zip"), ("..", "archive")],
)
def test_the_name_of_an_archive_is_shown_clean(sent: str, shown: str) -> None:
    assert uploads.shown(sent.rpartition("/")[2]) == shown


def test_what_a_dead_process_left_goes_with_the_next_upload_and_what_waits_stays(web: Client) -> None:
    send(web, packed({"a": factories.task()}))
    (waits,) = left()
    old = uploads.folder() / "left-over"
    old.write_bytes(b"x")
    for path in (old, uploads.folder() / waits):
        os.utime(path, (time.time() - 2 * 24 * 3600,) * 2)

    send(web, packed({"b": factories.task()}))

    assert len(left()) == 2 and waits in left() and "left-over" not in left()


def test_all_that_came_in_can_be_verified_at_once(web: Client) -> None:
    job = finished(send(web, packed({"a": factories.task(), "b": factories.task(), "c": None})))

    response = web.post(f"/imports/{job.pk}/verify/", follow=True)

    assert "verification of 2 seeds" in response.content.decode()
    assert set(Job.objects.filter(job_kind="audit").values_list("subject", flat=True)) == {"a/g0", "b/g0"}


def test_one_outcome_is_shown_alone_and_long_lists_have_pages(
    web: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lineages.growth.import_views.ROWS", 2)
    job = finished(send(web, packed({"a": factories.task(), "b": None, "c": factories.task()})))

    def shown(query: str) -> list[str]:
        return re.findall(r"<td>([abc])</td>", web.get(f"/imports/{job.pk}/{query}").content.decode())

    assert shown("?outcome=refused") == ["b"]
    assert shown("") == ["a", "b"] and shown("?page=2") == ["c"]
    assert shown("?outcome=nonsense&page=x") == ["a", "b"]
