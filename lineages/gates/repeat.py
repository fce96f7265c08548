"""repeat: the reference solution always passes and an untouched environment never does.

Each run is made anew, in another time zone and locale and with the tests in another order. One run is both:
the reference solution, and an environment in which nothing is done. All have to agree, so a task that is
worth its reward on some days alone is found, and no repair can get by with trying again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lineages.gates.base import A_TRIAL, Finding, Gate, Input, Outcome, Result, Subject
from lineages.gates.trials import fresh, rejected, rewarded, solved, tail, untouched
from sandboxes.trial import Trial, nop, oracle
from sandboxes.variation import PLAIN, Variation, variations

MOST_NAMED = 5


@dataclass(frozen=True)
class Run:
    """The reference solution and the untouched environment under one variation; `number` counts from 1."""

    number: int
    variation: Variation
    reference: Trial
    untouched: Trial

    @property
    def well(self) -> bool:
        return rewarded(self.reference) and rejected(self.untouched)

    @property
    def called(self) -> str:
        """Its number and how it differed; a shuffle that the tests' runner does not let happen is none."""
        if self.variation == PLAIN:
            return f"run {self.number} (as it is)"
        env = ", ".join(f"{name}={value}" for name, value in self.variation.env.items())
        order = f"shuffled (seed {self.variation.order})" if self.shuffled else "not shuffled"
        return f"run {self.number} ({env}, tests {order})"

    @property
    def shuffled(self) -> bool:
        return self.reference.shuffled or self.untouched.shuffled


def check(subject: Subject) -> Outcome:
    runs = _runs(subject)
    findings = [finding for run in runs for finding in _deviations(run, runs)]
    findings += _unsteady("the reference solution", [run.reference for run in runs])
    findings += _unsteady("an untouched environment", [run.untouched for run in runs])
    deviating = [done for run in runs for done in _deviating(run)]
    return Outcome(
        Result.FAILED if deviating else Result.PASSED,
        _summary(runs),
        detail="\n".join([*map(_line, runs), *map(tail, deviating)]),
        weaker=runs[0].reference.weaker,
        commands=tuple(command for done in deviating for command in done.commands),
        findings=tuple(findings),
        runs=len(runs),
        runs_passed=sum(run.well for run in runs),
    )


def _runs(subject: Subject) -> list[Run]:
    varied = [
        Run(number, way, fresh(subject, oracle, variation=way), fresh(subject, nop, variation=way))
        for number, way in enumerate(variations(subject.repeats), start=1)
        if way != PLAIN
    ]
    return [Run(1, PLAIN, solved(subject), untouched(subject)), *varied]


def _deviating(run: Run) -> Iterator[Trial]:
    if not rewarded(run.reference):
        yield run.reference
    if not rejected(run.untouched):
        yield run.untouched


def _deviations(run: Run, runs: Sequence[Run]) -> Iterator[Finding]:
    if not rewarded(run.reference):
        also = _named(run.reference, [each.reference for each in runs], passed=False)
        yield Finding(f"In {run.called} the reference solution did not pass: {run.reference.summary}{also}")
    if not rejected(run.untouched):
        also = _named(run.untouched, [each.untouched for each in runs], passed=True)
        yield Finding(f"In {run.called} nothing done was not worth nothing: {run.untouched.summary}{also}")


def _named(done: Trial, every: Sequence[Trial], *, passed: bool) -> str:
    """Which single tests answered otherwise in another of the runs."""
    answers = {unit.name for unit in done.units if unit.passed is passed}
    other = {unit.name for each in every for unit in each.units if unit.passed is not passed}
    names = sorted(answers & other)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    shown = ", ".join(names[:MOST_NAMED]) + more
    return f" Tests that answered otherwise in another run: {shown}." if names else ""


def _unsteady(of: str, every: Sequence[Trial]) -> Iterator[Finding]:
    """Tests that contradict themselves where every run came to the same reward."""
    if len({done.outcome for done in every}) > 1:
        return
    yes = {unit.name for done in every for unit in done.units if unit.passed}
    no = {unit.name for done in every for unit in done.units if not unit.passed}
    for name in sorted(yes & no):
        yield Finding(f"The test {name!r} does not always say the same of {of}.", warning=True)


def _summary(runs: Sequence[Run]) -> str:
    solved_in = sum(rewarded(run.reference) for run in runs)
    rejected_in = sum(rejected(run.untouched) for run in runs)
    of = f"of {len(runs)} runs"
    said = f"the reference solution passed {solved_in} {of}"
    if rejected_in < len(runs):
        said += f", and an untouched environment was worth nothing in {rejected_in} {of}"
    if all(run.well for run in runs):
        return f"{said[0].upper()}{said[1:]}, and an untouched environment none."
    steady = solved_in in (0, len(runs)) and rejected_in in (0, len(runs))
    return f"{said[0].upper()}{said[1:]}." if steady else f"Unstable: {said}."


def _line(run: Run) -> str:
    return f"{run.called}: {_told('solved', run.reference)}, {_told('untouched', run.untouched)}"


def _told(what: str, done: Trial) -> str:
    reward = "" if done.reward is None else f" {done.reward.value:g}"
    how = "tests alone, " if done.graded_again else ""
    return f"{what} {done.outcome}{reward} ({how}{done.seconds:.1f} s)"


GATE = Gate(
    name="repeat",
    version=1,
    title="The same every time",
    failing="The task is unstable: the same work is not worth the same each time.",
    cost="two trials for each repeat but the first",
    waivable=False,
    inputs=A_TRIAL | {Input.REPEATS},
    check=check,
    # Not beside them: what fails at once is no matter of repeats, and is repaired on their evidence.
    after=("static", "build", "oracle", "invalid_test"),
    sandbox=True,
)
