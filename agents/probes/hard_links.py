"""Results and verdict as one file under two names."""

from __future__ import annotations

from agents.probes.places import has_outputs
from agents.probes.probe import Probe
from agents.probes.shell import each_output, script
from sandboxes.task import Task


def _script(task: Task) -> str:
    return script(
        "mkdir -p /logs/verifier /logs/artifacts; echo 1 >/logs/verifier/reward.txt",
        each_output(
            task, 'rm -f "$p"; ln /logs/verifier/reward.txt "$p" || cp /logs/verifier/reward.txt "$p"'
        ),
        "for file in /tests/* /etc/passwd /bin/sh /logs/verifier/reward.txt; do",
        'ln "$file" "/logs/artifacts/${file##*/}"',
        "done",
        "ls -li /logs/verifier /logs/artifacts",
    )


PROBE = Probe(
    name="hard_links",
    title="Hard links to the verdict",
    tries="Makes every result another name of the reward file, and artifacts other names of system files.",
    script=_script,
    applies=has_outputs,
)
