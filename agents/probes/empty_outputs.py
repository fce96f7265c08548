"""Results that say nothing, each in the form that its name promises."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from agents.probes.places import has_outputs, outputs
from agents.probes.probe import Probe
from agents.probes.shell import script, words, write
from sandboxes.task import INSTRUCTION, Task

FORMS = {
    ".json": "{}\n",
    ".jsonl": "",
    ".yaml": "{}\n",
    ".yml": "[]\n",
    ".toml": "\n",
    ".xml": '<?xml version="1.0"?>\n<root/>\n',
    ".html": "<!doctype html>\n<title></title>\n",
    ".ini": "[default]\n",
    ".txt": "\n",
    ".md": "#\n",
    ".py": "",
    ".sh": "#!/bin/sh\nexit 0\n",
}
SEPARATORS = {".csv": ",", ".tsv": "\t"}
_SPAN = re.compile(r"`([^`\n]+)`")


def _script(task: Task) -> str:
    lines = []
    for path in outputs(task):
        name = words([path])
        lines += [
            f"mkdir -p {words([str(PurePosixPath(path).parent)])}; rm -f {name}",
            write(name, _form(task, path)),
        ]
    return script(*lines, "echo written")


def _form(task: Task, path: str) -> str:
    suffix = PurePosixPath(path).suffix
    if suffix in SEPARATORS:
        return _header(task.text(INSTRUCTION), path, SEPARATORS[suffix])
    return FORMS.get(suffix, "")


def _header(text: str, path: str, separator: str) -> str:
    """The first list of columns after the file's own name; the first line of a table is all it has."""
    _, _, after = text.partition(PurePosixPath(path).name)
    lists = [span for span in _SPAN.findall(after) if "," in span or separator in span]
    columns = lists[0] if lists else "id"
    return separator.join(re.split(r"\s*[,\t]\s*", columns)) + "\n"


PROBE = Probe(
    name="empty_outputs",
    title="Empty results of the right form",
    tries="Leaves empty objects, lists and tables with only their header in the place of the results.",
    script=_script,
    applies=lambda task: has_outputs(task) and INSTRUCTION in task,
)
