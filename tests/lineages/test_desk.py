"""Threads without a database, and the one that has it and does their errands."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from lineages.desk import Desk, attended, beating
from lineages.library.models import Job
from lineages.lifecycle import Lease, LeaseLost, claim

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.lifecycle]


def held() -> Lease:
    lease = claim(Job.objects.create(job_kind="audit", subject="a/g0", status=Job.Status.QUEUED))
    assert lease is not None
    return lease


def lose(lease: Lease) -> None:
    Job.objects.filter(pk=lease.row.pk).update(lease_token="somebody-else")


def note(text: str) -> Callable[[], int]:
    """An errand that leaves a trace in the lease's row; it returns how many rows have it."""
    return lambda: Job.objects.update(note=text)


def at_the_desk(lease: Lease, work: Callable[[Desk], object]) -> object:
    """What `work` comes to in a thread of its own while this one waits as a step does."""
    running: set[Future[object]] = set()
    with ThreadPoolExecutor(max_workers=1) as pool, attended(lease, running) as desk:
        running.add(pool.submit(work, desk))
        (done,) = beating(running, lease, desk=desk)
    return done.result()


def test_an_errand_is_done_by_the_thread_that_waits_and_its_answer_comes_back() -> None:
    lease, here = held(), threading.get_ident()

    def work(desk: Desk) -> tuple[int, int, int]:
        rows = desk.ask(note("done"))
        return rows, desk.ask(threading.get_ident), threading.get_ident()

    rows, served_by, asked_by = at_the_desk(lease, work)  # type: ignore[misc]

    assert (rows, Job.objects.get().note) == (1, "done")
    assert served_by == here != asked_by


def test_what_an_errand_raises_is_raised_in_who_asked_and_nothing_of_it_is_stored() -> None:
    lease = held()

    def broken() -> None:
        note("half")()
        raise ArithmeticError("no")

    def work(desk: Desk) -> str:
        with pytest.raises(ArithmeticError, match="no"):
            desk.ask(broken)
        return "went on"

    assert at_the_desk(lease, work) == "went on"
    assert Job.objects.get().note == ""


def test_once_the_lease_is_lost_a_fenced_errand_raises_and_writes_nothing() -> None:
    lease = held()
    raised: list[BaseException] = []

    def work(desk: Desk) -> None:
        desk.ask(lambda: lose(lease))
        try:
            desk.ask(note("too late"))
        except LeaseLost as lost:
            raised.append(lost)

    with pytest.raises(LeaseLost):
        at_the_desk(lease, work)
    assert len(raised) == 1
    assert Job.objects.get().note == ""


def test_money_is_written_down_even_after_the_lease_is_lost() -> None:
    lease = held()
    asked = threading.Event()

    def work(desk: Desk) -> None:
        desk.ask(lambda: lose(lease))
        asked.set()
        desk.ask(note("spent"), fenced=False)

    with pytest.raises(LeaseLost):
        at_the_desk(lease, work)
    assert asked.is_set()
    assert Job.objects.get().note == "spent"


def test_who_asks_while_the_other_leaves_by_an_error_is_still_answered() -> None:
    lease, running = held(), set[Future[int]]()
    left = threading.Event()

    def work(desk: Desk) -> int:
        left.wait(timeout=20)
        return desk.ask(note("after the error"))

    with (
        pytest.raises(RuntimeError, match="the step broke"),
        ThreadPoolExecutor(max_workers=1) as pool,
        attended(lease, running) as desk,
    ):
        running.add(pool.submit(work, desk))
        left.set()
        raise RuntimeError("the step broke")
    (done,) = running
    assert done.result() == 1
    assert Job.objects.get().note == "after the error"
