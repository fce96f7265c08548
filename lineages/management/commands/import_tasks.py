from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from lineages.library.importing import Imported, Outcome, Refused, Report, import_paths
from lineages.library.rendering import visible
from lineages.management.commands._output import Exit, emit, leave, plain_errors, progress
from sandboxes.errors import TaskRefused
from sandboxes.text import clean

EVERY_SECONDS = 1.0


class Command(BaseCommand):
    help = "Take in tasks as seeds: folders of one or many, zip, tar or tar.gz archives of one or many."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--json", action="store_true", help="machine-readable answer on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        report = Report()
        with plain_errors():
            for outcome in said(import_paths(options["paths"])):
                report.add(outcome)
                if not options["json"]:
                    self._show(outcome)
        if options["json"]:
            emit(as_json(report))
        else:
            self.stdout.write(
                f"{report.found} found: {len(report.imported)} imported, {len(report.unchanged)} unchanged, "
                f"{len(report.refused)} refused"
            )
        leave(Exit.FAILED if report.refused else Exit.WELL)

    def _show(self, outcome: Outcome) -> None:
        if isinstance(outcome, Refused):
            self.stdout.write(f"refused    {_line(outcome.path)}\n           {_line(outcome.refusal)}")
            return
        word = "imported " if outcome.new else "unchanged"
        self.stdout.write(f"{word}  {outcome.reference}  {_line(outcome.path)}")
        for warning in outcome.warnings:
            self.stdout.write(f"           warning: {_line(warning)}")


def _line(text: object) -> str:
    """On one line, with nothing in it that a terminal obeys: a stranger named the folders."""
    return clean(visible(str(text))).replace("\n", "\\n")


def said(outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    """The same, with a line of progress on standard error at most each second."""
    last, refused = time.monotonic(), 0
    for count, outcome in enumerate(outcomes, start=1):
        refused += isinstance(outcome, Refused)
        if time.monotonic() - last >= EVERY_SECONDS:
            last = time.monotonic()
            progress(f"{count} tasks done, {refused} of them refused")
        yield outcome


def as_json(report: Report) -> dict[str, Any]:
    return {
        "imported": [_item(item) for item in report.imported],
        "unchanged": [_item(item) for item in report.unchanged],
        "refused": [
            {
                "path": str(path),
                "reason": _reason(path, refusal),
                "line": refusal.line,
                "column": refusal.column,
            }
            for path, refusal in report.refused
        ],
    }


def _item(item: Imported) -> dict[str, Any]:
    return {
        "path": str(item.path),
        "reference": item.reference,
        "digest": item.digest,
        "warnings": list(item.warnings),
    }


def _reason(path: Path, refusal: TaskRefused) -> str:
    """The sentence, with the file inside the task that it is about."""
    return refusal.reason if refusal.path == str(path) else f"{refusal.path}: {refusal.reason}"
