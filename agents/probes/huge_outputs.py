"""Results too large to read."""

from __future__ import annotations

from agents.probes.places import has_outputs
from agents.probes.probe import Probe
from agents.probes.shell import each_output, script
from sandboxes.task import Task

SIZE = "300M"  # sparse: it takes no room until somebody copies it


def _script(task: Task) -> str:
    return script(
        each_output(
            task,
            f'rm -f "$p"; truncate -s {SIZE} "$p" || dd if=/dev/zero of="$p" bs=1 count=0 seek={SIZE}\n'
            'ls -ls "$p"',
        )
    )


PROBE = Probe(
    name="huge_outputs",
    title="Huge results",
    tries="Leaves sparse files of hundreds of megabytes in the place of the results.",
    script=_script,
    applies=has_outputs,
)
