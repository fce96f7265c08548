from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from agents.authors import author
from agents.rubrics import ENVIRONMENT_RUBRIC
from lineages import sweeping
from lineages.gates import profile
from lineages.gates.base import Result, Subject
from lineages.growth.subjects import of_environment
from lineages.library import audits
from lineages.library.models import Audit, Snapshot
from lineages.library.references import find
from lineages.library.snapshots import store
from lineages.management.commands._output import Exit, emit, leave, plain_errors, progress, table
from sandboxes.bundle import read_bundle
from sandboxes.errors import TaskRefused
from sandboxes.intake import read_folder

VERDICTS = {
    Audit.Status.ACCEPTED: ("passed", Exit.WELL),
    Audit.Status.REJECTED: ("failed", Exit.FAILED),
    Audit.Status.ERROR: ("error", Exit.MACHINE),
}


class Command(BaseCommand):
    help = "Run the gates over a task folder, a bundle (zip, tar, tar.gz) or an environment's reference."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("target", metavar="TARGET")
        parser.add_argument("--profile", default="standard")
        parser.add_argument("--json", action="store_true", help="machine-readable answer on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        with plain_errors():
            profile(options["profile"])
            sweeping.tidy()
            try:
                snapshot, parent, subject = subject_for(options["target"])
            except TaskRefused as refusal:
                if options["json"]:
                    emit(refused_as_json(options["target"], refusal))
                raise
            progress(f"verifying {snapshot.digest[:12]} in {subject.backend.name}")
            audit = audits.open_audit(snapshot, subject, profile=options["profile"], parent=parent)
            run_here(audit, subject)
        verdict, code = VERDICTS[Audit.Status(audit.status)]
        if options["json"]:
            emit(as_json(options["target"], audit, verdict))
        else:
            self._show(audit, verdict)
        leave(code)

    def _show(self, audit: Audit, verdict: str) -> None:
        rows = [("gate", "outcome", "reward", "seconds", "")]
        for row in audit.results.all():
            reward = "" if row.reward is None else f"{row.reward:g}"
            rows.append((row.gate, row.outcome, reward, f"{row.seconds:.1f}", row.summary))
        table(rows, self.stdout.write)
        note = " (provisional: no Dockerfile was built)" if audit.provisional else ""
        self.stdout.write(f"{verdict}{note}")


def run_here(audit: Audit, subject: Subject) -> None:
    """Run it in this process; interrupted, it is given up, since nobody will come back to it."""
    try:
        audits.run(audit, subject)
    except KeyboardInterrupt:
        audits.abandon(audit, "verify was interrupted")
        raise


def subject_for(target: str) -> tuple[Snapshot, Snapshot | None, Subject]:
    """The stored content of a target, its parent's if it has one, and what the gates judge."""
    path = Path(target)
    offline = author("offline")
    if path.exists():
        intake = read_folder(path) if path.is_dir() else read_bundle(path)
        for warning in intake.warnings:
            progress(f"warning: {warning}")
        snapshot = store(intake.task)
        subject = audits.subject_of(snapshot, offline, ENVIRONMENT_RUBRIC.version)
        if subject.backend.provisional:
            progress(f"warning: {subject.backend.name} is for tasks that you trust; use Docker for others")
        return snapshot, None, subject
    environment = find(target)
    parent = environment.parent.snapshot if environment.parent else None
    return environment.snapshot, parent, of_environment(environment, offline)


def as_json(target: str, audit: Audit, verdict: str) -> dict[str, Any]:
    return {
        "target": target,
        "digest": audit.snapshot.digest,
        "verdict": verdict,
        "gates": [
            {
                "gate": row.gate,
                "outcome": row.outcome,
                "reward": row.reward,
                "seconds": round(row.seconds, 3),
                "summary": row.summary,
            }
            for row in audit.results.all()
        ],
    }


def refused_as_json(target: str, refusal: TaskRefused) -> dict[str, Any]:
    """A target that is no task has no digest and no audit; what speaks against it is in its files."""
    gate = {
        "gate": "static",
        "outcome": Result.FAILED,
        "reward": None,
        "seconds": 0.0,
        "summary": str(refusal),
    }
    return {"target": target, "digest": None, "verdict": "failed", "gates": [gate]}
