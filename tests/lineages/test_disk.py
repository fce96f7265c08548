"""Too little room waits, and stored content that nothing refers to goes."""

from __future__ import annotations

import os
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.db import transaction
from django.utils import timezone

from agents.scripted import Script
from lineages import sweeping
from lineages.growth import jobs, loops
from lineages.growth.jobs import collect
from lineages.library import blobs, collecting
from lineages.library.models import Blob, Environment, Job, SnapshotFile
from lineages.library.snapshots import load
from tests import factories
from tests.lineages.conftest import begin, grow
from tests.lineages.test_lifecycle import at_once

pytestmark = pytest.mark.django_db(transaction=True)
MORE_THAN_ANY_DISK = 1 << 40


@pytest.fixture(autouse=True)
def blob_folder(settings: Any, tmp_path: Path) -> None:
    """One of its own: a collection takes whatever in it has no row."""
    settings.BLOBS = tmp_path / "blobs"


def place(digest: str) -> Path:
    return Path(configured.BLOBS) / digest[:2] / digest[2:]


def aged(digest: str, hours: float) -> None:
    Blob.objects.filter(pk=digest).update(orphan_since=timezone.now() - timedelta(hours=hours))


def test_below_the_floor_an_evolution_waits_says_for_what_and_loses_nothing(
    script: Script, seed: Environment, settings: Any
) -> None:
    evolution = begin(seed, directions=("length",))
    settings.DISK_FLOOR_MB = MORE_THAN_ANY_DISK

    assert loops.advance(evolution.pk) == []

    evolution.refresh_from_db()
    assert evolution.status == "drafting"
    assert evolution.waiting_for.startswith("disk: ") and "wanted" in evolution.waiting_for
    assert (evolution.faults, evolution.fault, evolution.lease_token) == (0, "", "")
    assert evolution.retry_at and not evolution.attempts.filter(outcome__in=["no_plan", "refused"]).exists()

    settings.DISK_FLOOR_MB = 0
    type(evolution).objects.filter(pk=evolution.pk).update(retry_at=None)
    done = grow(evolution)
    assert (done.status, done.waiting_for) == ("accepted", "")


@pytest.mark.lifecycle
def test_what_nothing_refers_to_is_removed_after_the_wait_and_nothing_else_is(settings: Any) -> None:
    settings.ORPHAN_HOURS = 24
    environment = factories.seed()
    loose = blobs.keep_one(b"nobody refers to this")
    printed = factories.command(factories.audit(environment.snapshot).results.first(), stdout=b"out")

    assert collecting.collect() == (0, 0), "it is seen for the first time"
    aged(loose, 23)
    assert collecting.collect() == (0, 0)
    aged(loose, 25)
    assert collecting.collect() == (1, 21)

    assert not Blob.objects.filter(pk=loose).exists() and not place(loose).exists()
    assert load(environment.snapshot).digest == environment.snapshot.digest
    assert blobs.read(printed.stdout_id) == b"out"
    assert not Blob.objects.filter(orphan_since__isnull=False).exists()


def test_content_that_is_stored_again_is_no_orphan_any_more(settings: Any) -> None:
    loose = blobs.keep_one(b"again")
    collecting.collect()
    aged(loose, 1000)

    assert blobs.keep_one(b"again") == loose
    assert collecting.collect() == (0, 0)
    assert blobs.read(loose) == b"again"


def test_an_orphan_that_found_a_use_stays() -> None:
    loose = blobs.keep_one(b"used late")
    collecting.collect()
    factories.command(factories.audit(factories.snapshot()).results.first(), stdout=b"used late")
    aged(loose, 1000)

    assert collecting.collect() == (0, 0)
    assert Blob.objects.get(pk=loose).orphan_since is None


def test_a_file_that_was_removed_is_written_again_with_its_content() -> None:
    loose = blobs.keep_one(b"gone and back")
    collecting.collect()
    aged(loose, 1000)
    assert collecting.collect()[0] == 1

    assert blobs.read(blobs.keep_one(b"gone and back")) == b"gone and back"


@pytest.mark.lifecycle
def test_content_whose_row_never_came_through_is_found_and_removed_after_the_wait() -> None:
    with pytest.raises(RuntimeError), transaction.atomic():
        lost = blobs.keep_one(b"rolled back")
        raise RuntimeError("the step broke")
    assert place(lost).exists() and not Blob.objects.exists()
    half = place(lost).parent / ".unfinished-killed"
    half.write_bytes(b"half")

    assert collecting.collect() == (0, 0)
    assert half.exists() and place(lost).exists(), "its writer may still be at it"
    aged(lost, 25)
    os.utime(half, (0, 0))

    assert collecting.collect() == (1, 11)
    assert not place(lost).exists() and not half.exists()


def test_a_blob_whose_file_is_gone_already_leaves_no_row_behind() -> None:
    loose = blobs.keep_one(b"unlinked, then killed")
    collecting.collect()
    aged(loose, 25)
    place(loose).unlink()

    assert collecting.collect()[0] == 1
    assert not Blob.objects.exists()


@pytest.mark.lifecycle
def test_what_is_kept_while_it_is_being_removed_is_there_afterwards() -> None:
    """Whoever comes first: the removal finds it claimed, or it is written again."""
    snapshot = factories.snapshot()
    contents = [f"racing {number}".encode() for number in range(20)]
    digests = blobs.keep(contents)
    collecting.collect()
    for digest in digests:
        aged(digest, 1000)

    def keep() -> None:
        for data in contents:
            with transaction.atomic():
                digest = blobs.keep_one(data)
                SnapshotFile.objects.create(snapshot=snapshot, path=digest, mode=0o644, blob_id=digest)

    answers = at_once(keep, collecting.collect)

    assert answers[0] is None and isinstance(answers[1], tuple), answers
    assert [blobs.read(digest) for digest in digests] == contents
    assert Blob.objects.filter(pk__in=digests, orphan_since=None).count() == len(digests)


@pytest.mark.lifecycle
def test_a_removal_that_waits_for_whoever_keeps_the_content_leaves_it(settings: Any) -> None:
    loose = blobs.keep_one(b"claimed just now")
    collecting.collect()
    aged(loose, 1000)
    snapshot, held = factories.snapshot(), threading.Event()

    def keep() -> None:
        with transaction.atomic():
            blobs.keep_one(b"claimed just now")
            held.set()
            time.sleep(0.5)  # the removal has begun by now
            SnapshotFile.objects.create(snapshot=snapshot, path="late", mode=0o644, blob_id=loose)

    def collect() -> tuple[int, int]:
        held.wait(10)
        return collecting.collect()

    assert at_once(keep, collect) == [None, (0, 0)]
    assert blobs.read(loose) == b"claimed just now"


@pytest.mark.lifecycle
def test_a_sweep_asks_for_one_collection_in_its_period_and_a_worker_does_it() -> None:
    loose = blobs.keep_one(b"swept")
    collecting.collect()
    aged(loose, 1000)

    sweeping.sweep()
    sweeping.sweep()
    (job,) = Job.objects.filter(job_kind=collect.KIND)
    jobs.run(job.pk)

    job.refresh_from_db()
    assert (job.status, job.note) == ("done", "1 blobs removed, 0.0 MiB")
    assert not collect.due()


def test_a_job_waits_for_disk_too_and_uses_up_no_try(seed: Environment, settings: Any) -> None:
    settings.DISK_FLOOR_MB = MORE_THAN_ANY_DISK
    job = jobs.request_audit(seed, factories.user())

    for _ in range(settings.FAULT_RETRIES + 2):
        jobs.run(job.pk)
        Job.objects.filter(pk=job.pk).update(retry_at=None)

    job.refresh_from_db()
    assert (job.status, job.tries, job.note) == ("queued", 0, "")
    assert job.waiting_for.startswith("disk: ")
