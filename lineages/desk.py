"""Between the thread that holds leases and the threads that work for it, which have no database.

Slow work (roles, gates) runs in threads; the thread that holds the leases waits in `beating`, which keeps
them alive. Where such a thread needs the database, it asks at the `Desk`, and that thread does it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, InvalidStateError, wait
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from django.conf import settings
from django.db import transaction

from lineages.lifecycle import Lease, LeaseLost

T = TypeVar("T")
Errand = tuple[Callable[[], Any], bool, Future[Any]]


class Gone(Exception):
    """Who serves the desk is leaving or has left; what was asked was not done."""


class Desk:
    """Where a thread without a database asks the one that holds the lease to do something for it.

    What is `fenced` is done in a transaction under the lease, and raises `LeaseLost` once that is lost; what
    is not, is done all the same: money that was spent is spent, whoever holds the row. Once who serves it
    leaves by another error, what is fenced raises `Gone`, so that nothing more is begun; once it has left,
    all does.
    """

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.leaving = self.closed = False
        self.bell: Future[None] = Future()
        self._errands: SimpleQueue[Errand] = SimpleQueue()

    def ask(self, errand: Callable[[], T], *, fenced: bool = True) -> T:
        """For the other threads: waits, and returns or raises what the errand does, or raises `Gone`."""
        answer: Future[T] = Future()
        self._errands.put((errand, fenced, answer))
        if self.closed:
            self._turn_away()
        with contextlib.suppress(InvalidStateError):
            self.bell.set_result(None)
        return answer.result()

    def serve(self) -> None:
        """Do what was asked so far. What an errand raises goes to who asked."""
        self.bell = Future()  # before the queue is looked at: what comes later rings the new one
        while not self._errands.empty():
            errand, fenced, answer = self._errands.get()
            try:
                answer.set_result(self._done(errand, fenced))
            except Exception as problem:  # noqa: BLE001 - handed on to who asked
                answer.set_exception(problem)
            finally:
                if not answer.done():
                    answer.set_exception(Gone("this process is ending"))

    def close(self) -> None:
        """Nobody serves it any more: who asks, or still waits, is told so."""
        self.closed = True
        self._turn_away()

    def _done(self, errand: Callable[[], T], fenced: bool) -> T:
        if fenced and self.leaving:
            raise Gone("the step that this belongs to has ended with an error")
        with self.lease.writing() if fenced else transaction.atomic():
            return errand()

    def _turn_away(self) -> None:
        with contextlib.suppress(Empty):
            while True:
                *_, answer = self._errands.get_nowait()
                answer.set_exception(Gone("the step that this belongs to has ended"))


@contextlib.contextmanager
def attended(lease: Lease, running: Iterable[Future[Any]]) -> Iterator[Desk]:
    """A desk that is served until all of `running` have ended, also when the caller leaves by an error.

    `running` may be added to meanwhile. After an error, a lost lease or Ctrl-C say, fenced errands raise in
    who asks; a second Ctrl-C does not wait for the others.
    """
    desk = Desk(lease)
    try:
        yield desk
    except LeaseLost:
        raise
    except BaseException:
        desk.leaving = True
        raise
    finally:
        try:
            _serve_to_the_end(desk, running)
        finally:
            desk.close()


def _serve_to_the_end(desk: Desk, running: Iterable[Future[Any]]) -> None:
    while left := {each for each in running if not each.done()}:
        wait({*left, desk.bell}, timeout=settings.LEASE_BEAT_SECONDS, return_when=FIRST_COMPLETED)
        desk.serve()


def beating(futures: Iterable[Future[Any]], *leases: Lease, desk: Desk | None = None) -> set[Future[Any]]:
    """Wait for the first of the futures, renewing the leases and serving the desk; returns those done.

    Raises `LeaseLost`.
    """
    watched = set(futures)
    done: set[Future[Any]] = set()
    while not done:
        bells = {desk.bell} if desk else set()
        rung, _ = wait(watched | bells, timeout=settings.LEASE_BEAT_SECONDS, return_when=FIRST_COMPLETED)
        if desk:
            desk.serve()
        done = rung & watched
        for lease in leases:
            lease.beat()
    return done
