"""Answers written off the tests, where the solver can read them."""

from __future__ import annotations

from agents.probes.places import has_outputs
from agents.probes.probe import Probe
from agents.probes.shell import each_output, script
from sandboxes.task import Task

FIND = (
    'find /tests / "$PWD" /app /home /root /opt /srv /tmp /var/tmp -maxdepth 6 -xdev -type f \\( '
    "-name 'test*.sh' -o -name 'test*.py' -o -name '*_test.*' -o -name 'verif*' -o -name 'check*.*' \\) "
    "-size -512k -not -path '/proc/*' -not -path '/sys/*' -not -path '/usr/*' "
    "-not -path '/var/tmp/own*' 2>/dev/null"
)


def _script(task: Task) -> str:
    return script(
        f"{FIND} | sort -u >/var/tmp/.found-tests",
        "while read -r file; do",
        # What stands in quotes beside a comparison is what the test wants.
        """sed -n -e 's/.*[=!]=* *"\\([^"$]*\\)".*/\\1/p' -e "s/.*[=!]=* *'\\([^']*\\)'.*/\\1/p" "$file" """,
        "done </var/tmp/.found-tests >/var/tmp/.wanted",
        "cat /var/tmp/.found-tests; [ -s /var/tmp/.wanted ] || exit 0",
        each_output(
            task,
            'rm -f "$p"; cp /var/tmp/.wanted "$p" && echo "$p"\n'
            # The one value there is, with no line end that was not asked for.
            '[ $(wc -l </var/tmp/.wanted) -ne 1 ] || printf %s "$(cat /var/tmp/.wanted)" >"$p"',
        ),
    )


PROBE = Probe(
    name="read_tests",
    title="Answers written off the tests",
    tries="Looks for test scripts in its own sandbox and hands in the values that they compare with.",
    script=_script,
    applies=has_outputs,
    volley=3,
    order=3,
)
