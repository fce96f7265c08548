from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from celery import current_app
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from kombu.exceptions import KombuError

from agents.models import MANUAL
from lineages.library import machine
from lineages.library.trying import try_model
from lineages.management.commands._output import Exit, emit, leave
from sandboxes.backends import open_backend
from sandboxes.errors import SandboxError

FREE_GIB = 5
ANSWER_SECONDS = 30.0


@dataclass(frozen=True)
class Finding:
    """One line of the doctor: `ok`, `note` (works without it) or `problem`, and what to do."""

    subject: str
    state: str
    says: str


class Command(BaseCommand):
    help = "Look at what this installation needs and say, in a sentence each, what is missing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="machine-readable answer on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        findings = [*(check() for check in CHECKS), *untrusted(), *models()]
        if options["json"]:
            emit({"findings": [vars(finding) for finding in findings]})
        else:
            for finding in findings:
                self.stdout.write(f"{finding.state:8} {finding.subject:12} {finding.says}")
        leave(Exit.MACHINE if any(finding.state == "problem" for finding in findings) else Exit.WELL)


def python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", "ok", version)


def database() -> Finding:
    try:
        executor = MigrationExecutor(connection)
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as problem:
        return Finding("database", "problem", f"does not answer ({problem}): check ENVEVO_DATABASE_URL")
    if pending:
        return Finding("database", "problem", f"{len(pending)} migrations to run: python manage.py migrate")
    return Finding("database", "ok", connection.vendor)


def broker() -> Finding:
    try:
        with current_app.connection_for_write() as link:
            link.ensure_connection(max_retries=0, timeout=3)
    except (OSError, KombuError) as problem:
        if settings.EMBEDDED_BROKER:
            return Finding("broker", "note", "the embedded Redis runs while `manage.py serve` does")
        return Finding("broker", "problem", f"does not answer ({problem}): check ENVEVO_REDIS_URL")
    return Finding("broker", "ok", "answers")


def sandbox() -> Finding:
    try:
        backend = machine.backend()
        backend.check()
    except SandboxError as problem:
        return Finding("sandbox", "problem", str(problem))
    except DatabaseError:  # whether Docker was used before is in there
        return Finding("sandbox", "note", "can be told once the database answers")
    if backend.provisional:
        return Finding(
            "sandbox", "note", f"{backend.identity()}: its evidence is provisional, a Docker engine's is not"
        )
    return Finding("sandbox", "ok", backend.identity())


def docker() -> Finding:
    try:
        open_backend(
            "docker", instance=settings.INSTANCE, folder=settings.SANDBOXES, docker_host=settings.DOCKER_HOST
        ).check()
    except SandboxError as problem:
        return Finding("docker", "note", str(problem))
    return Finding("docker", "ok", "the engine answers")


def disk() -> Finding:
    settings.VAR.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(settings.VAR).free / 2**30
    if free < FREE_GIB:
        return Finding(
            "disk", "problem", f"{free:.1f} GiB free; builds want {FREE_GIB}: make room or move ENVEVO_VAR"
        )
    return Finding("disk", "ok", f"{free:.0f} GiB free")


def untrusted() -> Iterator[Finding]:
    """Whether what models make may run here; nothing to say where there are none."""
    named = [name for name, spec in settings.MODELS.models.items() if spec.provider != MANUAL]
    if not named or settings.UNTRUSTED_IN_BUBBLEWRAP:
        return
    try:
        provisional = machine.backend().provisional
    except (SandboxError, DatabaseError):  # the line "sandbox" says it
        return
    if provisional:
        yield Finding(
            "models",
            "problem",
            "what a model makes may not run in bubblewrap: start a Docker engine, or set "
            "ENVEVO_UNTRUSTED_IN_BUBBLEWRAP=true",
        )


def models() -> Iterator[Finding]:
    """One tiny request to each model of models.toml; it costs what a request of some fifty tokens costs."""
    for name, spec in sorted(settings.MODELS.models.items()):
        if spec.provider == MANUAL:
            continue
        hurried = spec.model_copy(update={"timeout_seconds": min(spec.timeout_seconds, ANSWER_SECONDS)})
        try:
            wrong = try_model(hurried)
        except DatabaseError:
            yield Finding(f"model {name}", "note", "can be told once the database answers")
            continue
        if wrong:
            yield Finding(f"model {name}", "problem", wrong)
        else:
            yield Finding(f"model {name}", "ok", f"{spec.model} answers")


CHECKS: tuple[Callable[[], Finding], ...] = (python, database, broker, sandbox, docker, disk)
