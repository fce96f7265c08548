"""Threads without a database, and the one that has it and does their errands."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from lineages.desk import Desk, Gone, attended, beating
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


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_when_the_other_leaves_by_an_error_nothing_more_is_begun_but_money_is_written_down(
    error: type[BaseException],
) -> None:
    lease, running = held(), set[Future[int]]()
    told: list[BaseException] = []
    desks: list[Desk] = []

    def work(desk: Desk) -> int:
        while not desk.leaving:
            threading.Event().wait(0.01)
        try:
            desk.ask(lambda: AssertionError("begun"))
        except Gone as gone:
            told.append(gone)
        return desk.ask(note("spent"), fenced=False)

    with (
        pytest.raises(error, match="the step broke"),
        ThreadPoolExecutor(max_workers=1) as pool,
        attended(lease, running) as desk,
    ):
        desks.append(desk)
        running.add(pool.submit(work, desk))
        raise error("the step broke")
    (done,) = running
    assert done.result() == 1 and len(told) == 1
    assert Job.objects.get().note == "spent"
    with pytest.raises(Gone):
        desks[0].ask(note("after all of it"), fenced=False)


def test_who_waits_at_a_desk_that_nobody_serves_any_more_is_turned_away() -> None:
    desk = Desk(held())
    with ThreadPoolExecutor(max_workers=1) as pool:
        waiting = pool.submit(desk.ask, note("never"))
        while not desk.bell.done():
            threading.Event().wait(0.01)
        desk.close()

        with pytest.raises(Gone):
            waiting.result(timeout=20)
    assert Job.objects.get().note == ""
