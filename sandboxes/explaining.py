"""From a verifier that ran to its end to an outcome, and a sentence for a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sandboxes.base import ExecResult
from sandboxes.fetching import wanted_network
from sandboxes.handover import CONVENTION, Delivery
from sandboxes.outcomes import TrialOutcome
from sandboxes.reward import Reward
from sandboxes.task import Task
from sandboxes.unit_results import UnitResult

PASS_MARK = 1.0
BY_A_SIGNAL, MOST_SIGNALS = 128, 64
"""An exit code of 128 + n is what a shell says of a script that signal n ended."""


@dataclass(frozen=True, slots=True)
class Graded:
    """What is known when the tests have ended. `solver` is the last command of the solver."""

    task: Task
    reward: Reward
    tests: ExecResult
    solver: ExecResult | None
    deliveries: Sequence[Delivery]
    units: Sequence[UnitResult]


def verdict(graded: Graded) -> tuple[TrialOutcome, str]:
    reward = graded.reward
    ended_by = graded.tests.exit_code - BY_A_SIGNAL
    if reward.value and 0 < ended_by <= MOST_SIGNALS:
        # A test that ends the script it is run by keeps whatever it wrote itself.
        return TrialOutcome.ERROR, (
            f"The test script was ended by signal {ended_by}, so the reward it left ({reward.value:g}) may "
            "not be its own and counts for nothing."
        )
    if reward.value is not None and reward.value >= PASS_MARK:
        return TrialOutcome.PASSED, f"The tests passed. {reward.reason}"
    tool = "" if _decided(graded) else _unreachable(graded)
    if tool:
        return TrialOutcome.NETWORK, (
            f"The tests came to no verdict: {tool} in them wanted something from the network, and no sandbox "
            f"has one. Have the Dockerfile of the tests put it into the image. {reward.reason}"
        )
    if reward.value is None:
        return TrialOutcome.ERROR, (
            f"The tests ended (exit code {graded.tests.exit_code}) without a reward. {reward.reason}"
        )
    hints = " ".join(filter(None, (_solver_hint(graded), _artifact_hint(graded))))
    return TrialOutcome.FAILED, f"The tests did not pass. {reward.reason} {hints}".strip()


def _decided(graded: Graded) -> bool:
    """Whether the tests got as far as to judge: a reward above 0, or a 0 for which they told single tests."""
    value = graded.reward.value
    return value is not None and (value != 0 or bool(graded.units))


def _unreachable(graded: Graded) -> str:
    handed = [file.data for each in graded.deliveries for file in each.files.values()]
    return wanted_network(graded.task, graded.tests, handed)


def _solver_hint(graded: Graded) -> str:
    code = graded.solver.exit_code if graded.solver else 0
    return f"The solver's last command ended with exit code {code}." if code else ""


def _artifact_hint(graded: Graded) -> str:
    if not graded.task.separate:
        return ""
    if not graded.task.config.artifacts:
        return "The task declares no artifacts, so its tests see nothing of the solver's work."
    deliveries = [each for each in graded.deliveries if each.source != CONVENTION]
    missing = [each.source for each in deliveries if not each.there]
    if not missing:
        return ""
    refused = " ".join(f"Not taken: {each.refused}." for each in graded.deliveries if each.refused)
    if refused:
        return refused
    some = any(each.files for each in graded.deliveries) or any(each.there for each in deliveries)
    arrived = "" if some else "No artifact arrived. "
    return f"{arrived}Not there after the solver: {', '.join(missing)}."
