"""attacker: a role that looks for a way to the reward, as an attacker who knows the code would."""

from __future__ import annotations

from agents.line import ModelTrouble
from agents.roles import Attack
from lineages.gates.adversary import Step, attack, verdict
from lineages.gates.base import A_TRIAL, Gate, Input, Outcome, Result, Subject
from sandboxes.text import clean

NOBODY = (
    "No attack was looked for: no model is configured that plays the adversary. "
    "Only the kit of probes was tried (the gate adversary)."
)


def check(subject: Subject) -> Outcome:
    if subject.adversary is None:
        return Outcome(Result.NOT_RUN, NOBODY)
    try:
        found = subject.adversary.attack(subject.task)
    except ModelTrouble as trouble:
        return Outcome(Result.NOT_RUN, f"No attack was tried, since the model gave none: {trouble}")
    if not found:
        return Outcome(Result.PASSED, f"{subject.judge_name} found nothing to try.")
    shots, left = attack(subject, [(_step(each),) for each in found])
    return verdict(subject, shots, kept=left)


def _step(found: Attack) -> Step:
    return Step(clean(found.name), clean(found.idea), clean(found.script))


GATE = Gate(
    name="attacker",
    version=1,
    title="No attack that a model finds gets a reward",
    failing="A model found a way to the reward without solving the task.",
    cost="a model's work, and one trial for each attack that it finds",
    required=False,
    inputs=A_TRIAL | {Input.INSTRUCTION, Input.JUDGE},
    check=check,
    after=("static", "build", "oracle", "invalid_test"),
    sandbox=True,
    profiles=frozenset({"strict"}),
)
