"""conformance: what was built is what the plan says, no more and no less.

Every changed pair has a solution block, test units, environment files and a requirement of its own, all of
them new or changed; every changed file belongs to one pair or to the frame of an evolved task; with a pair's
solution block emptied the tests say no, which is what makes a step count; and so they do where what the block
leaves has a mistake in it (`own_results`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from agents.composition import is_frame
from agents.plan import Binding
from lineages.gates.base import A_TRIAL, Gate, Input, Outcome, Result, Subject
from lineages.gates.own_results import overlooked
from lineages.gates.trials import kept, outcome, trial
from sandboxes.task import INSTRUCTION, Task
from sandboxes.trial import Solved, Trial, TrialOutcome, oracle_without


def check(subject: Subject) -> Outcome:
    if subject.plan is None or subject.parent is None:
        return Outcome(
            Result.NOT_APPLICABLE,
            "There is no plan: a seed, or a task without its history.",
        )
    changed = frozenset(subject.task.changed_paths(subject.parent))
    keys = {change.pair.key for change in subject.plan.changes}
    findings = [
        *_wrong_keys(subject.bindings, keys),
        *_missing_parts(subject, changed),
        *_shared_parts(subject.bindings),
        *_strays(subject.bindings, changed),
    ]
    if findings:
        return Outcome(Result.FAILED, findings[0], detail="\n".join(findings))
    return _ablations(subject)


def _wrong_keys(bindings: tuple[Binding, ...], keys: set[str]) -> Iterator[str]:
    bound = [binding.key for binding in bindings]
    for key in keys - set(bound):
        yield f"The plan changes {key}, but nothing built belongs to it."
    for key, times in Counter(bound).items():
        if key not in keys:
            yield f"Something was built for {key}, which the plan does not change."
        elif times > 1:
            yield f"{key} is bound {times} times."


def _missing_parts(subject: Subject, changed: frozenset[str]) -> Iterator[str]:
    """Parts that a pair lacks, or that are the parent's own."""
    for binding in subject.bindings:
        yield from _missing_files(binding, subject.task, changed)
        stated = binding.requirement.strip()
        if not stated or stated not in subject.task.text(INSTRUCTION):
            yield f"The instruction does not state what {binding.key} requires."
        elif subject.parent and stated in subject.parent.text(INSTRUCTION):
            yield f"What {binding.key} requires stands in the parent's instruction already."


def _missing_files(binding: Binding, task: Task, changed: frozenset[str]) -> Iterator[str]:
    groups = {
        "solution/": (binding.solution_block,),
        "tests/": binding.test_units,
        "environment/": binding.environment_paths,
    }
    for folder, paths in groups.items():
        if not any(paths):
            yield f"{binding.key} has nothing under {folder}: a changed pair needs its part of each."
        for path in paths:
            if not path.startswith(folder):
                yield f"{binding.key} names {path!r}, which is not under {folder}."
            elif path not in changed or is_frame(path):
                yield f"{binding.key} names {path}, which this generation did not add or change for it."
            elif path not in task and folder != "environment/":
                yield f"{binding.key} names {path}, which the task does not have."


def _shared_parts(bindings: tuple[Binding, ...]) -> Iterator[str]:
    owners = Counter(path for binding in bindings for path in {binding.solution_block, *binding.test_units})
    for path, times in owners.items():
        if times > 1:
            yield f"{path} belongs to {times} pairs: each needs its own, or none can be judged by itself."
    for stated, times in Counter(binding.requirement.strip() for binding in bindings).items():
        if stated and times > 1:
            yield f"{times} pairs require one thing, {stated[:60]!r}: each needs a sentence of its own."


def _strays(bindings: tuple[Binding, ...], changed: frozenset[str]) -> Iterator[str]:
    """Changed files that belong to no pair."""
    owned = {
        path
        for binding in bindings
        for path in (binding.solution_block, *binding.test_units, *binding.environment_paths)
    }
    for path in sorted(changed - owned):
        if not is_frame(path):
            yield f"{path} was changed, but belongs to no changed pair of the plan."


def _ablations(subject: Subject) -> Outcome:
    """Run the solution once for each changed pair, with that pair's block emptied."""
    runs: list[Trial] = []
    left: dict[str, Solved] = {}
    for binding in subject.bindings:
        name = f"without {binding.solution_block}"
        done = trial(subject, name, oracle_without([binding.solution_block]))
        left |= kept(subject, name, done)
        problem = _not_missed(binding, done)
        if problem:
            return outcome(Result.FAILED, problem, done, kept=left)
        found = overlooked(subject, done.solved)
        if found:
            problem = f"What {binding.key} asks for is not checked: {found[0].text}"
            return outcome(Result.FAILED, problem, done, kept=left, findings=found)
        runs.append(done)
    summary = (
        f"Each of the {len(subject.bindings)} changed pairs is needed: without its block the tests fail, and "
        "with a mistake in what it leaves."
    )
    return Outcome(
        Result.PASSED,
        summary,
        commands=tuple(command for done in runs for command in done.commands),
        kept=left,
        graded_again=bool(runs) and all(done.graded_again for done in runs),
    )


def _not_missed(binding: Binding, done: Trial) -> str:
    """What is wrong when an emptied block does not simply fail the tests."""
    if done.outcome is TrialOutcome.PASSED:
        return f"With {binding.solution_block} emptied the tests still pass: {binding.key} is padding."
    if done.outcome is not TrialOutcome.FAILED:
        return f"With {binding.solution_block} emptied the tests come to no verdict: {done.summary}"
    return ""


GATE = Gate(
    name="conformance",
    version=3,
    title="What was built is what was planned",
    failing="What was built is not what was planned, or a planned step is padding.",
    cost="one trial for each changed pair, and three gradings",
    inputs=A_TRIAL | {Input.INSTRUCTION, Input.PARENT, Input.PLAN},
    check=check,
    after=("static", "build"),
    sandbox=True,
)
