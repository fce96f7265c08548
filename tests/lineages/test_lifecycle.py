"""The one writer of status and the leases, on whichever database the run is on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now

from lineages.desk import beating
from lineages.library.models import Job
from lineages.lifecycle import Lease, LeaseLost, Move, Stale, cancel, claim, move

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.lifecycle]

QUEUED, DONE, FAILED, CANCELLED = Job.Status.QUEUED, Job.Status.DONE, Job.Status.FAILED, Job.Status.CANCELLED


def job() -> Job:
    return Job.objects.create(job_kind="audit", subject="a/g0", status=QUEUED)


def held(row: Job) -> Lease:
    lease = claim(row)
    assert lease is not None
    return lease


def expire(row: Job) -> None:
    Job.objects.filter(pk=row.pk).update(lease_until=Now() - timedelta(seconds=1))


def at_once(*calls: Callable[[], object]) -> list[object]:
    """Run the calls in threads that start together; a raised error is that call's answer."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], object]) -> object:
        barrier.wait()
        try:
            return call()
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is the answer
            return problem
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_a_move_changes_the_status_and_leaves_one_row_with_its_reason() -> None:
    row = job()

    move(row, DONE, reason="finished")

    assert (row.status, row.version) == (DONE, 1)
    (left,) = row.history()
    assert (left.from_status, left.to_status, left.reason) == (QUEUED, DONE, "finished")


def test_a_move_that_the_class_does_not_allow_is_a_bug_and_writes_nothing() -> None:
    row = job()
    move(row, DONE)

    with pytest.raises(ValueError, match="cannot go from done to queued"):
        move(row, QUEUED)

    assert row.history().count() == 1


def test_a_stale_move_raises_and_leaves_no_row() -> None:
    row, same = job(), None
    same = Job.objects.get(pk=row.pk)
    move(row, DONE)

    with pytest.raises(Stale):
        move(same, FAILED)

    assert Job.objects.get(pk=row.pk).status == DONE
    assert Move.objects.count() == 1


def test_of_many_raced_moves_exactly_one_wins() -> None:
    row = job()
    copies = [Job.objects.get(pk=row.pk) for _ in range(8)]

    answers = at_once(*[lambda copy=copy: move(copy, DONE) for copy in copies])

    assert sum(answer is None for answer in answers) == 1
    assert all(isinstance(answer, Stale) for answer in answers if answer is not None)
    assert Move.objects.count() == 1


def test_of_many_raced_claims_exactly_one_gets_the_row() -> None:
    row = job()
    copies = [Job.objects.get(pk=row.pk) for _ in range(8)]

    answers = at_once(*[lambda copy=copy: claim(copy) for copy in copies])

    assert sum(isinstance(answer, Lease) for answer in answers) == 1
    assert sum(answer is None for answer in answers) == 7


def test_a_held_row_is_moved_by_its_holder_alone() -> None:
    row = job()
    lease = held(row)
    other = Job.objects.get(pk=row.pk)

    with pytest.raises(Stale):
        move(other, DONE)
    lease.move(DONE)

    assert row.lease_token == ""
    assert claim(row) is None, "a done job has no work left"


def test_an_expired_lease_is_taken_over_and_its_old_holder_can_write_nothing() -> None:
    row = job()
    old = held(row)
    expire(row)
    new = held(Job.objects.get(pk=row.pk))

    with pytest.raises(LeaseLost), old.writing():
        Job.objects.filter(pk=row.pk).update(note="written by a ghost")
    with pytest.raises(Stale):
        old.move(DONE)
    old.release()

    row.refresh_from_db()
    assert (row.note, row.status, row.lease_token) == ("", QUEUED, new.token)


def test_a_beat_keeps_the_row() -> None:
    row = job()
    lease = held(row)
    Job.objects.filter(pk=row.pk).update(lease_until=Now() + timedelta(seconds=1))

    lease.beat()

    row.refresh_from_db()
    assert claim(Job.objects.get(pk=row.pk)) is None
    assert Job.still_held(lease.token)


def test_waiting_for_slow_work_beats_meanwhile(settings: pytest.FixtureRequest) -> None:
    settings.LEASE_BEAT_SECONDS = 0.05
    row = job()
    lease = held(row)
    row.refresh_from_db()
    before, go_on = row.lease_until, threading.Event()
    threading.Timer(0.4, go_on.set).start()
    with ThreadPoolExecutor() as pool:
        (done,) = beating([pool.submit(go_on.wait, 5)], lease)

    row.refresh_from_db()
    assert done.result() is True
    assert row.lease_until > before


def test_waiting_ends_when_the_row_was_cancelled_meanwhile(settings: pytest.FixtureRequest) -> None:
    settings.LEASE_BEAT_SECONDS = 0.05
    row = job()
    lease = held(row)
    go_on = threading.Event()
    cancel(Job.objects.get(pk=row.pk), CANCELLED, reason="enough")
    with ThreadPoolExecutor() as pool:
        with pytest.raises(LeaseLost):
            beating([pool.submit(go_on.wait, 5)], lease)
        go_on.set()

    row.refresh_from_db()
    assert (row.status, row.last_reason) == (CANCELLED, "enough")


def test_a_paused_row_is_not_claimed() -> None:
    row = job()
    Job.objects.filter(pk=row.pk).update(paused_at=Now())

    assert claim(row) is None


def test_a_written_transaction_that_fails_leaves_the_row_as_it_was() -> None:
    row = job()
    lease = held(row)

    with pytest.raises(RuntimeError), lease.writing():
        Job.objects.filter(pk=row.pk).update(note="half")
        raise RuntimeError

    row.refresh_from_db()
    assert (row.note, row.status) == ("", QUEUED)
