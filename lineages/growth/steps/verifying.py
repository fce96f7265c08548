"""verifying: the gates run over the candidate; what they find accepts it, repairs it or ends the attempt."""

from __future__ import annotations

from agents.plan import Judgement
from lineages.gates.base import Subject
from lineages.growth.acceptance import accept
from lineages.growth.models import Attempt, Candidate, Evolution
from lineages.growth.subjects import of_candidate
from lineages.growth.work import Fault, Work, close, store_review
from lineages.library import audits, blobs
from lineages.library.models import Audit


def run(work: Work) -> None:
    """Ends in `accepted`, `sign_off`, `repairing`, or in `drafting` when the repairs are spent."""
    attempt = work.attempt()
    candidate = attempt.candidate if attempt else None
    if attempt is None or candidate is None:
        raise Fault("there is no candidate to verify")
    audit = _audited(work, candidate)
    reason = audit.last_reason
    if audit.status == Audit.Status.ERROR:
        _forget(work, candidate)
        raise Fault(reason)
    with work.lease.writing():
        _store_rubric_review(candidate, audit)
        if audit.status == Audit.Status.ACCEPTED:
            _accepted(work, candidate)
        elif _repairs_spent(work, attempt):
            close(attempt, Attempt.Outcome.REPAIRS_SPENT, reason)
            work.move(Evolution.Status.DRAFTING, reason=reason)
        else:
            work.move(Evolution.Status.REPAIRING, reason=reason)


def _audited(work: Work, candidate: Candidate) -> Audit:
    """The candidate's audit, run to its end; a half-done one is gone on with."""
    subject = of_candidate(candidate, work.author)
    audit = candidate.audit
    if audit is None or _useless(audit, subject):
        parent = work.evolution.parent.snapshot
        with work.lease.writing():
            # A repair of the tests alone is graded on what the solver has left already.
            audit = audits.open_audit(
                candidate.snapshot, subject, profile=work.recipe.profile, parent=parent, regrade=True
            )
            Candidate.objects.filter(pk=candidate.pk).update(audit=audit)
    if audit.status == Audit.Status.QUEUED:
        audits.run(audit, subject, work.lease, scope=work.scope())
        audit.refresh_from_db()
    return audit


def _useless(audit: Audit, subject: Subject) -> bool:
    """Whether an audit cannot be gone on with: given up, or begun under what is no longer so."""
    if audit.status == Audit.Status.ABANDONED:
        return True
    return audit.status == Audit.Status.QUEUED and not audits.resumable(audit, subject)


def _forget(work: Work, candidate: Candidate) -> None:
    """An audit that the machine broke says nothing of the candidate: the next try makes a new one."""
    with work.lease.writing():
        Candidate.objects.filter(pk=candidate.pk).update(audit=None)


def _store_rubric_review(candidate: Candidate, audit: Audit) -> None:
    call = audit.calls.filter(role="rubric_verifier", output__isnull=False).last()
    if call is None or call.output_id is None or candidate.reviews.filter(call=call).exists():
        return
    judgement = Judgement.model_validate_json(blobs.read(call.output_id))
    store_review(judgement, role="rubric_verifier", reviewer=call.author, call=call, candidate=candidate)


def _repairs_spent(work: Work, attempt: Attempt) -> bool:
    """Repairs that a person asked for do not count."""
    return attempt.candidates.filter(n__gt=0, wish="").count() >= work.recipe.repairs


def _accepted(work: Work, candidate: Candidate) -> None:
    if work.recipe.approves_environments:
        work.move(Evolution.Status.SIGN_OFF)
    else:
        accept(work.evolution, candidate, token=work.lease.token)
