"""contamination: no 13 tokens in a row stand in a set of tasks that is marked as a benchmark.

What stands there was looked up before (`lineages.library.benchmarks`): only hashes of a benchmark are kept.
The text shown is the task's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from lineages import overlap
from lineages.gates.base import Finding, Gate, Input, Outcome, Result, Subject, found
from lineages.gates.surroundings import Benchmarks

MOST_FINDINGS = 50
"""More of them say no more, and fill a page."""


def check(subject: Subject) -> Outcome:
    if subject.benchmarks is None or not subject.benchmarks.names:
        return Outcome(
            Result.NOT_APPLICABLE,
            "No set is marked as a benchmark: `manage.py benchmark add NAME PATH` marks one.",
        )
    names = ", ".join(subject.benchmarks.names)
    findings = list(_findings(subject, subject.benchmarks))
    return found(
        [*_shown(findings), *_unread(subject)],
        f"No {overlap.RUN_TOKENS} words in a row stand in {names}.",
    )


def _findings(subject: Subject, benchmarks: Benchmarks) -> Iterator[Finding]:
    """One for each stretch of runs that follow each other, with the first of them."""
    before: tuple[str, tuple[str, ...]] | None = None
    for path, run in overlap.runs_of(subject.task):
        hit = benchmarks.hits.get(run.text)
        here = (path, hit) if hit else None
        if hit and here != before:
            yield Finding(
                f"stands in {_places(hit)}: “{run.text}”. Say it in other words, or use another task.",
                path=path,
                line=run.line,
            )
        before = here


def _places(hit: tuple[str, ...]) -> str:
    more = f" and {len(hit) - 1} more" if len(hit) > 1 else ""
    return f"{hit[0]}{more}"


def _shown(findings: list[Finding]) -> Iterator[Finding]:
    yield from findings[:MOST_FINDINGS]
    if len(findings) > MOST_FINDINGS:
        yield Finding(
            f"{len(findings) - MOST_FINDINGS} more stretches of this task stand in a benchmark.", warning=True
        )


def _unread(subject: Subject) -> Iterator[Finding]:
    unread = overlap.unread(subject.task)
    for path in unread[:MOST_FINDINGS]:
        yield Finding("was not compared: it is no text, or too large.", path=path, warning=True)
    if len(unread) > MOST_FINDINGS:
        more = f"{len(unread) - MOST_FINDINGS} more files were not compared: they are no text, or too large."
        yield Finding(more, warning=True)


GATE = Gate(
    name="contamination",
    version=1,
    title="Nothing of a benchmark is in it",
    failing="Training on this task would train on a benchmark.",
    cost="reads files and an index of the benchmarks",
    inputs=frozenset({Input.SOLUTION, Input.TESTS, Input.INSTRUCTION, Input.BENCHMARKS}),
    check=check,
    after=("static",),
)
