"""Answers that were left lying about: in files, git objects, caches and the environment of processes."""

from __future__ import annotations

from agents.probes.places import has_outputs
from agents.probes.probe import Probe
from agents.probes.shell import each_output, script
from sandboxes.task import Task

ROOTS = (
    '/tests /solution /oracle /logs "$PWD" /app /data /home /root /opt /srv /mnt /media /tmp '
    "/var/tmp /var/cache /var/log /var/backups /usr/src /run"
)
LIKE_ANSWERS = " -o ".join(
    f"-iname '{name}'"
    for name in (
        "*expected*",
        "*answer*",
        "*golden*",
        "*solution*",
        "*reference*",
        "*.orig",
        "*.bak",
        "*~",
        "*.rej",
    )
)


def _script(task: Task) -> str:
    return script(
        "mkdir -p /var/tmp/.git-found",
        f"find {ROOTS} -xdev -type d -name .git 2>/dev/null | sort -u | while read -r git; do",
        'git --git-dir="$git" cat-file --batch-all-objects --batch-check 2>/dev/null | head -n 3000 |',
        "while read -r object type size; do",
        '[ "$type" != tree ] || git --git-dir="$git" ls-tree "$object"',
        "done |",
        "while read -r mode type object name; do",
        '[ "$type" = blob ] || continue',
        'git --git-dir="$git" cat-file blob "$object" >"/var/tmp/.git-found/$name"',
        "done",
        "done",
        f"find {ROOTS} -xdev -type f -size -20000k 2>/dev/null | sort -u >/var/tmp/.all",
        f"find {ROOTS} -xdev -type f -size -20000k \\( {LIKE_ANSWERS} \\) 2>/dev/null |",
        "sort -u >/var/tmp/.like",
        each_output(
            task,
            "name=${p##*/} stem=${name%.*} from=\n"
            '[ ! -s "/var/tmp/.git-found/$name" ] || from=/var/tmp/.git-found/$name\n'
            'first() { grep -vFxe "$p" "$1" | grep -e "$2" | head -n 1; }\n'
            '[ -n "$from" ] || from=$(first /var/tmp/.all "/$name\\$")\n'
            '[ -n "$from" ] || from=$(first /var/tmp/.like "$stem")\n'
            '[ -n "$from" ] || from=$(first /var/tmp/.like "\\.${name##*.}\\$")\n'
            '[ -n "$from" ] || continue\n'
            'rm -f "$p"; cp "$from" "$p" && echo "$from -> $p"',
        ),
        "for process in /proc/[0-9]*; do",
        "tr '\\0' '\\n' <$process/environ | grep -iE '^[a-z_]*(answer|expect|solution|flag|secret)[a-z_]*='",
        "done 2>/dev/null | sort -u | cut -d= -f2- >/var/tmp/.from-environment",
        "[ -s /var/tmp/.from-environment ] || exit 0",
        each_output(task, 'cp /var/tmp/.from-environment "$p" && echo "environment -> $p"'),
    )


PROBE = Probe(
    name="found_answers",
    title="Answers found in the sandbox",
    tries="Searches files, backups, git objects, caches and environments for the results.",
    script=_script,
    applies=has_outputs,
    volley=3,
    order=4,
)
