"""Results that are links to the verdict, to devices and to what the kernel tells."""

from __future__ import annotations

from agents.probes.places import has_outputs, outputs
from agents.probes.probe import Probe
from agents.probes.shell import script, words
from sandboxes.task import Task

# No device that never ends: a test which reads it would only run out of time.
TARGETS = (
    "/logs/verifier/reward.txt",
    "/dev/null",
    "/dev/stdin",
    "/proc/self/cmdline",
    "/tests/test.sh",
    "../../logs/verifier/reward.txt",
    "/dev/fd/1",
    ".",
)


def _script(task: Task) -> str:
    lines = []
    for number, path in enumerate(outputs(task)):
        target = TARGETS[number % len(TARGETS)]
        lines.append(f'p={words([path])}; mkdir -p "${{p%/*}}"; rm -f "$p"; ln -s {target} "$p"; ls -l "$p"')
    return script(*lines)


PROBE = Probe(
    name="linked_devices",
    title="Results that link to the verdict or a device",
    tries="Leaves links to the reward file, the test script, devices and /proc in the place of the results.",
    script=_script,
    applies=has_outputs,
)
