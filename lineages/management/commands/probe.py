from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from lineages.gates.surroundings import KeptProbe
from lineages.library import probing
from lineages.library.models import Lineage
from lineages.library.models import Probe as Row
from lineages.management.commands._output import emit, plain_errors, table

STANDARD_INPUT = "-"


class Command(BaseCommand):
    help = (
        "Attacks that a lineage keeps and replays on every descendant: list, add one that was found, remove."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        listing = verbs.add_parser("list", help="what a lineage keeps, or what all of them do")
        listing.add_argument("lineage", nargs="?", metavar="LINEAGE")
        adding = verbs.add_parser(
            "add", help="keep an attack: a script that /bin/sh runs in the solver's turn"
        )
        adding.add_argument("lineage", metavar="LINEAGE")
        adding.add_argument(
            "file", nargs="?", default=STANDARD_INPUT, metavar="FILE", help="without one: standard input"
        )
        adding.add_argument("--name", help="without one: the file's, without its suffix")
        adding.add_argument("--origin", default="Added by hand", help="where it was found, in a few words")
        removing = verbs.add_parser("remove", help="replay it no more")
        removing.add_argument("lineage", metavar="LINEAGE")
        removing.add_argument("name", metavar="NAME")
        for each in (listing, adding, removing):
            each.add_argument(
                "--json", action="store_true", help="machine-readable answer on standard output"
            )

    def handle(self, *args: Any, **options: Any) -> None:
        verb = {"list": self.list, "add": self.add, "remove": self.remove}[options["verb"]]
        with plain_errors():
            verb(options)

    def list(self, options: dict[str, Any]) -> None:
        rows = Row.objects.select_related("lineage").order_by("lineage__slug", "id")
        if options["lineage"]:
            rows = rows.filter(lineage=_lineage(options["lineage"]))
        if options["json"]:
            emit({"probes": [_told(row) for row in rows]})
            return
        heading = ("lineage", "probe", "origin", "kept since")
        told = [(row.lineage.slug, row.name, row.origin, f"{row.created_at:%Y-%m-%d %H:%M}") for row in rows]
        table([heading, *told], self.stdout.write)

    def add(self, options: dict[str, Any]) -> None:
        script, name = _script(options["file"]), options["name"] or _named(options["file"])
        row = probing.keep(_lineage(options["lineage"]), KeptProbe(name, script, options["origin"]))
        if options["json"]:
            emit(_told(row))
        else:
            self.stdout.write(
                f"{row.lineage.slug} keeps the probe {row.name}: each audit of its environments replays it"
            )

    def remove(self, options: dict[str, Any]) -> None:
        lineage = _lineage(options["lineage"])
        probing.remove(lineage, options["name"])
        if options["json"]:
            emit({"lineage": lineage.slug, "removed": options["name"]})
        else:
            self.stdout.write(f"{lineage.slug} keeps the probe {options['name']} no more")


def _lineage(slug: str) -> Lineage:
    found = Lineage.objects.filter(slug=slug).first()
    if found is None:
        raise ValueError(f"there is no lineage {slug!r}; the part of a reference before the slash names one")
    return found


def _script(file: str) -> str:
    try:
        return sys.stdin.read() if file == STANDARD_INPUT else Path(file).read_text()
    except UnicodeDecodeError as problem:
        raise ValueError(f"{file} is no text: a probe is a script for /bin/sh") from problem


def _named(file: str) -> str:
    if file == STANDARD_INPUT:
        raise ValueError("a script from standard input needs a name: add --name NAME")
    return Path(file).stem


def _told(row: Row) -> dict[str, Any]:
    return {
        "lineage": row.lineage.slug,
        "name": row.name,
        "origin": row.origin,
        "script": row.script,
        "created_at": row.created_at.isoformat(timespec="seconds"),
    }
