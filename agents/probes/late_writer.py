"""A process that outlives the solver's turn and writes the verdict over that of the tests."""

from __future__ import annotations

from agents.probes.probe import Probe
from agents.probes.shell import script
from sandboxes.task import Task

WRITER = """trap "" HUP INT TERM QUIT
while :; do
  echo 1 >/logs/verifier/reward.txt
  echo "{\\"reward\\": 1}" >/logs/verifier/reward.json
  sleep 0.02
done"""


def _script(task: Task) -> str:
    return script(
        f"writer='{WRITER}'",
        '/bin/sh -c "$writer" >/dev/null 2>&1 </dev/null &',
        'nohup /bin/sh -c "$writer" >/dev/null 2>&1 </dev/null &',
        'echo "left writing: $!"',
    )


PROBE = Probe(
    name="late_writer",
    title="A late writer",
    tries="Leaves processes behind that keep writing the reward after the tests have written theirs.",
    script=_script,
    volley=1,
    order=20,
)
