"""What the gates said about a snapshot, as rows to read: in the profile's order, with places to look at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, QuerySet
from django.urls import reverse

from lineages.gates import PROFILES, Profile, all_gates, profile
from lineages.gates.base import Finding, Gate
from lineages.library import audits
from lineages.library.models import Audit, Environment, GateFinding, GateResult, Solve

SHOWN = 4
"""Findings of a gate beside the others; its own page has the rest."""
MOST = 400
EARLIER = 12


@dataclass(frozen=True, slots=True)
class Place:
    """A finding, and the address of its line where the environment's page of that file shows it."""

    finding: GateFinding
    link: str


@dataclass(frozen=True, slots=True)
class Row:
    """A gate's answer, or None while there is none. `gate` is None where no such gate is installed."""

    name: str
    title: str
    gate: Gate | None
    result: GateResult | None
    places: tuple[Place, ...] = ()
    failures: int = 0
    warnings: int = 0

    @property
    def said(self) -> str:
        """The summary, unless it only says the first finding again."""
        summary = self.result.summary if self.result else ""
        first = self.places[0].finding if self.places else None
        return "" if first and summary == _told(first) else summary

    @property
    def more(self) -> int:
        """How many findings are not among `places`."""
        return self.failures + self.warnings - len(self.places)


def rows(
    audit: Audit | None, results: Iterable[GateResult], environment: Environment | None = None
) -> list[Row]:
    """One for each gate of the profile, then those of gates it no longer has. Three queries."""
    by_gate = {result.gate: result for result in results}
    if audit is None:
        return []
    known = all_gates()
    wanted = [gate.name for gate in profile(audit.profile)] if audit.profile in PROFILES else []
    names = [*wanted, *(name for name in by_gate if name not in wanted)]
    first = GateFinding.objects.filter(result__in=by_gate.values(), position__lt=SHOWN)
    placed = _placed(first, environment)
    counts = _counts(by_gate.values())
    return [_row(name, known.get(name), by_gate.get(name), placed, counts) for name in names]


def places(result: GateResult, environment: Environment | None) -> tuple[list[Place], int]:
    """The first `MOST` findings of one answer, and how many there are."""
    found = GateFinding.objects.filter(result=result)
    placed = _placed(found.filter(position__lt=MOST), environment)
    return placed.get(result.pk, []), found.count()


def asks(audit: Audit | None) -> tuple[Profile, int] | None:
    """The profile of an audit, and how often its runs were repeated; None where there is no such profile."""
    chosen = PROFILES.get(audit.profile) if audit else None
    return (chosen, audit.repeats or chosen.repeats) if audit and chosen else None


def unasked(audit: Audit | None) -> int:
    """How many gates that a lineage needs are not among those of the audit's profile."""
    asked = {gate.name for gate in profile(audit.profile)} if audit and audit.profile in PROFILES else set()
    return len({gate.name for gate in profile(audits.WHOLE_PROFILE)} - asked)


def settled(environment: Environment) -> QuerySet[Audit]:
    """The audits of it that came to an end, newest first: those that judged it with its own parent."""
    parent = environment.parent.snapshot_id if environment.parent else None
    ended = environment.snapshot.audits.exclude(status=Audit.Status.QUEUED)
    return ended.filter(parent=parent).order_by("-pk")


def regradable(environment: Environment) -> bool:
    """Whether solvers left something in it that can be graded again."""
    return Solve.objects.filter(result__audit__snapshot=environment.snapshot_id).exists()


def _row(
    name: str,
    gate: Gate | None,
    result: GateResult | None,
    placed: dict[int, list[Place]],
    counts: dict[tuple[int, bool], int],
) -> Row:
    title = gate.title if gate else "no gate of this name is installed"
    if result is None:
        return Row(name, title, gate, None)
    failures, warnings = (counts.get((result.pk, warning), 0) for warning in (False, True))
    return Row(name, title, gate, result, tuple(placed.get(result.pk, ())), failures, warnings)


def _placed(findings: QuerySet[GateFinding], environment: Environment | None) -> dict[int, list[Place]]:
    found = list(findings)
    paths = {finding.path for finding in found if finding.path}
    there: set[str] = set()
    if environment and paths:
        there = set(environment.snapshot.files.filter(path__in=paths).values_list("path", flat=True))
    placed: dict[int, list[Place]] = {}
    for finding in found:
        link = _link(environment, finding) if environment and finding.path in there else ""
        placed.setdefault(finding.result_id, []).append(Place(finding, link))
    return placed


def _told(finding: GateFinding) -> str:
    return str(Finding(finding.text, finding.path, finding.line))


def _link(environment: Environment, finding: GateFinding) -> str:
    page = reverse("environment_file", args=[environment.pk, finding.path])
    return f"{page}#L{finding.line}" if finding.line else page


def _counts(results: Iterable[GateResult]) -> dict[tuple[int, bool], int]:
    found = GateFinding.objects.filter(result__in=list(results)).order_by()
    counted = found.values_list("result", "warning").annotate(Count("pk"))
    return {(result, warning): count for result, warning, count in counted}
