"""Audits: a leased run of a gate profile over a snapshot.

Gates run in threads, without the database, as soon as those they wait for are accepted; this thread keeps
the leases alive and stores each result under the audit's lease. A killed run leaves its results; the next
one fills the gaps.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import UTC, datetime

from django.conf import settings as django_settings
from django.db import transaction
from django.db.models import Q

from agents.line import Waits
from agents.providers.errors import ProviderError
from agents.roles import AgentsError, Author
from agents.rubrics import Rubric
from lineages.desk import Desk, Gone, attended, beating
from lineages.gates import all_gates, profile, settings
from lineages.gates.base import Gate, Once, Outcome, Result, Subject
from lineages.library import benchmarks, machine, probing, solves, surroundings
from lineages.library.ledger import LedgerLine, Scope
from lineages.library.models import (
    Audit,
    Environment,
    GateResult,
    Snapshot,
    Voiding,
)
from lineages.library.recording import Answer, store
from lineages.library.snapshots import load
from lineages.lifecycle import Busy, Lease, LeaseLost, Stale, cancel, claim
from sandboxes.errors import SandboxError
from sandboxes.slots import Slots

log = logging.getLogger(__name__)

WHOLE_PROFILE = "standard"
WHOLE_PROFILES = (WHOLE_PROFILE, "strict")
"""Those that ask all that a lineage needs; the others are a person's quick look, or a comparison."""
SWEEP_SECONDS = 1.0


def subject_of(
    snapshot: Snapshot,
    author: Author,
    rubric: Rubric,
    *,
    made_by: Iterable[machine.Maker] = (),
    grown_from: Environment | None = None,
    own: Environment | None = None,
) -> Subject:
    """A snapshot as a subject without a plan: a seed, or a task handed to `verify`.

    `made_by` are the authors whose work is in it; `grown_from` is its parent's environment, `own` the one
    that it was accepted as: they say which environments came before it, and which attacks its lineage keeps.
    Raises `MachineFault` when it may not run here.
    """
    task = load(snapshot)
    nearest = own or grown_from
    return Subject(
        task=task,
        backend=machine.backend_for(made_by),
        limits=machine.limits(),
        labels={},
        judge=author.rubric_verifier,
        adversary=author.adversary,
        solver=author.solver,
        failure_judge=author.failure_judge,
        judge_name=author.name,
        judge_version=author.version,
        rubric=rubric.version,
        criteria=rubric,
        archive=surroundings.archive(snapshot, task, parent=grown_from, own=own),
        benchmarks=benchmarks.of(task),
        probes=probing.kept_for(nearest.lineage if nearest else None),
    )


def open_audit(
    snapshot: Snapshot,
    subject: Subject,
    *,
    profile: str,
    parent: Snapshot | None = None,
    repeats: int = 0,
    regrade: bool = False,
) -> Audit:
    """A half-done audit of just this subject and these choices, or a new one (`Audit` tells the choices).

    A candidate's is its own, since another one of the same content may have been built by another plan.
    """
    chosen = {"profile": profile, "parent": parent, "repeats": repeats, "regrade": regrade}
    waiting = snapshot.audits.filter(status=Audit.Status.QUEUED, candidates=None, **chosen)
    for audit in waiting:
        if resumable(audit, subject):
            return audit
    return Audit.objects.create(
        snapshot=snapshot,
        **chosen,
        status=Audit.Status.QUEUED,
        backend=subject.backend.name,
        provisional=subject.backend.provisional,
        judge=subject.judge_name,
        rubric=subject.rubric,
    )


def resumable(audit: Audit, subject: Subject) -> bool:
    """Whether what an unfinished audit already holds is what this subject would be told today."""
    made_with = (audit.backend, audit.provisional, audit.judge, audit.rubric)
    now = (subject.backend.name, subject.backend.provisional, subject.judge_name, subject.rubric)
    keys = keys_of(audit.profile, asked(audit, subject))
    held = audit.results.values_list("gate", "key")
    return made_with == now and all(keys.get(gate) == key for gate, key in held)


def asked(audit: Audit, subject: Subject) -> Subject:
    """The subject with what this audit's profile and choices ask of it."""
    return with_profile(subject, audit.profile, audit.repeats)


def with_profile(subject: Subject, profile_name: str, repeats: int = 0) -> Subject:
    chosen = settings(profile_name)
    return replace(subject, repeats=repeats or chosen.repeats, thorough=chosen.thorough)


def keys_of(profile_name: str, subject: Subject) -> dict[str, str]:
    """Today's key of every gate of a profile."""
    return {gate.name: gate.key(subject) for gate in profile(profile_name)}


def current(snapshot: Snapshot, subject: Subject, *, profile_name: str) -> Audit | None:
    """The newest accepted audit whose every key is still today's."""
    keys = keys_of(profile_name, with_profile(subject, profile_name))
    for audit in snapshot.audits.filter(status=Audit.Status.ACCEPTED, profile=profile_name).order_by("-id"):
        if dict(audit.results.values_list("gate", "key")) == keys:
            return audit
    return None


def latest(of: Environment | Snapshot) -> Audit | None:
    """The audit whose results are shown: the newest whole one that came to a verdict (`asked_all`).

    Where there is none, the newest of any kind. An environment's judged it with its own parent: of its
    content alone, or beside another parent, other things are true.
    """
    if not isinstance(of, Environment):
        return of.audits.order_by("-id").first()
    own = of.snapshot.audits.filter(parent=of.parent.snapshot if of.parent else None).order_by("-id")
    said = own.filter(asked_all(), status__in=[Audit.Status.ACCEPTED, Audit.Status.REJECTED])
    return said.first() or own.first()


def asked_all() -> Q:
    """Audits that asked all that a lineage needs, and repeated it no less often than their profile does."""
    whole = Q()
    for name in WHOLE_PROFILES:
        whole |= Q(profile=name) & (Q(repeats=0) | Q(repeats__gte=settings(name).repeats))
    return whole


def run(audit: Audit, subject: Subject, *also_held: Lease, scope: Scope | None = None) -> None:
    """Run what is left of an audit and settle it. `also_held` are leases to keep alive meanwhile.

    `scope` says for which evolution and lineage the requests to models are made. Raises `Busy` when another
    worker runs it, `LeaseLost` when one of the leases is no longer ours, `Waits` when a gate waits for an
    answer of a model: what the others said is stored then, and the next run asks that one again.
    """
    lease = claim(audit)
    if lease is None:
        raise Busy(f"audit {audit.pk} is not free: it is {audit.status}, or another worker runs it")
    try:
        judged = replace(
            asked(audit, subject),
            labels={"lease": lease.token, "audit": str(audit.pk)},
            solved=solves.kept(subject) if audit.regrade else {},
            once=Once(),
        )
        scope = scope or Scope(author=subject.judge_name, input_digest=subject.task.digest)
        _run_gates(lease, judged, also_held, replace(scope, audit=audit.pk))
        _settle(lease)
    finally:
        lease.release()


def abandon(audit: Audit, reason: str) -> None:
    """Say of an audit that nobody will finish it; harmless when it has ended meanwhile."""
    with contextlib.suppress(Stale):
        cancel(audit, Audit.Status.ABANDONED, reason=reason)


def _run_gates(lease: Lease, subject: Subject, also_held: Sequence[Lease], scope: Scope) -> None:
    audit = lease.row
    assert isinstance(audit, Audit)
    gates = profile(audit.profile)
    names = {gate.name for gate in gates}
    voided_before = voided_among({(gate.name, gate.key(subject)) for gate in gates})
    said = {row.gate: _accepted(row, voided_before) for row in audit.results.all()}
    waiting = [gate for gate in gates if gate.name not in said]
    running: set[Future[Answer | Waits]] = set()
    unanswered: list[Waits] = []
    with (
        ThreadPoolExecutor(max_workers=max(1, len(waiting))) as pool,
        attended(lease, running) as desk,
        _ended_with(lease, subject, running, desk),
    ):
        speaking = subject.over(LedgerLine(desk, django_settings.MODELS, scope))
        while True:
            for gate in [gate for gate in waiting if said.keys() >= set(gate.after) & names]:
                waiting.remove(gate)
                running.add(pool.submit(_ask, gate, speaking, dict(said), machine.slots()))
            if not running:
                break
            for done in beating(running, lease, *also_held, desk=desk):
                running.discard(done)
                answer = done.result()
                if isinstance(answer, Waits):
                    unanswered.append(answer)
                    continue
                with lease.writing():
                    stored = store(audit, subject, answer)
                said[stored.gate] = _accepted(stored, voided_among({(stored.gate, stored.key)}))
    if unanswered:
        raise min(unanswered, key=lambda waits: waits.seconds)


@contextlib.contextmanager
def _ended_with(
    lease: Lease, subject: Subject, running: set[Future[Answer | Waits]], desk: Desk
) -> Iterator[None]:
    """Ends our sandboxes when we lost a lease, until the threads that wait for them have ended too.

    A thread may still open one after a sweep: its lease is no longer live, so the next sweep takes it.
    """
    try:
        yield
    except LeaseLost:
        lease.release()
        while wait(running, timeout=SWEEP_SECONDS).not_done:
            desk.serve()
            subject.backend.sweep(machine.is_live)
        raise


def _ask(gate: Gate, subject: Subject, said: dict[str, bool], slots: Slots) -> Answer | Waits:
    """Runs in a thread: no database here. `said` tells of the gates before whether each is accepted."""
    started_at, clock = datetime.now(UTC), time.monotonic()
    blocked = [name for name in gate.after if not said.get(name, True)]
    if blocked:
        outcome = Outcome(Result.NOT_RUN, f"Not run, because {', '.join(blocked)} did not pass.")
    else:
        try:
            outcome = _checked(gate, subject, slots)
        except Waits as no_answer_yet:
            return no_answer_yet
    return Answer(gate, outcome, started_at, time.monotonic() - clock)


def _checked(gate: Gate, subject: Subject, slots: Slots) -> Outcome:
    try:
        with slots.take() if gate.sandbox else contextlib.nullcontext():
            return gate.check(subject)
    except SandboxError as problem:
        return Outcome(Result.ERROR, f"The machine failed, not the task: {problem}")
    except (Waits, LeaseLost, Gone):
        raise
    except ProviderError as problem:
        return Outcome(Result.ERROR, f"The model's server failed, not the task: {problem}")
    except AgentsError as problem:
        return Outcome(Result.ERROR, f"The role that this gate asks gave no answer to use: {problem}")
    except Exception as problem:
        log.exception("the gate %s broke", gate.name)
        return Outcome(Result.ERROR, f"The gate itself broke: {type(problem).__name__}: {problem}")


def _settle(lease: Lease) -> None:
    audit = lease.row
    assert isinstance(audit, Audit)
    results = list(audit.results.all())
    keys = voided(results)
    unaccepted = [row for row in results if not _accepted(row, keys)]
    errors = [row for row in unaccepted if row.outcome == Result.ERROR]
    failed = [row for row in unaccepted if row.outcome == Result.FAILED]
    with transaction.atomic():
        if errors:
            lease.move(Audit.Status.ERROR, reason=errors[0].summary)
        elif failed:
            lease.move(Audit.Status.REJECTED, reason=failed[0].summary)
        elif unaccepted:
            # What these had waited for was voided after they were passed over: only another audit runs them.
            names = ", ".join(row.gate for row in unaccepted)
            lease.move(Audit.Status.ERROR, reason=f"a failure was voided meanwhile: {names} did not run yet")
        else:
            lease.move(Audit.Status.ACCEPTED)
            _mark_provisional(audit)


def voided(results: Iterable[GateResult]) -> set[tuple[str, str]]:
    """Gate and key of those results whose failure a person has voided."""
    return voided_among({(row.gate, row.key) for row in results})


def voided_among(keys: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of the keys that are voided; a gate that nobody may void is not, whatever was stored once."""
    of_key = Voiding.objects.filter(key__in=[key for _, key in keys]).exclude(gate__in=never_voided())
    return set(of_key.values_list("gate", "key")) & set(keys)


def passed_over(audit: Audit) -> bool:
    """Whether a gate did not run that would run now, since what it waits for was voided after the verdict."""
    rows, known = {row.gate: row for row in audit.results.all()}, all_gates()
    keys = voided(rows.values())
    said = {name: _accepted(row, keys) for name, row in rows.items()}
    waited = [known[name] for name, row in rows.items() if row.outcome == Result.NOT_RUN and name in known]
    return any(gate.required and all(said.get(name, True) for name in gate.after) for gate in waited)


def never_voided() -> frozenset[str]:
    """The gates whose failure no person may void."""
    return frozenset(name for name, gate in all_gates().items() if not gate.waivable)


def _accepted(row: GateResult, voided_keys: Collection[tuple[str, str]]) -> bool:
    """Whether this result lets a task pass: a failure does once a person voided it under its key."""
    if row.outcome == Result.FAILED:
        return (row.gate, row.key) in voided_keys
    gate = all_gates().get(row.gate)
    return gate.accepts(Result(row.outcome)) if gate else Result(row.outcome).accepted


def _mark_provisional(audit: Audit) -> None:
    environments = audit.snapshot.environments.filter(parent__snapshot=audit.parent)
    environments.update(provisional=provisional(audit.snapshot, audit.parent))


def provisional(snapshot: Snapshot, parent: Snapshot | None) -> bool:
    """Whether no backend that builds Dockerfiles has accepted this content yet.

    Once all that a lineage needs was accepted (`asked_all`), such a backend has to be asked all of it too: a
    quick look there makes nothing firm that was never asked there.
    """
    accepted = snapshot.audits.filter(parent=parent, status=Audit.Status.ACCEPTED)
    whole = accepted.filter(asked_all())
    return not (whole if whole.exists() else accepted).filter(provisional=False).exists()
