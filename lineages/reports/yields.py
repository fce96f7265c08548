"""What each lineage of a campaign came to, and what that took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lineages import difficulty
from lineages.difficulty import Difficulty
from lineages.growth.models import Campaign, Candidate, Evolution, ReviewedCriterion
from lineages.library.models import Environment, GateResult
from lineages.library.snapshots import load
from sandboxes.task import INSTRUCTION

REACHED = "reached"


@dataclass(frozen=True, slots=True)
class Size:
    """What of an environment grows: words of its instruction, lines of its solution, tools in ξ, D_T."""

    words: int
    lines: int
    tools: int
    difficulty: Difficulty


@dataclass(frozen=True, slots=True)
class Grown:
    """One lineage of one campaign.

    `rejected` counts the failed criteria of rejected plans, `failed` the failed gates of candidates. `end`
    is `REACHED`, or says what stopped it. `minutes` are of the wall, waiting included.
    """

    lineage: str
    effort: str
    generations: int
    attempts: int
    repairs: int
    rejected: Counter[str]
    failed: Counter[str]
    before: Size
    after: Size
    minutes: float
    end: str


def grown(campaign: Campaign) -> Iterator[Grown]:
    """Each lineage that the campaign began, by its name."""
    firsts = campaign.evolutions.filter(previous=None).order_by("lineage__slug", "pk")
    for first in firsts.select_related("lineage", "parent__snapshot", "parent__lineage", "recipe"):
        yield _summed(chain_of(first))


def not_begun(campaign: Campaign) -> list[tuple[str, str]]:
    """Environments that nothing was grown from yet, each with the reason, or that its turn has not come."""
    entries = campaign.entries.filter(evolution=None).select_related("environment__lineage")
    return [(each.environment.reference, each.note or "its turn has not come") for each in entries]


def chain_of(first: Evolution) -> list[Evolution]:
    """An evolution and those that went on from its children, in order."""
    chain = [first]
    while following := Evolution.objects.filter(previous=chain[-1]).select_related("child__snapshot").first():
        chain.append(following)
    return chain


def _summed(chain: Sequence[Evolution]) -> Grown:
    first, last = chain[0], chain[-1]
    children = [each.child for each in chain if each.child]
    candidates = Candidate.objects.filter(attempt__evolution__in=chain)
    rejected = ReviewedCriterion.objects.filter(
        review__plan__attempt__evolution__in=chain, review__decision="reject", verdict="fail"
    )
    failed = GateResult.objects.filter(audit__in=candidates.values("audit"), outcome="failed")
    return Grown(
        lineage=first.lineage.slug,
        effort=first.recipe.effort,
        generations=len(children),
        attempts=sum(each.attempts.count() for each in chain),
        repairs=candidates.filter(n__gt=0).count(),
        rejected=Counter(rejected.values_list("criterion", flat=True)),
        failed=Counter(failed.values_list("gate", flat=True)),
        before=size(first.parent),
        after=size(children[-1] if children else first.parent),
        minutes=(last.status_since - first.created_at).total_seconds() / 60,
        end=_end(last),
    )


def size(environment: Environment) -> Size:
    task = load(environment.snapshot)
    domain = environment.lineage.domain
    return Size(
        words=len(task.text(INSTRUCTION).split()),
        lines=sum(file.data.count(b"\n") for file in task.under("solution").values()),
        tools=len({pair.tool for pair in environment.sequence.pairs}),
        difficulty=difficulty.difficulty(environment.sequence, domain, difficulty.shipped()),
    )


def _end(last: Evolution) -> str:
    if last.status == Evolution.Status.ACCEPTED:
        return REACHED
    if not last.ended:
        return f"still at work on generation {last.generation}" + _because(last.status.replace("_", " "))
    closed = [
        f"{each.direction}: {each.get_outcome_display()}{_because(each.reason)}"
        for each in last.attempts.all()
    ]
    return f"{last.status} at generation {last.generation}" + _because("; ".join(closed) or last.last_reason)


def _because(reason: str) -> str:
    return f" ({reason})" if reason else ""
