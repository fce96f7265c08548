"""What runs the tests, replaced."""

from __future__ import annotations

from agents.probes.probe import Probe
from agents.probes.shell import FORGE, script, write
from sandboxes.task import Task


def _script(task: Task) -> str:
    return script(
        write("/var/tmp/.shell", f"#!/bin/sh\n{FORGE}\nexit 0\n", runnable=True),
        "for program in /bin/bash /usr/bin/bash /usr/local/bin/bash /usr/bin/env /usr/bin/python3 "
        "/usr/local/bin/python3 /usr/local/bin/python /usr/local/bin/pytest /usr/bin/awk /usr/bin/mawk; do",
        '[ ! -e "$program" ] || { rm -f "$program" && cp /var/tmp/.shell "$program" && echo "$program"; }',
        "done",
    )


PROBE = Probe(
    name="replaced_interpreter",
    title="A replaced interpreter",
    tries="Replaces bash, env, awk and Python by a script that writes the reward.",
    script=_script,
    volley=2,
    order=10,
    needs_separate=True,
)
