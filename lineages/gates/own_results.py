"""What a changed pair leaves, with a mistake in it: its tests have to turn that down.

Whether a step is there at all tells little of its tests: one that only looks whether a file exists is content
with any file. So the outputs that are other or missing without the pair's block are changed as a mistake
would change them, a few ways, and graded. `wrong_solution` does this with all outputs and the solution too.
"""

from __future__ import annotations

from lineages.gates.base import Finding, Subject
from lineages.gates.mutants import sample
from lineages.gates.mutants.judging import Judge, Run, documents
from lineages.gates.mutants.outputs import output_mutants
from lineages.gates.mutants.trying import trying
from lineages.gates.trials import rewarded, solved
from sandboxes.trial import Solved

MISTAKES = 3
"""Graded for each pair."""


def overlooked(subject: Subject, without: Solved | None) -> list[Finding]:
    """What the tests overlook of the outputs that `without`, the pair's block emptied, does not have.

    Nothing is looked for in shared mode, where each mistake takes a whole run, nor where the reference fails.
    Raises as `run_trial` does.
    """
    if without is None or not subject.task.separate or not rewarded(solved(subject)):
        return []
    tries = trying(subject)
    mutants = sample(output_mutants(tries.reference, without.artifacts), MISTAKES)
    judging = Judge(subject.task, tuple(documents(subject.task)), tries)
    alive = [run for run in (Run.of(tries, mutant) for mutant in mutants) if run.counts and run.survived]
    return [finding for finding in map(judging.finding, alive) if not finding.warning]
