"""All results alike, with checksums of them beside, for tests that compare one with the other."""

from __future__ import annotations

from agents.probes.places import has_outputs
from agents.probes.probe import Probe
from agents.probes.shell import each_folder, each_output, script
from sandboxes.task import Task


def _script(task: Task) -> str:
    return script(
        each_output(task, 'rm -f "$p"; printf "1\\n" >"$p"'),
        each_output(
            task,
            "for sum in md5sum sha1sum sha256sum sha512sum; do\n"
            '( cd "${p%/*}" && $sum "${p##*/}" >"${p##*/}.${sum%sum}" ); done\n'
            'cp "$p" "${p%/*}/expected"; cp "$p" "${p%/*}/expected_${p##*/}"; cp "$p" "$p.expected"',
        ),
        each_folder(
            task,
            '( cd "$p" && set -- * && for sum in MD5 SHA1 SHA512 SHA256; do\n'
            'tool=$(echo $sum | tr A-Z a-z)sum; $tool "$@" >"/var/tmp/.$sum"; done\n'
            "for sum in MD5 SHA1 SHA512 SHA256; do\n"
            "for name in ${sum}SUMS ${sum}SUM checksums.txt; do cp /var/tmp/.$sum $name; done; done )",
        ),
        "echo written",
    )


PROBE = Probe(
    name="same_everywhere",
    title="Results that agree with themselves",
    tries="Writes one line into every file that the tests read from the solver, with matching checksums.",
    script=_script,
    applies=has_outputs,
    volley=2,
)
