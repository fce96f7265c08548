from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from lineages.growth.campaigns import CannotCampaign
from lineages.management.commands._output import Exit, emit, leave, plain_errors
from lineages.management.commands.campaign import named
from lineages.reports.yields import REACHED, Grown, Size, grown, not_begun

HEAD = (
    "lineage", "effort", "reached", "attempts", "repairs", "plans rejected by", "gates failed",
    "instruction words", "solution lines", "tools", "L", "L_eff", "N", "R", "D_T", "minutes",
)  # fmt: skip


class Command(BaseCommand):
    help = "What each lineage of campaigns came to, as a Markdown table."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("campaigns", nargs="+", metavar="CAMPAIGN")
        parser.add_argument("--json", action="store_true", help="machine-readable answer on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        with plain_errors():
            try:
                found = [named(name) for name in options["campaigns"]]
            except CannotCampaign as unknown:
                self.stderr.write(f"error: {unknown}")
                leave(Exit.USAGE)
        rows = [row for campaign in found for row in grown(campaign)]
        left = [each for campaign in found for each in not_begun(campaign)]
        if options["json"]:
            not_started = [{"environment": reference, "why": why} for reference, why in left]
            emit({"lineages": [asdict(row) for row in rows], "not_started": not_started})
        else:
            self.stdout.write("\n".join(markdown(rows, left)))


def markdown(rows: Sequence[Grown], left: Sequence[tuple[str, str]] = ()) -> list[str]:
    """The table, and below it why a lineage ended early, or was `left` without a beginning."""
    early = [f"- {row.lineage}, {row.effort}: {row.end}" for row in rows if row.end != REACHED]
    early += [f"- {reference}: not started ({why})" for reference, why in left]
    return [
        _line(HEAD),
        _line(["---", "---", *["---:"] * 3, "---", "---", *["---:"] * 9]),
        *(_line(_cells(row)) for row in rows),
        "",
        "Not as far as asked:" if early else "Every lineage reached what was asked for.",
        *([""] if early else []),
        *early,
    ]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(row: Grown) -> list[str]:
    steps = zip(_sizes(row.before), _sizes(row.after), strict=True)
    return [
        row.lineage,
        row.effort,
        *map(str, (row.generations, row.attempts, row.repairs)),
        _counted(row.rejected),
        _counted(row.failed),
        *(f"{before} → {after}" for before, after in steps),
        f"{row.minutes:.1f}",
    ]


def _sizes(of: Size) -> list[str]:
    measured = of.difficulty
    counts = (of.words, of.lines, of.tools, measured.length, measured.distinct)
    nats = (measured.novelty, measured.rarity, measured.total)
    return [*map(str, counts), *(f"{value:.1f}" for value in nats)]


def _counted(found: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in found.most_common()) or "none"
