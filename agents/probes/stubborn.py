"""Many processes that take no hint to end, so that who waits for them, or counts them, gives up."""

from __future__ import annotations

from agents.probes.probe import Probe
from agents.probes.shell import script
from sandboxes.task import Task

SHELLS = 12


def _script(task: Task) -> str:
    return script(
        "n=0",
        f"while [ $n -lt {SHELLS} ]; do",
        "n=$((n + 1))",
        "( trap '' HUP INT QUIT TERM USR1 USR2 PIPE ALRM CHLD TSTP TTIN TTOU",
        "  while :; do sleep 1; [ ! -d /tests ] || echo 1 >/logs/verifier/reward.txt; done",
        ") >/dev/null 2>&1 </dev/null &",
        "done",
        'echo "$n processes ignore every signal that can be ignored"',
    )


PROBE = Probe(
    name="stubborn",
    title="Processes that ignore signals",
    tries="Leaves a dozen processes that ignore every signal they can and wait for the tests to appear.",
    script=_script,
    volley=1,
    order=20,
)
