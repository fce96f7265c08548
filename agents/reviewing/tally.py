"""From judgements on labelled cases to misses and false accusations, criterion by criterion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agents.plan import Judgement, Verdict
from agents.reviewing.cases import ANY, Case

PEOPLE = "people: "
"""Stands before the rubric's name where people gave the labels."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reviewer said of a case; `problem` says why where it said nothing of use."""

    case: Case
    judgement: Judgement | None
    problem: str = ""


@dataclass(slots=True)
class Count:
    """`missed` of the `faults` were not called a failure; `accused` of the `sound` cases were called one."""

    faults: int = 0
    missed: int = 0
    sound: int = 0
    accused: int = 0


def tally(answers: Iterable[Answer]) -> Mapping[tuple[str, str], Count]:
    """By rubric and criterion, in the order of the cases. Cases without an answer count nowhere.

    A criterion that the rubric in use does not have is not counted.
    """
    counts: dict[tuple[str, str], Count] = {}
    for answer in answers:
        if answer.judgement is not None:
            _count(answer.case, answer.judgement, counts)
    return counts


def _count(case: Case, judgement: Judgement, counts: dict[tuple[str, str], Count]) -> None:
    rubric = f"{PEOPLE}{case.rubric}" if case.label.by_person else case.rubric
    said = {verdict.criterion: verdict.verdict for verdict in judgement.verdicts}
    label = case.label
    if label.fails == ANY or label.fails in said:
        count = counts.setdefault((rubric, label.fails), Count())
        count.faults += 1
        seen = not judgement.accepted if label.fails == ANY else said[label.fails] is Verdict.FAIL
        count.missed += not seen
    for criterion in label.passes:
        if criterion in said:
            count = counts.setdefault((rubric, criterion), Count())
            count.sound += 1
            count.accused += said[criterion] is Verdict.FAIL
