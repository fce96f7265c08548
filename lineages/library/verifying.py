"""Verifying tasks that need not be in any lineage: one, or a night's worth, several at a time.

Tasks are read in the caller's thread, since an archive gives them one after the other; they are stored and
audited in worker threads, each with a database connection of its own. No more than twice as many tasks as
workers are held at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum

from django.db import connection

from lineages.gates import all_gates
from lineages.gates.base import Result, Subject
from lineages.library import audits, machine
from lineages.library.blobs import BlobLost
from lineages.library.models import Audit, GateResult, Snapshot
from lineages.lifecycle import Busy, LeaseLost
from sandboxes.errors import SandboxError, TaskRefused

LOOK_AGAIN_SECONDS = 1.0
REFUSED = "refused: "
VOIDED = "a person voided what had failed meanwhile; verify it again"
GIVEN_UP = "another process verified this content at the same time and gave it up; verify it again"


class Verdict(StrEnum):
    """What to do with a task, of which `judge` and `refused` are the only judges.

    ACCEPT: every required gate accepts it. FIX: what failed may be waived by a person with a reason, or each
    of its findings brings its repair. REJECT: another gate failed, or the task was refused. ERROR: the
    machine failed, so nothing is said of the task.
    """

    ACCEPT = "accept"
    FIX = "fix"
    REJECT = "reject"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Asked:
    """How to verify. `repeats` 0 is as the profile says; `resume` takes over what was judged before."""

    profile: str
    repeats: int = 0
    regrade: bool = False
    resume: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """Stored content, its parent's where it has one, and what the gates judge."""

    snapshot: Snapshot
    parent: Snapshot | None
    subject: Subject


@dataclass(frozen=True, slots=True)
class Case:
    """A task that was read. `prepare` stores it; it is called in a worker's thread."""

    digest: str
    warnings: tuple[str, ...]
    prepare: Callable[[], Prepared]


@dataclass(frozen=True, slots=True)
class Target:
    """One task that was found. `read` raises `TaskRefused`; it works until the next target is asked for."""

    path: str
    read: Callable[[], Case]


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one task. Small, since a run has tens of thousands.

    `position` counts from 0 in the order in which tasks are found; `outcomes` are pairs of gate and outcome;
    `taken_over`: an earlier audit of the same content under the same keys, or of a twin in this run.
    """

    position: int
    path: str
    verdict: Verdict
    why: str = ""
    digest: str = ""
    audit: int | None = None
    outcomes: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    taken_over: bool = False

    @property
    def refused(self) -> bool:
        return not self.digest


def judge(audit: Audit) -> tuple[Verdict, str]:
    """The verdict of an audit that has ended, and why in a sentence; empty where it is accepted."""
    if audit.status == Audit.Status.ACCEPTED:
        return Verdict.ACCEPT, ""
    if audit.status != Audit.Status.REJECTED:
        return Verdict.ERROR, audit.last_reason or GIVEN_UP
    failed = standing_failures(audit)
    if not failed:
        return Verdict.ERROR, VOIDED
    grave = [row for row in failed if not mendable(row)]
    first = (grave or failed)[0]
    return (Verdict.REJECT if grave else Verdict.FIX), f"{first.gate}: {first.summary}"


def standing_failures(audit: Audit) -> list[GateResult]:
    """Failed results that no person has voided, oldest first."""
    failed = list(audit.results.filter(outcome=Result.FAILED).prefetch_related("findings"))
    voided = audits.voided(failed)
    return [row for row in failed if (row.gate, row.key) not in voided]


def mendable(row: GateResult) -> bool:
    """Whether a person can make this failure go away: by a reason, or by the repairs that it brings."""
    gate = all_gates().get(row.gate)
    serious = [finding for finding in row.findings.all() if not finding.warning]
    return gate is None or gate.waivable or (bool(serious) and all(each.repair for each in serious))


def finished(case: Prepared, asked: Asked) -> Audit | None:
    """The newest audit that came to a verdict on this content, if it would be told the same today."""
    keys = audits.keys_of(
        asked.profile, audits.with_profile(case.subject, asked.profile, repeats=asked.repeats)
    )
    ended = case.snapshot.audits.filter(
        profile=asked.profile,
        parent=case.parent,
        status__in=[Audit.Status.ACCEPTED, Audit.Status.REJECTED],
    )
    for audit in ended.order_by("-id"):
        if dict(audit.results.values_list("gate", "key")) == keys and _verdict_stands(audit):
            return audit
    return None


def _verdict_stands(audit: Audit) -> bool:
    """False once a person voided all that had failed, or what a gate that did not run had waited for."""
    if audit.status == Audit.Status.ACCEPTED:
        return True
    return bool(standing_failures(audit)) and not audits.passed_over(audit)


class Batch:
    """One run over many targets, `jobs` at a time."""

    def __init__(self, asked: Asked, jobs: int) -> None:
        """Raises `ValueError` for fewer than one job."""
        if jobs < 1:
            raise ValueError(f"at least one task has to be verified at a time, not {jobs}")
        self._asked = asked
        self._jobs = jobs
        self._stopped = threading.Event()
        self._open: set[int] = set()
        self._first: dict[str, Future[Judged] | Judged] = {}
        self._twins: dict[Future[Judged], list[Judged]] = {}

    def run(self, targets: Iterable[Target]) -> Generator[Judged, None, None]:
        """Every target judged, in the order in which they are done; content that comes twice is judged once.

        Closed or interrupted, it abandons the audits that run, ends their sandboxes and waits for its
        threads. Raises `DatabaseError` and `OSError` where no task is to blame.
        """
        with ThreadPoolExecutor(self._jobs, thread_name_prefix="verify") as pool, self._ended():
            for position, target in enumerate(targets):
                yield from self._take(pool, position, target)
                machine.trim()
                while len(self._twins) >= 2 * self._jobs:
                    yield from self._finish()
            while self._twins:
                yield from self._finish()

    def _take(self, pool: ThreadPoolExecutor, position: int, target: Target) -> Iterator[Judged]:
        try:
            case = target.read()
        except TaskRefused as refusal:
            yield Judged(position, target.path, Verdict.REJECT, REFUSED + _about(refusal, target.path))
            return
        found = Judged(position, target.path, Verdict.ERROR, digest=case.digest, warnings=case.warnings)
        first = self._first.get(case.digest)
        if isinstance(first, Judged):
            yield _twin(found, first)
        elif first is not None:
            self._twins[first].append(found)
        else:
            future = pool.submit(self._judged, found, case)
            self._first[case.digest] = future
            self._twins[future] = []

    def _finish(self) -> Iterator[Judged]:
        done, _ = wait(self._twins, return_when=FIRST_COMPLETED)
        for future in done:
            twins = self._twins.pop(future)
            judged = future.result()
            self._first[judged.digest] = judged
            yield judged
            yield from (_twin(found, judged) for found in twins)

    def _judged(self, found: Judged, case: Case) -> Judged:
        """In a worker's thread. What speaks of the machine is a verdict; of the database, it is raised."""
        try:
            return self._audited(found, case.prepare())
        except (SandboxError, BlobLost, LeaseLost, OSError) as problem:
            return replace(found, why=f"the machine failed, not the task: {problem}")
        finally:
            connection.close()

    def _audited(self, found: Judged, case: Prepared) -> Judged:
        asked = self._asked
        earlier = finished(case, asked) if asked.resume else None
        audit = earlier or audits.open_audit(
            case.snapshot,
            case.subject,
            profile=asked.profile,
            parent=case.parent,
            repeats=asked.repeats,
            regrade=asked.regrade,
        )
        if earlier is None:
            self._run(audit, case.subject)
        verdict, why = judge(audit)
        outcomes = tuple(audit.results.values_list("gate", "outcome"))
        return replace(
            found, verdict=verdict, why=why, audit=audit.pk, outcomes=outcomes, taken_over=bool(earlier)
        )

    def _run(self, audit: Audit, subject: Subject) -> None:
        """To its end, by us or by the process that runs it already, which its lease tells to be alive."""
        self._open.add(audit.pk)
        try:
            while not self._stopped.is_set():
                try:
                    audits.run(audit, subject)
                    return
                except Busy:
                    audit.refresh_from_db()
                    if audit.status != Audit.Status.QUEUED:
                        return
                    self._stopped.wait(LOOK_AGAIN_SECONDS)
            audits.abandon(audit, "verify was interrupted")
        finally:
            self._open.discard(audit.pk)

    @contextmanager
    def _ended(self) -> Iterator[None]:
        """Gives up all that runs, whatever makes this run end early."""
        try:
            yield
        except BaseException:
            self._stopped.set()
            for future in self._twins:
                future.cancel()
            for audit in Audit.objects.filter(pk__in=list(self._open)):
                audits.abandon(audit, "verify was interrupted")
            with suppress(
                SandboxError
            ):  # the threads sweep too, as soon as they see that they lost their leases
                machine.backend().sweep(machine.is_live)
            raise


def _twin(found: Judged, first: Judged) -> Judged:
    return replace(first, position=found.position, path=found.path, warnings=found.warnings, taken_over=True)


def _about(refusal: TaskRefused, path: str) -> str:
    return refusal.reason if refusal.path == path else str(refusal)
