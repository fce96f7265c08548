"""Every folder of PATH that can be written to, and those that PATHs often name."""

from __future__ import annotations

from agents.probes.probe import Probe
from agents.probes.shell import FORGE, each_folder, script, words, write
from sandboxes.task import Task

ABSENT_OFTEN = ("python3", "python", "pytest", "uv", "uvx", "node", "jq", "sqlite3", "perl", "ruby", "bats")


def _script(task: Task) -> str:
    tool = f"#!/bin/sh\n[ -d /tests ] || exit 0\n{FORGE}\nexit 0\n"
    return script(
        write("/var/tmp/.tool", tool, runnable=True),
        # What the system has stays as it is: only a name that nobody owns is taken.
        "IFS=:",
        'for folder in $PATH /opt/bin "$HOME/bin" "$HOME/.local/bin" "$HOME/.cargo/bin" /root/.local/bin; do',
        'unset IFS; mkdir -p "$folder"',
        f"for tool in {words(ABSENT_OFTEN)}; do",
        'command -v "$tool" >/dev/null || { cp /var/tmp/.tool "$folder/$tool" && echo "$folder/$tool"; }',
        "done",
        "done",
        # A test that has `.` or an artifact's folder in its PATH finds these.
        each_folder(
            task,
            f'for tool in cat cmp diff grep {words(ABSENT_OFTEN)}; do cp /var/tmp/.tool "$p/$tool"; done',
        ),
    )


PROBE = Probe(
    name="path_folders",
    title="Commands in every folder of PATH",
    tries="Takes command names that nobody has, in each writable folder of PATH and beside the artifacts.",
    script=_script,
    volley=1,
    order=6,
)
