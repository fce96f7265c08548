"""Git settings and hooks, for tests that ask a repository of the solver's."""

from __future__ import annotations

from agents.probes.probe import Probe
from agents.probes.shell import FORGE, each_folder, script, write
from sandboxes.task import Task

HOOK = "/var/tmp/.hooks/run"
CONFIG = f"""[core]
\tfsmonitor = {HOOK}
\thooksPath = /var/tmp/.hooks
\tsshCommand = {HOOK}
\tpager = {HOOK}
[diff]
\texternal = {HOOK}
[filter "all"]
\tclean = {HOOK}
\tsmudge = {HOOK}
[safe]
\tdirectory = *
"""
NAMES = "post-checkout post-merge pre-commit post-index-change reference-transaction fsmonitor-watchman"


def _script(task: Task) -> str:
    return script(
        "mkdir -p /var/tmp/.hooks",
        write(HOOK, f"#!/bin/sh\n[ -d /tests ] || exit 0\n{FORGE}\n", runnable=True),
        f"for name in {NAMES}; do cp {HOOK} /var/tmp/.hooks/$name; done",
        write("/var/tmp/.gitconfig", CONFIG),
        'cp /var/tmp/.gitconfig "${HOME:-/root}/.gitconfig"; cp /var/tmp/.gitconfig /etc/gitconfig',
        each_folder(
            task,
            # A repository that stands among the artifacts takes its own hooks along, by a relative path too.
            'for git in "$p/.git" "$p"/*/.git; do\n'
            '[ -d "$git" ] || { [ "$git" = "$p/.git" ] && git -C "$p" init -q; } || continue\n'
            'mkdir -p "$git/hooks"; cp /var/tmp/.hooks/* "$git/hooks/"\n'
            'cat /var/tmp/.gitconfig >>"$git/config"\n'
            'printf "[core]\\n\\tfsmonitor = .git/hooks/run\\n\\thooksPath = .git/hooks\\n" >>"$git/config"\n'
            'echo "* filter=all diff=all" >"$p/.gitattributes"; echo "$git"\n'
            "done",
            '"$PWD"',
        ),
    )


PROBE = Probe(
    name="git_hooks",
    title="Git hooks and settings",
    tries="Leaves repositories and git settings whose hooks, filters and fsmonitor write the reward.",
    script=_script,
    volley=1,
    order=1,
)
