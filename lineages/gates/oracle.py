"""oracle: the reference solution gets the full reward in a fresh sandbox."""

from __future__ import annotations

from lineages.gates.base import A_TRIAL, Gate, Outcome, Result, Subject
from lineages.gates.trials import ORACLE, kept, outcome, rewarded, solved
from sandboxes.trial import Trial, TrialOutcome


def check(subject: Subject) -> Outcome:
    done = solved(subject)
    result = Result.PASSED if rewarded(done) else Result.FAILED
    return outcome(result, _told(done), done, kept=kept(subject, ORACLE, done))


def _told(done: Trial) -> str:
    if rewarded(done):
        return "The reference solution gets the full reward."
    if done.outcome is TrialOutcome.NETWORK:
        return f"The task needs network, and no sandbox here has any: {done.summary}"
    if done.reward is None:
        return f"The reference solution gets no reward: {done.summary}"
    value = done.reward.value or 0
    short = "gets only part of the reward" if value > 0 else "does not pass its tests"
    return f"The reference solution {short} (reward {value:g}): {done.summary}"


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
    profiles=frozenset({"fast", "paper", "standard", "strict"}),
)
