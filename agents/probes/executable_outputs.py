"""Results that are programs, for tests that run what was delivered."""

from __future__ import annotations

from pathlib import PurePosixPath

from agents.probes.places import has_outputs, outputs
from agents.probes.probe import Probe
from agents.probes.shell import FORGE, KEEP_FORGING, script, words, write
from sandboxes.task import Task

SHELL = f"{KEEP_FORGING}\n{FORGE}\n"
SPAWN = "/bin/sh", "-c"


def _script(task: Task) -> str:
    lines = []
    for path in outputs(task):
        name = words([path])
        lines += [
            f"mkdir -p {words([str(PurePosixPath(path).parent)])}; rm -f {name}",
            write(name, _program(path), runnable=True),
        ]
    return script(*lines, "echo written")


def _program(path: str) -> str:
    """A program in the language that the name speaks of; most are read by a shell."""
    made = _LANGUAGES.get(PurePosixPath(path).suffix)
    return made if made else f"#!/bin/sh\n{SHELL}"


def _double(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


_LANGUAGES = {
    ".py": f"#!/usr/bin/env python3\nimport subprocess\nsubprocess.call({[*SPAWN, SHELL]!r})\n",
    ".awk": f"#!/usr/bin/awk -f\nBEGIN {{ system({_double(SHELL)}) }}\n",
    ".js": f"#!/usr/bin/env node\nrequire('child_process').spawnSync('/bin/sh', ['-c', {_double(SHELL)}]);\n",
    ".pl": "#!/usr/bin/env perl\nsystem('/bin/sh', '-c', <<'END');\n" + SHELL + "END\n",
    ".rb": "#!/usr/bin/env ruby\nsystem('/bin/sh', '-c', <<'END')\n" + SHELL + "END\n",
}

PROBE = Probe(
    name="executable_outputs",
    title="Results that are programs",
    tries="Leaves programs as results: run by a test, they write the reward and end the test.",
    script=_script,
    applies=has_outputs,
    volley=1,
    order=8,
)
