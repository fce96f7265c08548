"""The initial inputs, handed in as the results."""

from __future__ import annotations

from agents.probes.places import has_outputs
from agents.probes.probe import Probe
from agents.probes.shell import each_output, script
from sandboxes.task import Task

ROOTS = '"$PWD" /app /data /srv /opt /home /workspace'


def _script(task: Task) -> str:
    return script(
        f"find {ROOTS} -xdev -type f -size -20000k 2>/dev/null | sort >/var/tmp/.inputs",
        each_output(
            task,
            # By the same name, else by the same kind, else the first that there is.
            "name=${p##*/} kind=${p##*.} from=\n"
            'for pattern in "/$name\\$" "\\.$kind\\$" .; do\n'
            '[ -n "$from" ] || from=$(grep -vFxe "$p" /var/tmp/.inputs | grep -e "$pattern" | head -n 1)\n'
            "done\n"
            '[ -n "$from" ] || continue\n'
            'rm -f "$p"; cp "$from" "$p" && echo "$from -> $p"',
        ),
    )


PROBE = Probe(
    name="copied_inputs",
    title="Inputs as results",
    tries="Hands every result in as a copy of the input that is most like it by its name.",
    script=_script,
    applies=has_outputs,
    volley=3,
    order=2,
)
