from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agents.line import Waits
from agents.reviewing.cases import ANY
from agents.reviewing.frozen import FROZEN
from agents.reviewing.tally import Answer
from lineages.library.rubrics import NAMES
from lineages.management.commands._output import Bar, Exit, emit, leave, plain_errors, table
from lineages.review.bench import running
from lineages.review.bench.running import Ran

HEAD = ("rubric", "criterion", "faults", "missed", "sound", "accused")


class Command(BaseCommand):
    help = "How well a reviewer reviews: misses and false accusations, by criterion, on labelled cases."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--model", default="offline", help="an author: offline, a team or a model")
        parser.add_argument("--rubric", choices=NAMES, help="only the cases of one rubric")
        parser.add_argument("--limit", type=int, help="only so many of the frozen cases, spread evenly")
        parser.add_argument("--json", action="store_true", help="machine-readable answer on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        limit = options["limit"]
        if limit is not None and limit < 1:
            raise CommandError("--limit takes a number from 1")
        with plain_errors():
            cases = running.chosen([options["rubric"]] if options["rubric"] else NAMES, limit)
            bar = Bar(lambda: len(cases))
            wrong = 0

            def tell(answer: Answer) -> None:
                nonlocal wrong
                said = heard(answer)
                wrong += said != "right"
                bar.step(f"{answer.case.rubric}: {answer.case.name}: {said}", f"{wrong} wrong")

            try:
                ran = running.run(options["model"], cases, tell)
            except Waits as waits:
                bar.end()
                self.stderr.write(f"waits: {waits.reason}. What was answered is kept: run it again later.")
                leave(Exit.MACHINE)
                return
            bar.end()
        emit(as_json(ran)) if options["json"] else self._print(ran)

    def _print(self, ran: Ran) -> None:
        rows = [(line.rubric, line.criterion, *map(str, counts)) for line, counts in _lines(ran)]
        table([HEAD, *rows], self.stdout.write)
        row = ran.row
        whole = "the whole frozen set" if row.cases_digest == FROZEN else "a part of the frozen set"
        self.stdout.write(f"\n{row.cases} cases ({whole}), {row.unanswered} without an answer.")
        cost = running.cost_of(row)
        self.stdout.write("Cost: unknown." if cost is None else f"Cost: {cost:.4f} US dollars.")


def heard(answer: Answer) -> str:
    """What an answer is worth, in a word or two."""
    if answer.judgement is None:
        return f"no answer: {answer.problem}"
    label, failed = answer.case.label, [each.criterion for each in answer.judgement.failures]
    if label.fails and (label.fails not in failed if label.fails != ANY else not failed):
        return f"missed {label.fails}"
    accused = [criterion for criterion in label.passes if criterion in failed]
    return f"accused {', '.join(accused)}" if accused else "right"


def as_json(ran: Ran) -> dict[str, Any]:
    row, cost = ran.row, running.cost_of(ran.row)
    return {
        "bench": row.pk,
        "model": row.model,
        "served": row.served,
        "cases_digest": row.cases_digest,
        "frozen": row.cases_digest == FROZEN,
        "plan_rubric": row.plan_rubric,
        "environment_rubric": row.environment_rubric,
        "cases": row.cases,
        "unanswered": row.unanswered,
        "cost": None if cost is None else str(cost),
        "criteria": [
            dict(zip(HEAD, (line.rubric, line.criterion, *counts), strict=True))
            for line, counts in _lines(ran)
        ],
        "answers": [
            {
                "rubric": answer.case.rubric,
                "case": answer.case.name,
                "kind": answer.case.label.kind,
                "fails": answer.case.label.fails,
                "by_person": answer.case.label.by_person,
                "said": heard(answer),
            }
            for answer in ran.answers
        ],
    }


def _lines(ran: Ran) -> list[tuple[Any, tuple[int, int, int, int]]]:
    return [(each, (each.faults, each.missed, each.sound, each.accused)) for each in ran.row.lines.all()]
