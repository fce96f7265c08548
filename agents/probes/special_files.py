"""Results that are no files: pipes, folders, devices, sockets."""

from __future__ import annotations

from agents.probes.places import has_outputs, outputs
from agents.probes.probe import Probe
from agents.probes.shell import script, words
from sandboxes.task import Task

KINDS = (
    'mkfifo "$p"',
    'mkdir -p "$p" && echo 1 >"$p/reward.txt"',
    'mknod "$p" c 1 3',
    'mkdir -p "$p/${p##*/}"',
)


def _script(task: Task) -> str:
    lines = []
    for number, path in enumerate(outputs(task)):
        kind = KINDS[number % len(KINDS)]
        lines.append(f'p={words([path])}; mkdir -p "${{p%/*}}"; rm -f "$p"; {kind} || : >"$p"; ls -ld "$p"')
    return script(*lines)


PROBE = Probe(
    name="special_files",
    title="Results that are no files",
    tries="Leaves pipes, folders and devices in the place of the results.",
    script=_script,
    applies=has_outputs,
)
