"""conformance: what was built is what the plan says, no more and no less.

Every changed pair has its solution block, its test units and its part of the instruction; every hunk of
the residual belongs to a pair or to the composition's own frame; and taking a pair's solution block away
fails the verifier, which is what makes a step count.
"""

from __future__ import annotations

from collections.abc import Iterator

from agents.composition import is_frame
from agents.plan import Binding
from lineages.gates.base import A_TRIAL, Gate, Input, Outcome, Result, Subject
from lineages.gates.trials import Trial, TrialOutcome, outcome, trial
from sandboxes.base import ExecResult
from sandboxes.task import INSTRUCTION
from sandboxes.trial import oracle_without


def check(subject: Subject) -> Outcome:
    if subject.plan is None or subject.parent is None:
        return Outcome(Result.NOT_APPLICABLE, "A seed has no plan to conform to.")
    findings = [*_unbound(subject), *_strays(subject)]
    if findings:
        return Outcome(Result.FAILED, findings[0], detail="\n".join(findings))
    return _ablations(subject)


def _unbound(subject: Subject) -> Iterator[str]:
    """Changed pairs that lack a part."""
    bound = {binding.key: binding for binding in subject.bindings}
    assert subject.plan is not None
    for change in subject.plan.changes:
        binding = bound.get(change.pair.key)
        if binding is None:
            yield f"The plan changes {change.pair.key}, but nothing built belongs to it."
        else:
            yield from _missing_parts(subject, binding)


def _missing_parts(subject: Subject, binding: Binding) -> Iterator[str]:
    for path in (binding.solution_block, *binding.test_units, *binding.environment_paths):
        if path not in subject.task and not (subject.parent and path in subject.parent):
            yield f"{binding.key} names {path}, which the task does not have."
    if not binding.test_units:
        yield f"{binding.key} has no test unit, so nothing notices when it is left out."
    if binding.requirement not in subject.task.text(INSTRUCTION):
        yield f"The instruction does not state what {binding.key} requires."


def _strays(subject: Subject) -> Iterator[str]:
    """Changed files that belong to no pair."""
    owned = {
        path
        for binding in subject.bindings
        for path in (binding.solution_block, *binding.test_units, *binding.environment_paths)
    }
    assert subject.parent is not None
    for path in subject.task.changed_paths(subject.parent):
        if path not in owned and not is_frame(path):
            yield f"{path} was changed, but belongs to no changed pair of the plan."


def _ablations(subject: Subject) -> Outcome:
    """Run the solution once for each changed pair, without that pair's block."""
    done: Trial | None = None
    commands: tuple[ExecResult, ...] = ()
    for binding in subject.bindings:
        done = trial(subject, oracle_without([binding.solution_block]))
        commands += done.commands
        if done.outcome is TrialOutcome.PASSED:
            summary = f"Without {binding.solution_block} the tests still pass: {binding.key} is padding."
            return outcome(Result.FAILED, summary, done)
    summary = (
        f"Each of the {len(subject.bindings)} changed pairs is needed: without its block the tests fail."
    )
    return Outcome(Result.PASSED, summary, commands=commands)


GATE = Gate(
    name="conformance",
    version=1,
    title="What was built is what was planned",
    inputs=A_TRIAL | {Input.INSTRUCTION, Input.PARENT, Input.PLAN},
    check=check,
    after=("static", "build"),
    sandbox=True,
)
