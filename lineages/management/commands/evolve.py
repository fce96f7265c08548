from __future__ import annotations

from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from agents.plan import Direction, Effort
from lineages import casting, sweeping
from lineages.gates import PROFILES
from lineages.growth import loops
from lineages.growth.evolving import ALL_DIRECTIONS, RecipeSettings, start
from lineages.growth.models import Evolution, Recipe
from lineages.library import machine
from lineages.library.audits import latest
from lineages.library.models import Environment
from lineages.library.references import find
from lineages.management.commands._output import Exit, emit, leave, plain_errors, progress, table


class Command(BaseCommand):
    help = "Grow generations from an environment, in this process."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("reference", metavar="REF")
        parser.add_argument("--generations", type=int, default=1)
        add_recipe_options(parser)
        parser.add_argument("--json", action="store_true", help="machine-readable answer on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        with plain_errors():
            machine.backend().check()
            sweeping.tidy()
            parent = find(options["reference"])
            first = start(parent, settings_of(options), generations=options["generations"])
            last = loops.drive(first, tell=tell)
        grown = evolutions_from(first)
        if options["json"]:
            emit(as_json(parent, last, grown))
        else:
            show(grown, last, self.stdout.write)
        leave(exit_code(last))


def add_recipe_options(parser: CommandParser) -> None:
    parser.add_argument("--effort", choices=[*Effort], default=Effort.HIGH)
    parser.add_argument("--directions", nargs="+", choices=[*Direction], default=list(ALL_DIRECTIONS))
    parser.add_argument(
        "--author", default="offline", help="offline, manual, or a team or a model of models.toml"
    )
    parser.add_argument(
        "--judge", default="", metavar="MODEL", help="the model that reviews, in place of the author's"
    )
    parser.add_argument(
        "--self-improvement",
        action="store_true",
        help="one model plays every role, its own judge too (the setting of the paper)",
    )
    parser.add_argument("--approve", choices=[*Recipe.Approval], default=Recipe.Approval.AUTO)
    parser.add_argument("--profile", choices=[*PROFILES], default="standard", help="the gates to pass")
    parser.add_argument("--seed", type=seed_number, default=0)


def seed_number(text: str) -> int:
    """A recipe's seed, as far as the database keeps one."""
    number = int(text)
    if abs(number) >= 2**63:
        raise ArgumentTypeError("a seed has at most 63 bits")
    return number


def settings_of(options: dict[str, Any]) -> RecipeSettings:
    return RecipeSettings(
        effort=options["effort"],
        directions=tuple(options["directions"]),
        approval=options["approve"],
        author=options["author"],
        cast=_cast(options),
        seed=options["seed"],
        profile=options["profile"],
    )


def _cast(options: dict[str, Any]) -> str:
    """The models of the roles, and a warning where one judges what it made; that is allowed."""
    alone = options["self_improvement"]
    cast = casting.cast_of(options["author"], judge=options["judge"], alone=alone)
    if cast is None:
        return ""
    hint = "" if options["judge"] else " (--judge names another)"
    for warning in () if alone else casting.warnings(cast.text):
        progress(f"warning: {warning}{hint}")
    return cast.text


def tell(evolution: Evolution) -> None:
    attempt = evolution.attempts.last()
    direction = f" ({attempt.direction})" if attempt else ""
    status = evolution.status.replace("_", " ")
    waits = f", waits for {evolution.waiting_for}" if evolution.waiting_for else ""
    progress(f"generation {evolution.generation}{direction}: {status}{waits}")


def evolutions_from(first: Evolution) -> list[Evolution]:
    """The evolution and its successors, oldest first."""
    chain = [Evolution.objects.get(pk=first.pk)]
    while successor := Evolution.objects.filter(previous=chain[-1]).first():
        chain.append(successor)
    return chain


def exit_code(last: Evolution) -> Exit:
    """0 when all asked generations grew, or a person is asked first; 3 when the machine failed."""
    if last.status == Evolution.Status.FAILED or last.waiting_for:
        return Exit.MACHINE
    return Exit.WELL if last.status == Evolution.Status.ACCEPTED or last.waits_for_person else Exit.FAILED


def as_json(parent: Environment, last: Evolution, grown: list[Evolution]) -> dict[str, Any]:
    return {
        "lineage": parent.lineage.slug,
        "status": last.status,
        "waiting_for": last.waiting_for,
        "generations": [_generation(each, each.child) for each in grown if each.child],
    }


def _generation(evolution: Evolution, child: Environment) -> dict[str, Any]:
    return {
        "generation": child.generation,
        "reference": child.reference,
        "direction": child.direction,
        "digest": child.snapshot.digest,
        "attempts": evolution.attempts.count(),
        "difficulty": {
            "length": child.length,
            "novelty": round(child.novelty, 3),
            "rarity": round(child.rarity, 3),
            "total": round(child.difficulty, 3),
        },
    }


def show(grown: list[Evolution], last: Evolution, write: Any) -> None:
    """The lineage as a table: the parent first, then each generation."""
    rows: list[tuple[str, ...]] = [("generation", "direction", "gates", "D_T", "seconds")]
    parent = grown[0].parent
    rows.append(
        (
            f"g{parent.generation}",
            "seed" if not parent.generation else parent.direction,
            "",
            f"{parent.difficulty:.1f}",
            "",
        )
    )
    for evolution in grown:
        if evolution.child:
            rows.append(_row(evolution, evolution.child))
    table(rows, write)
    if last.status != Evolution.Status.ACCEPTED:
        reason = f"waits for {last.waiting_for}" if last.waiting_for else last.last_reason
        write(f"{last.parent.reference}: {last.status}" + (f" — {reason}" if reason else ""))
        for attempt in last.attempts.exclude(reason=""):
            write(f"  {attempt.direction}: {attempt.get_outcome_display()} — {attempt.reason}")


def _row(evolution: Evolution, child: Environment) -> tuple[str, ...]:
    audit = latest(child)
    results = list(audit.results.all()) if audit else []
    passed = sum(row.outcome in ("passed", "not_applicable") for row in results)
    note = " provisional" if child.provisional else ""
    seconds = (child.created_at - evolution.created_at).total_seconds()
    return (
        child.reference.rsplit("/", 1)[-1],
        child.direction,
        f"{passed}/{len(results)} passed{note}",
        f"{child.difficulty:.1f}",
        f"{seconds:.1f}",
    )
