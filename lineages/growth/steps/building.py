"""building: the modifier turns the accepted plan into the first candidate."""

from __future__ import annotations

from agents.roles import Built, over
from lineages.growth.briefs import order
from lineages.growth.models import Attempt, Candidate, Evolution, PairBinding, Plan
from lineages.growth.work import Answered, Fault, Work, close
from lineages.library.models import Snapshot
from lineages.library.snapshots import store
from sandboxes.errors import TaskRefused
from sandboxes.intake import admit
from sandboxes.task import Task


def run(work: Work) -> None:
    """Ends in `verifying`, or in `drafting` when the modifier refuses or changed nothing."""
    build(work, revision=0, wish="")


def build(work: Work, *, revision: int, wish: str) -> None:
    """Ask for one revision of the child and store it as a candidate."""
    attempt = work.attempt()
    plan = attempt.plan if attempt else None
    if attempt is None or plan is None:
        raise Fault("there is no plan to build")
    handed = order(work, attempt, plan, revision)
    answered: Answered[Built] = work.ask(
        "modifier", lambda line: over(work.author.modifier, line).build(handed), attempt=attempt
    )
    child, problem = _child(work.parent, answered)
    if child is None:
        _refused(work, attempt, answered, problem)
        return
    with work.lease.writing():
        answered.save(attempt)
        _store(attempt, plan, store(child), answered.value, revision, wish)
        work.move(Evolution.Status.VERIFYING)


def _child(parent: Task, answered: Answered[Built]) -> tuple[Task | None, str]:
    """The child's task, taken in as any task from outside would be, or why there is none."""
    if answered.value is None:
        return None, answered.refusal
    try:
        child = admit(parent.replace(answered.value.changes).files).task
    except TaskRefused as refusal:
        return None, f"what was built is not a task: {refusal}"
    if child.digest == parent.digest:
        return None, "the modifier changed nothing"
    return child, ""


def _refused(work: Work, attempt: Attempt, answered: Answered[Built], problem: str) -> None:
    with work.lease.writing():
        answered.save(attempt)
        close(attempt, Attempt.Outcome.REFUSED, problem)
        work.move(Evolution.Status.DRAFTING, reason=problem)


def _store(
    attempt: Attempt, plan: Plan, snapshot: Snapshot, built: Built | None, revision: int, wish: str
) -> None:
    assert built is not None
    candidate = Candidate.objects.create(
        attempt=attempt,
        plan=plan,
        n=revision,
        snapshot=snapshot,
        composition_json=built.composition.model_dump(mode="json"),
        notes=built.notes,
        wish=wish,
    )
    PairBinding.objects.bulk_create(
        PairBinding(
            candidate=candidate,
            key=binding.key,
            solution_block=binding.solution_block,
            test_units="\n".join(binding.test_units),
            environment_paths="\n".join(binding.environment_paths),
            requirement=binding.requirement,
        )
        for binding in built.bindings
    )
