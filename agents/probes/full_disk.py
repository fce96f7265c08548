"""Little room left for what the tests write. Bounded: some megabytes and some thousand files."""

from __future__ import annotations

from agents.probes.probe import Probe
from agents.probes.shell import each_folder, script
from sandboxes.task import Task

MEGABYTES = 32
FILES = 2000


def _script(task: Task) -> str:
    return script(
        "mkdir -p /logs/verifier /logs/artifacts/many; echo 1 >/logs/verifier/reward.txt",
        f"head -c {MEGABYTES}000000 /dev/zero >/logs/verifier/filling",
        f"head -c {MEGABYTES}000000 /dev/zero >/tmp/filling",
        f"n=0; while [ $n -lt {FILES} ]; do : >/logs/artifacts/many/$n; n=$((n + 1)); done",
        each_folder(task, f'head -c {MEGABYTES // 4}000000 /dev/zero >"$p/filling"'),
        "df /logs /tmp",
    )


PROBE = Probe(
    name="full_disk",
    title="No room left",
    tries="Fills the log folder, /tmp and the artifacts with bytes and with thousands of files.",
    script=_script,
)
