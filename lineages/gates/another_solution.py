"""another_solution: a valid solution that is not the reference's gets the full reward.

Writing one takes somebody who solves the task another way, and no author here does. The reference's outputs
in another form would only ask whether the instruction forbids that form, which no program can tell. So
nothing is claimed.
"""

from __future__ import annotations

from lineages.gates.base import A_TRIAL, Gate, Input, Outcome, Result, Subject

NOBODY = (
    "No other valid solution was tried: it takes a model to write one. "
    "Whether the tests accept more than the reference's way is not known."
)


def check(subject: Subject) -> Outcome:
    return Outcome(Result.NOT_RUN, NOBODY)


GATE = Gate(
    name="another_solution",
    version=1,
    title="Another valid solution passes",
    failing="The tests turn down a solution that does all that the instruction asks.",
    cost="nothing without a model",
    inputs=A_TRIAL | {Input.INSTRUCTION},
    check=check,
    after=("static", "build", "oracle"),
    profiles=frozenset({"strict"}),
    required=False,
)
