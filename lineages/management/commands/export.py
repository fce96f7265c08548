from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from lineages.library.bundles import export
from lineages.library.models import Environment
from lineages.library.references import find
from lineages.management.commands._output import Exit, emit, leave, plain_errors
from sandboxes.bundle import BundleFormat


def some_path(text: str) -> Path:
    """An argument that names a path. Raises `ValueError` for none."""
    if not text:
        raise ValueError("empty")
    return Path(text)


def _withdrawn(environment: Environment) -> str:
    """Why it is not written, and how it is all the same."""
    hold = environment.quarantines.filter(freed_at=None).select_related("by").first()
    why = f" by {hold.by.get_username()}: {hold.reason}" if hold else ""
    return f"{environment.reference} is withdrawn{why} (--withdrawn writes it all the same, to look at it)"


class Command(BaseCommand):
    help = "Write an environment as a Harbor task: a folder or an archive."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("reference", metavar="REF")
        parser.add_argument("--out", type=some_path, required=True)
        parser.add_argument("--format", choices=[*BundleFormat], default=BundleFormat.DIR)
        parser.add_argument(
            "--withdrawn", action="store_true", help="also where it is withdrawn: for looking at it"
        )
        parser.add_argument("--json", action="store_true", help="machine-readable answer on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        with plain_errors():
            environment = find(options["reference"])
            if environment.quarantined and not options["withdrawn"]:
                print(f"error: {_withdrawn(environment)}", file=sys.stderr)
                leave(Exit.FAILED)
            export(environment, options["out"], options["format"])
        if options["json"]:
            emit(
                {
                    "reference": environment.reference,
                    "digest": environment.snapshot.digest,
                    "path": str(options["out"]),
                    "format": str(options["format"]),
                }
            )
        else:
            self.stdout.write(f"{environment.reference} → {options['out']}")
