"""What every page that shows gates hands to its template."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404

from lineages.gates import PROFILES
from lineages.library import answers, audits, shelf
from lineages.library.models import Audit, Environment, GateResult, Job
from lineages.library.requirements import Today, grouped, requirements
from lineages.pages import stamp


def shown_audit(environment: Environment, chosen: str = "") -> Audit | None:
    """The audit `chosen` by its number, else the one that counts for a lineage (`audits.latest`).

    404 for a number that is not of a settled audit of this environment.
    """
    if not chosen:
        return audits.latest(environment)
    number = int(chosen) if chosen.isdecimal() and len(chosen) < 19 else 0
    return get_object_or_404(answers.settled(environment), pk=number)


def asked_of(
    environment: Environment | None,
    audit: Audit | None,
    results: list[GateResult],
    today: Today | None = None,
) -> dict[str, Any]:
    """What is open of the requirements; with `today`, whether the evidence is of today is said too."""
    found = requirements(audit, results, environment=environment, today=today)
    return {
        "environment": environment,
        "audit": audit,
        "asks": answers.asks(audit),
        "unasked": answers.unasked(audit),
        "open": sum(each.blocks for each in found),
        "requirements": grouped(found),
        "today": today,
    }


def gates_of(audit: Audit | None) -> dict[str, Any]:
    """An audit of what is no environment yet, with what is open of its requirements."""
    results = results_of(audit)
    return {**asked_of(None, audit, results), "gate_rows": answers.rows(audit, results)}


def results_of(audit: Audit | None) -> list[GateResult]:
    return shelf.with_voidings(audit.results.all()) if audit else []


def gates(environment: Environment, audit: Audit | None) -> dict[str, Any]:
    """One audit, what is open of its requirements, and the job that runs the next."""
    asked = Job.objects.filter(job_kind="audit", subject=environment.reference)
    running = asked.filter(status=Job.Status.QUEUED).last()
    failed = asked.filter(status=Job.Status.FAILED, created_at__gt=audit.created_at).last() if audit else None
    results = results_of(audit)
    earlier = list(answers.settled(environment)[: answers.EARLIER])
    return {
        **asked_of(environment, audit, results),
        "gate_rows": answers.rows(audit, results, environment),
        "earlier": earlier,
        "newer": earlier[0] if earlier and audit and earlier[0].pk > audit.pk else None,
        "profiles": PROFILES.values(),
        "regradable": answers.regradable(environment),
        "running": running,
        "broken": failed,
        "stamp": stamp(
            audit and (audit.pk, audit.version),
            running and (running.pk, running.tries, bool(running.lease_token)),
            len(results),
        ),
    }
