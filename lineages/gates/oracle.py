"""oracle: the reference solution gets the full reward in a fresh sandbox.

One that does not is run again as often as the profile repeats, only to tell a solution that never passes from
a task that is unstable: no later run makes up for the first.
"""

from __future__ import annotations

from dataclasses import replace

from lineages.gates.base import A_TRIAL, Gate, Input, Outcome, Result, Subject
from lineages.gates.trials import ORACLE, fresh, kept, outcome, rewarded, solved
from sandboxes.trial import Trial, TrialOutcome, oracle
from sandboxes.variation import variations


def check(subject: Subject) -> Outcome:
    done = solved(subject)
    left = kept(subject, ORACLE, done)
    if rewarded(done):
        return outcome(Result.PASSED, _told(done), done, kept=left)
    failed = outcome(Result.FAILED, _told(done), done, kept=left)
    if done.outcome is not TrialOutcome.FAILED or subject.repeats == 1:
        return failed
    return _counted(failed, subject)


def _counted(failed: Outcome, subject: Subject) -> Outcome:
    """The failure with how many of all runs passed."""
    again = [fresh(subject, oracle, variation=way) for way in variations(subject.repeats)[1:]]
    passed = sum(map(rewarded, again))
    summary = failed.summary
    if passed:
        summary = f"Unstable: the reference solution passed {passed} of {subject.repeats} runs."
    return replace(failed, summary=summary, runs=subject.repeats, runs_passed=passed)


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
    version=2,
    title="The reference solution passes",
    failing="Nobody can be shown to solve this task: its own reference solution does not.",
    cost="one trial; where it fails, one for each repeat",
    waivable=False,
    inputs=A_TRIAL | {Input.REPEATS},
    check=check,
    after=("static", "build"),
    sandbox=True,
    profiles=frozenset({"fast", "paper", "standard", "strict"}),
)
