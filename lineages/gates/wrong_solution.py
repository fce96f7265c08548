"""wrong_solution: a solution that is wrong but looks right gets no full reward.

The wrong ones are mutants of the reference: its outputs with a mistake in them, and its scripts with a step,
a command or a number changed. A mutant that leaves what the reference leaves says nothing and is not counted.
Making half of the result is not looked for, nor a mistake that no such change makes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lineages.gates.base import A_TRIAL, Finding, Gate, Input, Outcome, Result, Subject
from lineages.gates.mutants import Files, Kind, Mutant, sample
from lineages.gates.mutants.judging import Judge, Run, documents, named
from lineages.gates.mutants.outputs import output_mutants, outputs_of, too_large
from lineages.gates.mutants.solutions import solution_mutants
from lineages.gates.mutants.trying import Trying, trying
from lineages.gates.trials import rewarded, solved, tail
from sandboxes.task import Task

MOST, MOST_THOROUGH = 12, 60
"""Mutants that are run; in shared mode, where the reference runs for each, at most a third are outputs."""
MOST_OUTPUTS = 100
"""Of which mutants are made, those that the instruction names before the others."""


def check(subject: Subject) -> Outcome:
    if not rewarded(solved(subject)):
        return Outcome(
            Result.NOT_RUN, "The reference itself does not pass, so that a change to it says nothing."
        )
    tries = trying(subject)
    if not rewarded(tries.first):
        return Outcome(
            Result.FAILED,
            f"The reference passed once and not the next time: {tries.first.summary}",
            detail=tail(tries.first),
            commands=tries.first.commands,
        )
    possible = _possible(subject.task, tries)
    chosen = possible.chosen(subject)
    if not chosen:
        return Outcome(
            Result.NOT_APPLICABLE,
            "There is nothing to change: no output is told, and no shell script solves it.",
            findings=possible.left_out,
        )
    said = judge(subject.task, tries, chosen)
    share = f"{len(chosen)} of {possible.count} possible changes were tried."
    findings = (*said.findings, *possible.left_out)
    return replace(said, detail=f"{share}\n{said.detail}", findings=findings)


def judge(task: Task, tries: Trying, mutants: Sequence[Mutant]) -> Outcome:
    """Try these wrong solutions, each one, and say what the tests overlook. Raises as `Trying` does."""
    runs = [Run.of(tries, mutant) for mutant in mutants]
    return _outcome(Judge(task, tuple(documents(task)), tries), runs)


@dataclass(frozen=True, slots=True)
class _Possible:
    """Mutants of the outputs that somebody named, of other outputs, and of the solution.

    `left_out` are warnings of what no mutant is made of.
    """

    named: list[Mutant]
    others: list[Mutant]
    solutions: list[Mutant]
    left_out: tuple[Finding, ...]

    @property
    def count(self) -> int:
        return len(self.named) + len(self.others) + len(self.solutions)

    def chosen(self, subject: Subject) -> list[Mutant]:
        """Two fifths solutions, the rest outputs, named ones first; what one does not use the other may."""
        most = MOST_THOROUGH if subject.thorough else MOST
        few = sample(self.solutions, max(most * 2 // 5, most - len(self.named) - len(self.others)))
        left = most - len(few) if subject.task.separate else min(most // 3, most - len(few))
        first = sample(self.named, left)
        return [*first, *sample(self.others, left - len(first)), *few]


def _possible(task: Task, tries: Trying) -> _Possible:
    read = tuple(documents(task))
    told = {path for path in {*tries.reference, *tries.before} if named(read, path)}
    made = outputs_of(tries.reference, tries.before)
    among = sorted(made, key=lambda path: (path not in told, path))[:MOST_OUTPUTS]
    left_out = [*tries.left_out, *_unchanged(made, among)]
    mutants = output_mutants(tries.reference, tries.before, among)
    return _Possible(
        [each for each in mutants if each.place in told],
        [each for each in mutants if each.place not in told],
        solution_mutants(task),
        tuple(Finding(text, warning=True) for text in left_out),
    )


def _unchanged(made: Files, among: Sequence[str]) -> Iterator[str]:
    """What the limits on outputs leave out, in sentences."""
    if len(made) > len(among):
        yield f"The reference leaves {len(made)} outputs; only {len(among)} of them are changed."
    large = sorted(too_large({path: made[path] for path in among}))
    if large:
        more = f" and {len(large) - 3} more" if len(large) > 3 else ""
        yield f"{', '.join(large[:3])}{more}: too much to change a line or a number in it."


def _outcome(judging: Judge, runs: Sequence[Run]) -> Outcome:
    counted = [run for run in runs if run.counts]
    alive = [run for run in counted if run.survived]
    findings = [*(judging.finding(run) for run in alive), *_idle_steps(runs)]
    failures = [finding for finding in findings if not finding.warning]
    killed = len(counted) - len(alive)
    summary = f"{killed} of {len(counted)} wrong solutions were turned down."
    if not counted:
        summary = f"None of {len(runs)} changes to the solution changed what it leaves."
    answer = Result.FAILED if failures else Result.PASSED if counted else Result.NOT_APPLICABLE
    return Outcome(
        answer,
        " ".join([summary, *(finding.text for finding in failures[:1])]),
        detail="\n".join([*_table(runs), *(tail(run.tried.done) for run in alive)]),
        weaker=any(run.tried.done.weaker for run in runs),
        commands=tuple(command for run in alive for command in run.tried.done.commands),
        findings=tuple(sorted(findings, key=lambda each: each.warning)),
        runs=len(counted),
        runs_passed=killed,
    )


def _idle_steps(runs: Sequence[Run]) -> Iterator[Finding]:
    """Emptied steps that were not missed at all, which is for people to look at."""
    for run in runs:
        if run.mutant.kind is Kind.STEP and not run.counts:
            text = f"With {run.mutant.what} nothing else is left: no output hangs on this step."
            yield Finding(text, path=run.mutant.place, warning=True)


def _table(runs: Sequence[Run]) -> Iterator[str]:
    """One line for each kind of mutant, then one for each mutant."""
    tried = Counter(run.mutant.kind for run in runs if run.counts)
    alive = Counter(run.mutant.kind for run in runs if run.survived)
    equal = Counter(run.mutant.kind for run in runs if not run.counts)
    for kind in Kind:
        if tried[kind] or equal[kind]:
            same = f"; {equal[kind]} left what the reference leaves" if equal[kind] else ""
            yield f"{kind}: {tried[kind] - alive[kind]} of {tried[kind]} turned down{same}"
    for run in runs:
        said = run.tried.done.outcome.value if run.counts else "nothing else left"
        where = "" if run.mutant.solution else f"{run.mutant.place}: "
        yield f"  {said}: {where}{run.mutant.what}"


GATE = Gate(
    name="wrong_solution",
    version=2,
    title="A wrong but plausible solution fails",
    failing="A solution with a mistake in it gets the full reward, so that training rewards the mistake.",
    cost=f"up to {MOST} trials, {MOST_THOROUGH} in the strict profile",
    inputs=A_TRIAL | {Input.INSTRUCTION, Input.THOROUGH},
    check=check,
    after=("static", "build", "oracle"),
    sandbox=True,
    profiles=frozenset({"strict"}),
)
