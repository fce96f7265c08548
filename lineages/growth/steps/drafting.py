"""drafting: open the next direction if none is open, and get a plan for it."""

from __future__ import annotations

from agents.plan import PlanDraft
from agents.roles import over
from lineages.growth.briefs import brief
from lineages.growth.evolving import abandon_attempts
from lineages.growth.models import Attempt, Evolution, Plan
from lineages.growth.subjects import of_environment
from lineages.growth.work import Answered, Fault, Work, close
from lineages.library import audits, machine, rubrics
from lineages.library.models import Audit


def run(work: Work) -> None:
    """Ends in `plan_review`, in `exhausted` when no direction is left, or in `cancelled` for a bad parent."""
    if not _parent_accepted(work):
        return
    while True:
        attempt = work.attempt() or _next_attempt(work)
        if attempt is None:
            work.move(
                Evolution.Status.EXHAUSTED, reason=f"no child by {', '.join(work.evolution.directions)}"
            )
            return
        if _rounds_spent(work, attempt):
            with work.lease.writing():
                close(
                    attempt,
                    Attempt.Outcome.PLANS_SPENT,
                    f"no plan accepted in {work.recipe.plan_rounds} rounds",
                )
        elif _draft(work, attempt):
            return


def _parent_accepted(work: Work) -> bool:
    """A lineage grows only from an accepted audit; a seed without one is audited first."""
    parent = work.evolution.parent
    if parent.generation:
        return True
    pinned = rubrics.of_version(work.recipe.environment_rubric)
    subject = of_environment(parent, work.author, pinned)
    profile = work.recipe.profile
    if audits.current(parent.snapshot, subject, profile_name=profile):
        return True
    machine.backend_for([work.author])  # no judge is paid where the author's work may not run anyway
    audit = audits.open_audit(parent.snapshot, subject, profile=profile, regrade=True)
    audits.run(audit, subject, work.lease, scope=work.scope())
    audit.refresh_from_db()
    if audit.status == Audit.Status.ERROR:
        raise Fault(audit.last_reason)
    if audit.status == Audit.Status.REJECTED:
        reason = f"the parent did not pass its audit: {audit.last_reason}"
        with work.lease.writing():
            abandon_attempts(work.evolution, reason)
            work.move(Evolution.Status.CANCELLED, reason=reason)
        return False
    return True


def _next_attempt(work: Work) -> Attempt | None:
    """Open the next direction of the order, from the same parent."""
    tried = work.evolution.attempts.count()
    if tried >= len(work.evolution.directions):
        return None
    with work.lease.writing():
        return Attempt.objects.create(
            evolution=work.evolution, ordinal=tried, direction=work.evolution.directions[tried]
        )


def _rounds_spent(work: Work, attempt: Attempt) -> bool:
    """Rounds that a person asked for do not count."""
    return attempt.plans.filter(wish="").count() >= work.recipe.plan_rounds and not _open_wish(attempt)


def _open_wish(attempt: Attempt) -> str:
    """What a person wants changed in the newest plan."""
    newest = attempt.plan
    if newest is None:
        return ""
    asked = newest.reviews.filter(decision="changes", superseded_by=None).order_by("-id").first()
    return asked.comment if asked else ""


def _draft(work: Work, attempt: Attempt) -> bool:
    """Ask the proposer; False when it has nothing more in this direction, which closes the attempt."""
    handed = brief(work, attempt)
    answered: Answered[PlanDraft] = work.ask(
        "proposer", lambda line: over(work.author.proposer, line).propose(handed), attempt=attempt
    )
    with work.lease.writing():
        answered.save(attempt)
        if answered.value is None:
            close(attempt, Attempt.Outcome.NO_PLAN, answered.refusal)
            return False
        draft = answered.value.model_dump(mode="json")
        plan_round = attempt.plans.count()
        Plan.objects.create(attempt=attempt, round=plan_round, draft_json=draft, wish=_open_wish(attempt))
        work.move(Evolution.Status.PLAN_REVIEW)
    return True
