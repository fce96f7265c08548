"""What the roles are handed: briefs for plans, orders for builds, and a probe of the parent's image."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from agents.plan import Direction, Effort, Judgement, PlanDraft, Sequence
from agents.roles import Brief, BuildOrder, Built, Evidence, Probe
from lineages import difficulty, edits
from lineages.gates.base import Finding, Outcome, Result, evidence
from lineages.growth.models import Attempt, Candidate, Plan, Review
from lineages.growth.subjects import makers
from lineages.growth.work import Work
from lineages.growth.workbench import GrowthWorkbench
from lineages.library import audits, machine, rubrics
from lineages.library.models import GateResult
from lineages.library.snapshots import load
from sandboxes.files import TaskFile
from sandboxes.task import Task

PROBE_SECONDS = 20
WHICH = 'for name; do command -v -- "$name"; done; true'


def brief(work: Work, attempt: Attempt) -> Brief:
    evolution = work.evolution
    plans = list(attempt.plans.all())
    return Brief(
        task=work.parent,
        sequence=evolution.parent.sequence,
        composition=evolution.parent.composition,
        direction=Direction(attempt.direction),
        effort=Effort(work.recipe.effort),
        generation=evolution.generation,
        rng_seed=rng_seed(work, attempt),
        probe=probe_of(work),
        history=tuple((plan.draft, judgement_of(plan)) for plan in plans),
        wishes=tuple(wishes_for(plans)),
        rubric=rubrics.of_version(work.recipe.plan_rubric),
        rules=rules(work, attempt).sentences,
    )


@dataclass(frozen=True)
class Rules:
    """What is asked of a plan's edits, whoever proposed it; it knows no database."""

    before: Sequence
    direction: Direction
    effort: Effort
    domain: str

    def broken(self, plan: PlanDraft) -> list[tuple[str, str]]:
        """Each broken rule as `edits` or `levers` and a sentence: the edits first, then idle levers."""
        found = edits.violations(plan, self.before, self.direction, self.effort)
        if found:
            return [("edits", sentence) for sentence in found]
        table = difficulty.shipped()
        idle = difficulty.idle_levers(plan.direction, plan.before, plan.after, self.domain, table)
        return [("levers", sentence) for sentence in idle]

    def sentences(self, plan: PlanDraft) -> list[str]:
        return [sentence for _, sentence in self.broken(plan)]


def rules(work: Work, attempt: Attempt) -> Rules:
    evolution = work.evolution
    effort = Effort(work.recipe.effort)
    return Rules(evolution.parent.sequence, Direction(attempt.direction), effort, evolution.lineage.domain)


def rng_seed(work: Work, attempt: Attempt) -> str:
    """What makes the author's choices repeatable: recipe seed, parent, evolution, direction."""
    parent = work.evolution.parent.snapshot.digest
    return f"{work.recipe.seed}:{parent}:{work.evolution.ordinal}:{attempt.direction}"


def judgement_of(plan: Plan) -> Judgement | None:
    """The newest role's judgement on a plan; None for a plan that a person sent back all the same."""
    if plan.reviews.filter(decision=Review.Decision.CHANGES, superseded_by=None).exists():
        return None
    review = plan.reviews.filter(user__isnull=True).order_by("-id").first()
    if review is None:
        return None
    rows = review.criteria.values("criterion", "verdict", "explanation", "quote")
    return Judgement.model_validate({"verdicts": list(rows)})


def wishes_for(plans: list[Plan]) -> list[str]:
    """What people asked to be changed, oldest first."""
    wishes = Review.objects.filter(plan__in=plans, decision=Review.Decision.CHANGES, superseded_by=None)
    asked = wishes.order_by("id")
    return list(asked.values_list("comment", flat=True))


def probe_of(work: Work) -> Probe:
    """Asks which commands exist in the parent's image: one sandbox for each different question."""
    backend = machine.backend_for([work.author, *makers(work.evolution.lineage)])
    seconds = work.parent.config.environment.build_timeout_sec
    labels = {"lease": work.lease.token}

    @cache
    def probe(commands: tuple[str, ...]) -> frozenset[str]:
        image = backend.build(work.parent.under("environment"), timeout=seconds)
        with machine.slots().take(), backend.open(image, machine.limits(), labels=labels) as sandbox:
            listing = sandbox.exec(["sh", "-c", WHICH, "sh", *commands], timeout=PROBE_SECONDS)
        work.commands.append(listing)
        found = {line.rsplit("/", 1)[-1] for line in listing.stdout.decode(errors="replace").splitlines()}
        return frozenset(commands) & found

    return probe


def order(work: Work, attempt: Attempt, plan: Plan, revision: int) -> BuildOrder:
    """The modifier's order: the plan alone for revision 0, with the last failures for a repair."""
    previous = attempt.candidate if revision else None
    return BuildOrder(
        parent=work.parent,
        composition=work.evolution.parent.composition,
        plan=plan.draft,
        generation=work.evolution.generation,
        rng_seed=rng_seed(work, attempt),
        revision=revision,
        previous=_built(work.parent, previous) if previous else None,
        failures=tuple(_failures(previous)) if previous else (),
        wishes=tuple(_candidate_wishes(attempt)),
        bench=_bench(work, plan) if work.recipe.cast else None,
    )


def _bench(work: Work, plan: Plan) -> GrowthWorkbench:
    """Where a model tries its work: the gates are asked as they would be of its candidate."""
    evolution = work.evolution
    subject = audits.subject_of(
        evolution.parent.snapshot,
        work.author,
        rubrics.pinned(rubrics.ENVIRONMENT, work.recipe.environment_rubric),
        made_by=[*makers(evolution.lineage), work.author],
        grown_from=evolution.parent,
    )
    child = replace(
        subject,
        parent=work.parent,
        plan=plan.draft,
        labels={"lease": work.lease.token},
        archive=None,
        probes=(),
    )
    return GrowthWorkbench(child, work.recipe.profile, machine.slots())


def _built(parent: Task, candidate: Candidate) -> Built:
    child = load(candidate.snapshot)
    changes: dict[str, TaskFile | None] = {
        path: child.files.get(path) for path in child.changed_paths(parent)
    }
    bindings = tuple(row.value for row in candidate.bindings.all())
    return Built(changes, bindings, candidate.composition, candidate.notes)


def _failures(candidate: Candidate) -> list[Evidence]:
    if candidate.audit is None:
        return []
    failed = candidate.audit.results.filter(outcome="failed").prefetch_related("findings")
    voided = audits.voided(failed)
    standing = [row for row in failed if (row.gate, row.key) not in voided]
    return [evidence(row.gate, _outcome(row)) for row in standing]


def _outcome(row: GateResult) -> Outcome:
    """A stored answer with its findings, as far as a repair needs it."""
    findings = tuple(
        Finding(each.text, each.path, each.line, each.warning, each.repair) for each in row.findings.all()
    )
    return Outcome(Result(row.outcome), row.summary, row.detail, findings=findings)


def _candidate_wishes(attempt: Attempt) -> list[str]:
    wishes = Review.objects.filter(
        candidate__attempt=attempt, decision=Review.Decision.CHANGES, superseded_by=None
    )
    asked = wishes.order_by("id")
    return list(asked.values_list("comment", flat=True))
