"""Running the set: one case after the other, each call in the ledger, and the counts as rows.

A run that stops, because it was killed or has to wait, leaves its answers: the next run of that author asks
only what was not answered. Its row is made at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from django.conf import settings
from django.db import transaction

from agents.line import Line
from agents.providers.errors import ProviderError
from agents.reviewing.cases import Case, digest_of
from agents.reviewing.frozen import frozen
from agents.reviewing.tally import Answer, tally
from agents.roles import AgentsError, Author, over
from agents.rubrics import Rubric
from lineages import casting
from lineages.library import rubrics
from lineages.library.calls import AgentCall
from lineages.library.ledger import Directly, LedgerLine, Scope
from lineages.library.rubric_rows import ReviewBench, ReviewBenchLine
from lineages.review.bench import people
from sandboxes.intake import find_tasks, read_folder

Tell = Callable[[Answer], None]


@dataclass(frozen=True)
class Ran:
    """A run as it was stored, with every answer."""

    row: ReviewBench
    answers: Sequence[Answer]


def frozen_cases() -> tuple[Case, ...]:
    """The set of the bundled seeds."""
    return frozen({folder.name: read_folder(folder).task for folder in find_tasks(settings.SEEDS)})


def chosen(names: Iterable[str], limit: int | None = None) -> list[Case]:
    """The cases of these rubrics, and people's; with a limit so many of the frozen ones, spread evenly."""
    wanted = set(names)
    cases = [case for case in frozen_cases() if case.rubric in wanted]
    if limit is not None and limit < len(cases):
        cases = [cases[number * len(cases) // limit] for number in range(limit)]
    return [*cases, *(case for case in people.cases() if case.rubric in wanted)]


def run(name: str, cases: Sequence[Case], tell: Tell) -> Ran:
    """Ask the judging roles of the author `name` about every case, by today's rubrics, and store the counts.

    `tell` hears each answer. Raises `NoSuchAuthor`, `ModelsError`, and `Waits` where there is no answer yet.
    """
    scope = scope_of(name, ReviewBench.objects.filter(model=name).count() + 1)
    digest = digest_of(case for case in cases if not case.label.by_person)
    line = LedgerLine(Directly(), settings.MODELS, Scope(author=name, input_digest=digest, other=scope))
    author = _speaking(casting.named(name), line)
    wordings = {each: rubrics.today(each) for each in rubrics.NAMES}
    answers = []
    for case in cases:
        answers.append(_answer(case, author, wordings[case.rubric]))
        tell(answers[-1])
    return Ran(_store(name, digest, wordings, answers, scope), answers)


def scope_of(name: str, number: int) -> str:
    """What the conversations of an author's n-th run are filed under."""
    return f"bench of {name}:{number}"


def cost_of(row: ReviewBench) -> Decimal | None:
    """What its calls cost, in US dollars; None where that is not known of each."""
    number = ReviewBench.objects.filter(model=row.model, pk__lte=row.pk).count()
    calls = AgentCall.objects.filter(conversation__scope=scope_of(row.model, number))
    costs = list(calls.values_list("cost", flat=True))
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if len(known) == len(costs) else None


def _speaking(author: Author, line: Line) -> Author:
    return replace(
        author,
        plan_reviewer=over(author.plan_reviewer, line),
        rubric_verifier=over(author.rubric_verifier, line),
    )


def _answer(case: Case, author: Author, rubric: Rubric) -> Answer:
    try:
        return Answer(case, case.judged_by(author, rubric))
    except (AgentsError, ProviderError) as problem:
        return Answer(case, None, str(problem) or type(problem).__name__)


def _store(
    name: str, digest: str, wordings: dict[str, Rubric], answers: Sequence[Answer], scope: str
) -> ReviewBench:
    served = AgentCall.objects.filter(conversation__scope=scope).exclude(served="").values_list("served")
    with transaction.atomic():
        row = ReviewBench.objects.create(
            model=name,
            served=", ".join(sorted({each for (each,) in served}))[:120],
            cases_digest=digest,
            plan_rubric=wordings[rubrics.PLAN].version,
            environment_rubric=wordings[rubrics.ENVIRONMENT].version,
            cases=len(answers),
            unanswered=sum(answer.judgement is None for answer in answers),
        )
        ReviewBenchLine.objects.bulk_create(
            ReviewBenchLine(
                bench=row,
                rubric=rubric,
                criterion=criterion,
                faults=count.faults,
                missed=count.missed,
                sound=count.sound,
                accused=count.accused,
            )
            for (rubric, criterion), count in tally(answers).items()
        )
    return row
