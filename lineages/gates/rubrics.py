"""rubrics: a judging role goes through the environment rubric, criterion by criterion."""

from __future__ import annotations

from lineages.gates.base import WHOLE_TASK, Gate, Input, Outcome, Result, Subject


def check(subject: Subject) -> Outcome:
    judgement = subject.judge.judge(subject.task, subject.plan, subject.bindings, subject.criteria)
    lines = "\n".join(f"{v.criterion}: {v.verdict} — {v.explanation}" for v in judgement.verdicts)
    if judgement.accepted:
        summary = f"No criterion of the environment rubric fails ({len(judgement.verdicts)} judged)."
        return Outcome(Result.PASSED, summary, detail=lines, judgement=judgement)
    first = judgement.failures[0]
    summary = f"{first.criterion}: {first.explanation}"
    return Outcome(Result.FAILED, summary, detail=lines, judgement=judgement)


GATE = Gate(
    name="rubrics",
    version=1,
    title="The environment rubric",
    failing="A judge sees a fault that a criterion of the rubric names.",
    cost="one judgement",
    inputs=WHOLE_TASK | {Input.PLAN, Input.JUDGE, Input.RUBRIC},
    check=check,
    after=("static",),
    profiles=frozenset({"paper", "standard", "strict"}),
)
