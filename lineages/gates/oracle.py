"""oracle: the reference solution gets the full reward in a fresh sandbox."""

from __future__ import annotations

from lineages.gates.base import A_TRIAL, Gate, Outcome, Result, Subject
from lineages.gates.trials import ORACLE, kept, outcome, solved
from sandboxes.trial import TrialOutcome


def check(subject: Subject) -> Outcome:
    done = solved(subject)
    if done.outcome is TrialOutcome.PASSED:
        return outcome(
            Result.PASSED,
            "The reference solution gets the full reward.",
            done,
            kept=kept(subject, ORACLE, done),
        )
    if done.outcome is TrialOutcome.FAILED:
        value = done.reward.value if done.reward else None
        return outcome(
            Result.FAILED, f"The reference solution does not pass its tests (reward {value}).", done
        )
    return outcome(Result.FAILED, f"The reference solution gets no reward: {done.summary}", done)


GATE = Gate(
    name="oracle",
    version=1,
    title="The reference solution passes",
    failing="Nobody can be shown to solve this task: its own reference solution does not.",
    cost="one trial",
    waivable=False,
    inputs=A_TRIAL,
    check=check,
    after=("static", "build"),
    sandbox=True,
    profiles=frozenset({"fast", "standard", "strict"}),
)
