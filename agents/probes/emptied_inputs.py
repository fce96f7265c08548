"""Inputs that say nothing, for tests that work the right answer out from the solver's own files."""

from __future__ import annotations

from agents.probes.places import inputs, outputs
from agents.probes.probe import Probe
from agents.probes.shell import each_output, script, words
from sandboxes.task import Task


def _script(task: Task) -> str:
    return script(
        f"for name in {words(sorted(inputs(task)))}; do",
        'for root in "$PWD" /app /data /srv /opt /home /workspace /root; do',
        'find "$root" -xdev -type f -name "$name" -exec sh -c \': >"$1"\' sh {} \\;',
        "done",
        "done",
        each_output(task, 'rm -f "$p"; : >"$p"'),
        'find "$PWD" -xdev -type f -size 0',
    )


PROBE = Probe(
    name="emptied_inputs",
    title="Inputs that were emptied",
    tries="Empties every input and leaves empty results, so that nothing is the right answer to nothing.",
    script=_script,
    applies=lambda task: bool(outputs(task) and inputs(task)),
)
