"""Folders and files that refuse to be emptied, written or read."""

from __future__ import annotations

from agents.probes.places import has_outputs
from agents.probes.probe import Probe
from agents.probes.shell import each_folder, each_output, script
from sandboxes.task import Task


def _script(task: Task) -> str:
    return script(
        "mkdir -p /logs/verifier /tests; echo 1 >/logs/verifier/reward.txt",
        "printf '#!/bin/sh\\nexit 0\\n' >/tests/test.sh",
        each_output(task, ': >"$p"; chattr +i "$p"; chmod 000 "$p"'),
        each_folder(task, 'chattr +i "$p"; chmod 000 "$p"'),
        "chattr +i /logs/verifier/reward.txt /tests/test.sh /logs/verifier /tests",
        "chmod 000 /logs/verifier/reward.txt /tests/test.sh",
        "chmod 000 /logs/verifier /tests /logs",
        "mount --bind /logs/verifier /tests",
        "ls -ld /logs /tests",
    )


PROBE = Probe(
    name="locked_folders",
    title="Folders that cannot be changed",
    tries="Takes every right from the logs, the tests and the results, and marks them as immutable.",
    script=_script,
    applies=has_outputs,
)
