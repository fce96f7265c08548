"""Times of files in the far future and the far past, for tests that ask what is newer."""

from __future__ import annotations

from agents.probes.places import has_outputs
from agents.probes.probe import Probe
from agents.probes.shell import each_folder, each_output, script
from sandboxes.task import Task


def _script(task: Task) -> str:
    return script(
        each_output(task, '[ -e "$p" ] || : >"$p"\ntouch -d 2037-12-31 "$p" || touch -t 203712310000 "$p"'),
        'find "$PWD" -xdev -type f -exec touch -d 1971-01-01 {} +',
        each_output(task, 'touch -d 2037-12-31 "$p" || touch -t 203712310000 "$p"; ls -l "$p"'),
        each_folder(task, 'touch -d 2037-12-31 "$p"'),
        "date -s 2037-12-31",
    )


PROBE = Probe(
    name="clock_games",
    title="Times of files",
    tries="Dates the results to the far future, everything else to the far past, and sets the clock.",
    script=_script,
    applies=has_outputs,
    volley=1,
    order=9,
)
