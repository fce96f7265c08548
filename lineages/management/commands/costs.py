from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from lineages.management.commands._output import Exit, emit, leave, plain_errors, table
from lineages.reports import costs
from lineages.reports.costs import Line, Part, Yield
from lineages.reports.forms import CostFilter
from lineages.reports.labels import REASONS, label, named
from lineages.templatetags.money import average, known, whole

TABLES = ("role", "model", "direction", "outcome")
HEADING = ("by", "", "requests", "tokens in", "tokens out", "cost", "unknown", "not settled")
ROUNDS = ("round", "plans", "accepted", "rejected", "broke a rule", "share")
REPAIRS = ("repairs", "accepted after them")
WHY = ("reasons for rejection", "", "times")


class Command(BaseCommand):
    help = (
        "What requests to models cost, by role, model, direction and outcome of the attempt, and the yield."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--lineage", default="", help="only what was made for this lineage")
        parser.add_argument("--campaign", default="", help="only what was made for this campaign")
        parser.add_argument("--author", default="", help="only evolutions of this author, model or team")
        parser.add_argument("--since", default="", metavar="YYYY-MM-DD", help="only from that day on")
        parser.add_argument("--json", action="store_true", help="machine-readable answer on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        with plain_errors():
            form = CostFilter({name: options[name] for name in ("lineage", "campaign", "author", "since")})
            if not form.is_valid():
                for name, errors in form.errors.items():
                    self.stderr.write(f"error: --{name}: {' '.join(map(str, errors))}")
                leave(Exit.USAGE)
            self.say(form.part(), as_json=options["json"])

    def say(self, part: Part, *, as_json: bool) -> None:
        if as_json:
            emit(_as_json(part))
            return
        total = costs.total(part)
        table([HEADING, *_rows(part), _row("all", "", total)], self.stdout.write)
        self.stdout.write(f"in all {whole(total.money)}")
        if total.accepted:
            self.stdout.write(f"{average(total)} for each of {total.accepted} accepted with models")
        if total.others:
            self.stdout.write(f"{total.others} accepted without a model, in no average")
        for rows in _yielded(costs.yields(part)):
            self.stdout.write("")
            table(rows, self.stdout.write)


def _rows(part: Part) -> Iterator[tuple[str, ...]]:
    found = costs.tables(part)
    for name in TABLES:
        for line in found[name]:
            yield _row(name, label(name, line.key), line)


def _row(name: str, key: str, line: Line) -> tuple[str, ...]:
    money = line.money
    counts = (money.requests, money.tokens_in, money.tokens_out, known(money))
    return (name, key, *map(str, counts), str(money.unknown), str(money.sent))


def _yielded(found: Yield) -> Iterator[list[tuple[str, ...]]]:
    """The tables of the yield; one without a row is left out."""
    rounds = [
        (*map(str, (r.number, r.plans, r.accepted, r.rejected, r.ruled_out)), f"{r.share:.0%}")
        for r in found.rounds
    ]
    repaired = [(str(repairs), str(times)) for repairs, times in found.repaired]
    reasons = [
        (title, named(reason), str(reason.times)) for kind, title in REASONS for reason in found.reasons[kind]
    ]
    headed = ((ROUNDS, rounds), (REPAIRS, repaired), (WHY, reasons))
    return ([heading, *rows] for heading, rows in headed if rows)


def _as_json(part: Part) -> dict[str, Any]:
    found = costs.tables(part)
    return {
        **_plain(costs.total(part)),
        **{f"by_{name}": [{name: line.key, **_plain(line)} for line in found[name]] for name in TABLES},
        "yield": asdict(costs.yields(part)),
    }


def _plain(line: Line) -> dict[str, Any]:
    """Amounts of money as text, since they are decimal; what is unknown is null or counted."""
    money = {
        name: str(value) if isinstance(value, Decimal) else value
        for name, value in asdict(line.money).items()
    }
    accepted = {"accepted": line.accepted, "accepted_without_model": line.others}
    return {**money, **accepted, "each": None if line.each is None else str(line.each)}
