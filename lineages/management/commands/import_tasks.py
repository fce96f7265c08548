from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from lineages.library.importing import Imported, Report, import_folders
from lineages.management.commands._output import Exit, emit, leave, plain_errors
from sandboxes.errors import TaskRefused
from sandboxes.files import printable
from sandboxes.text import clean


class Command(BaseCommand):
    help = "Take in Harbor task folders, or folders of them, as seeds."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--json", action="store_true", help="machine-readable answer on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        with plain_errors():
            report = import_folders(options["paths"])
        if options["json"]:
            emit(as_json(report))
        else:
            self._show(report)
        leave(Exit.FAILED if report.refused else Exit.WELL)

    def _show(self, report: Report) -> None:
        for item in report.imported:
            self.stdout.write(f"imported   {item.environment.reference}  {clean(str(item.path))}")
            for warning in item.warnings:
                self.stdout.write(f"           warning: {warning}")
        for item in report.unchanged:
            self.stdout.write(f"unchanged  {item.environment.reference}  {clean(str(item.path))}")
        for path, refusal in report.refused:
            self.stdout.write(clean(f"refused    {printable(str(path))}\n           {refusal}"))
        self.stdout.write(
            f"{report.found} found: {len(report.imported)} imported, {len(report.unchanged)} unchanged, "
            f"{len(report.refused)} refused"
        )


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
        "reference": item.environment.reference,
        "digest": item.environment.snapshot.digest,
        "warnings": list(item.warnings),
    }


def _reason(path: Path, refusal: TaskRefused) -> str:
    """The sentence, with the file inside the task that it is about."""
    return refusal.reason if refusal.path == str(path) else f"{refusal.path}: {refusal.reason}"
