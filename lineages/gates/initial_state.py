"""initial_state: no single test passes before anything is done, but for those listed as invariants.

An invariant is a test that guards what must stay as it is; `task.toml` lists its name, as the verifier gives
it, in `[metadata] invariants`. Where the verifier does not tell its tests apart, the whole script is the one
test, and its reward decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from agents.composition import SEED_UNIT
from lineages.gates.base import A_TRIAL, Finding, Gate, Input, Outcome, Result, Subject, found
from lineages.gates.trials import outcome, rejected, untouched
from sandboxes.shuffling import unit_names
from sandboxes.task import CONFIG, TEST, Task
from sandboxes.trial import Trial

LISTED = "invariants"
_PYTEST = re.compile(rb"^\s*(?:async\s+)?def\s+test_\w+", re.MULTILINE)


def check(subject: Subject) -> Outcome:
    done = untouched(subject)
    if not rejected(done):
        return outcome(Result.FAILED, f"Nothing done is not simply worth nothing: {done.summary}", done)
    every = [*_listed_wrongly(subject), *_unknown(subject.task, done), *_answers(subject, done)]
    said = found(every, _well(done))
    return replace(
        said,
        detail=_shown(done),
        reward=0.0,
        weaker=done.weaker,
        graded_again=done.graded_again,
    )


def _well(done: Trial) -> str:
    passed = sum(unit.passed for unit in done.units)
    if not done.units:
        return (
            "The verifier does not tell its tests apart, so its whole script is the one test: "
            "it gives an untouched environment a reward of 0."
        )
    if passed:
        listed = "1 is listed as an invariant" if passed == 1 else f"{passed} are listed as invariants"
        return f"Untouched, {len(done.units) - passed} of {len(done.units)} tests fail; {listed}."
    return f"Untouched, every test that answers fails ({len(done.units)})."


def invariants(subject: Subject) -> set[str]:
    """The names that the task lists, and those that its parent does."""
    return {
        name
        for task in (subject.task, subject.parent)
        if task and _is_list_of_names(listed := task.config.metadata.get(LISTED))
        for name in listed or ()
    }


def _is_list_of_names(listed: object) -> bool:
    return listed is None or (isinstance(listed, list) and all(isinstance(name, str) for name in listed))


def _listed_wrongly(subject: Subject) -> Iterator[Finding]:
    if not _is_list_of_names(subject.task.config.metadata.get(LISTED)):
        yield Finding(
            f"[metadata] {LISTED} is to be a list of names of tests.", CONFIG, repair=f'{LISTED} = ["name"]'
        )


def _unknown(task: Task, done: Trial) -> Iterator[Finding]:
    """What the list of answers leaves out: a part of it must not be taken for the whole."""
    why = " Its output was too long to be kept whole: print less." if done.commands[-1].cut else ""
    missing = sorted({f"units/{name}" for name in unit_names(task)} - {unit.name for unit in done.units})
    if SEED_UNIT in task and missing:
        yield Finding(
            f"What {', '.join(missing)} said of an untouched environment is not known.{why}",
            f"tests/{missing[0]}",
        )
    elif not done.units and (why or _several(task)):
        yield Finding(
            f"There are several tests, and their answers cannot be told apart.{why}", TEST, warning=True
        )


def _several(task: Task) -> bool:
    files = task.under("tests").items()
    return sum(len(_PYTEST.findall(file.data)) for path, file in files if path.endswith(".py")) > 1


def _answers(subject: Subject, done: Trial) -> Iterator[Finding]:
    listed = invariants(subject)
    answers = {unit.name: unit.passed for unit in done.units}
    for name in sorted(name for name, passed in answers.items() if passed and name not in listed):
        yield Finding(
            f"The test {name!r} passes when nothing was done: let it ask for something that is "
            f"not there yet, or list it in [metadata] {LISTED} if it guards what must stay as it is.",
            _file_of(name, subject.task),
            repair=f'{LISTED} = ["{name}"]',
        )
    for name in sorted(listed) if answers else ():
        if answers.get(name) is False:
            yield Finding(f"The invariant {name!r} does not hold in an untouched environment.", CONFIG)
        elif name not in answers and not _within_a_unit(subject.task):
            yield Finding(f"No test is called {name!r}, which is listed as an invariant.", CONFIG)


def _within_a_unit(task: Task) -> bool:
    """In an evolved task the seed's tests answer as one unit, and the seed's names are not told any more."""
    return SEED_UNIT in task


def _file_of(name: str, task: Task) -> str:
    return f"tests/{name}" if f"tests/{name}" in task else TEST


def _shown(done: Trial) -> str:
    return "\n".join(f"{'passed' if unit.passed else 'failed'}  {unit.name}" for unit in done.units)


GATE = Gate(
    name="initial_state",
    version=1,
    title="Nothing is fulfilled at the start",
    failing="A test passes before anything is done, and is not listed as an invariant.",
    cost="no trial of its own: reads the untouched run of invalid_test",
    inputs=A_TRIAL - {Input.SOLUTION} | {Input.PARENT},
    check=check,
    after=("static", "build", "invalid_test"),
    sandbox=True,
)
