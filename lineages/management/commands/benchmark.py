from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from lineages.library import benchmarks
from lineages.library.models import BenchmarkSet
from lineages.library.rendering import visible
from lineages.management.commands._output import Exit, emit, leave, plain_errors, table
from sandboxes.text import clean


class Command(BaseCommand):
    help = "Sets of tasks that nothing may be trained on: list those marked, mark one, remove one."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        listing = verbs.add_parser("list", help="every marked set")
        adding = verbs.add_parser("add", help="mark a set: hashes of its text are stored, not the text")
        removing = verbs.add_parser("remove", help="a set is no longer marked")
        for each in (adding, removing):
            each.add_argument("name", metavar="NAME")
        adding.add_argument("path", metavar="PATH", type=Path, help="a folder or an archive of tasks")
        for each in (listing, adding, removing):
            each.add_argument(
                "--json", action="store_true", help="machine-readable answer on standard output"
            )

    def handle(self, *args: Any, **options: Any) -> None:
        verb = {"list": self.list, "add": self.add, "remove": self.remove}[options["verb"]]
        with plain_errors():
            verb(options)

    def list(self, options: dict[str, Any]) -> None:
        rows = [
            {"name": one.name, "tasks": one.tasks, "added_at": one.added_at.isoformat(timespec="seconds")}
            for one in BenchmarkSet.objects.all()
        ]
        if options["json"]:
            emit({"benchmarks": rows})
        elif not rows:
            self.stdout.write("no set is marked as a benchmark")
        else:
            cells = [tuple(str(value) for value in row.values()) for row in rows]
            table([("name", "tasks", "added"), *cells], self.stdout.write)

    def add(self, options: dict[str, Any]) -> None:
        marked = benchmarks.mark(options["name"], options["path"])
        if options["json"]:
            emit(_as_json(marked))
        else:
            self._show(marked)
        leave(Exit.FAILED if marked.refused else Exit.WELL)

    def _show(self, marked: benchmarks.Marked) -> None:
        for path, refusal in marked.refused:
            self.stdout.write(f"not in it  {_line(path)}\n           {_line(refusal)}")
        self.stdout.write(
            f"{marked.row.name} is marked: {marked.row.tasks} tasks, {marked.grams} runs of 13 words; "
            f"{marked.boilerplate} runs that stand in {benchmarks.BOILERPLATE_TASKS} or more of its tasks "
            f"are left out; {len(marked.refused)} tasks could not be read"
        )

    def remove(self, options: dict[str, Any]) -> None:
        benchmarks.unmark(options["name"])
        if options["json"]:
            emit({"removed": options["name"]})
        else:
            self.stdout.write(f"{options['name']} is no longer marked")


def _line(text: object) -> str:
    """On one line, with nothing in it that a terminal obeys."""
    return clean(visible(str(text))).replace("\n", "\\n")


def _as_json(marked: benchmarks.Marked) -> dict[str, Any]:
    return {
        "name": marked.row.name,
        "tasks": marked.row.tasks,
        "runs": marked.grams,
        "boilerplate": marked.boilerplate,
        "refused": [{"path": str(path), "reason": str(refusal)} for path, refusal in marked.refused],
    }
