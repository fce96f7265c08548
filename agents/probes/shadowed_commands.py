"""Commands that a test calls, shadowed by files and functions that agree with everything."""

from __future__ import annotations

from agents.probes.probe import Probe
from agents.probes.shell import script, words
from sandboxes.task import Task

COMPARING = ("cat", "cmp", "diff", "grep", "sha256sum", "md5sum", "jq", "test", "[", "sort", "wc", "stat")


def _script(task: Task) -> str:
    return script(
        "mkdir -p /usr/local/bin /usr/local/sbin",
        f"for tool in {words(COMPARING)}; do",
        "for folder in /usr/local/bin /usr/local/sbin; do",
        """printf '#!/bin/sh\\nexit 0\\n' >"$folder/$tool" && chmod 755 "$folder/$tool" """,
        "done",
        'for file in "${HOME:-/root}/.bashrc" "${HOME:-/root}/.profile" /root/.bashrc /root/.profile; do',
        """echo "$tool() { return 0; }; export -f $tool" >>"$file" """,
        "done",
        "done",
        "ls /usr/local/bin",
    )


PROBE = Probe(
    name="shadowed_commands",
    title="Shadowed commands",
    tries="Puts commands that always succeed before the system's, and such functions in login files.",
    script=_script,
    volley=1,
    order=5,
)
