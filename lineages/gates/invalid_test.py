"""invalid_test: the tests fail when nothing was done."""

from __future__ import annotations

from lineages.gates.base import A_TRIAL, Gate, Input, Outcome, Result, Subject
from lineages.gates.trials import NOP, kept, outcome, untouched
from sandboxes.trial import Trial, TrialOutcome


def check(subject: Subject) -> Outcome:
    done = untouched(subject)
    if done.outcome is TrialOutcome.PASSED:
        return outcome(Result.FAILED, "The tests pass before anything is done: they prove nothing.", done)
    if _rejected(done):
        left = kept(subject, NOP, done, reads_solution=False)
        return outcome(Result.PASSED, "An empty solution gets no reward.", done, kept=left)
    return outcome(
        Result.FAILED, f"The tests come to no verdict on an untouched environment: {done.summary}", done
    )


def _rejected(done: Trial) -> bool:
    return done.outcome is TrialOutcome.FAILED and done.reward is not None and done.reward.value == 0


GATE = Gate(
    name="invalid_test",
    version=1,
    title="An empty solution fails",
    failing="The tests reward nothing done.",
    cost="two trials",
    waivable=False,
    inputs=A_TRIAL - {Input.SOLUTION},
    check=check,
    after=("static", "build"),
    sandbox=True,
    profiles=frozenset({"fast", "standard", "strict"}),
)
