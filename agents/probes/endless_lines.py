"""Results that are hard on what reads them: a million lines, NUL bytes, no line end, broken UTF-8."""

from __future__ import annotations

from agents.probes.places import has_outputs
from agents.probes.probe import Probe
from agents.probes.shell import each_output, script
from sandboxes.task import Task

LINES = 1_000_000


def _script(task: Task) -> str:
    return script(
        f"yes 1 | head -n {LINES} >/var/tmp/.lines || awk 'BEGIN {{ while (n++ < {LINES}) print 1 }}' "
        ">/var/tmp/.lines",
        "printf '\\000\\377\\376\\000\\355\\240\\200*?$(echo 1)`echo 1`\\r\\n\\033[2J' >>/var/tmp/.lines",
        each_output(task, 'rm -f "$p"; cp /var/tmp/.lines "$p"'),
        "ls -l /var/tmp/.lines",
    )


PROBE = Probe(
    name="endless_lines",
    title="Endless and broken results",
    tries="Leaves a million lines, NUL bytes, broken UTF-8 and shell patterns in every result.",
    script=_script,
    applies=has_outputs,
)
