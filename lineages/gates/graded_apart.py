"""graded_apart: the tests run where the solver never was."""

from __future__ import annotations

from lineages.gates.base import Finding, Gate, Input, Outcome, Subject, found
from sandboxes.task import CONFIG

REPAIR = '[verifier]\nenvironment_mode = "separate"'


def check(subject: Subject) -> Outcome:
    shared = Finding(
        "The tests run on the solver's own file system; a result can be forged. Declare what the solver "
        "hands over under `artifacts`, and give the tests an image of their own (tests/Dockerfile).",
        CONFIG,
        repair=REPAIR,
    )
    return found(
        [] if subject.task.separate else [shared],
        "The tests run in an image of their own, and get the declared artifacts alone.",
    )


GATE = Gate(
    name="graded_apart",
    version=1,
    title="The tests run apart",
    failing="A solver can forge its reward: the tests run on its own file system.",
    inputs=frozenset({Input.CONFIG}),
    check=check,
    after=("static",),
    profiles=frozenset({"strict"}),
)
