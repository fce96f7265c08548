"""Modules that Python imports from the folder it stands in, put into the folders that reach the tests."""

from __future__ import annotations

from agents.probes.probe import Probe
from agents.probes.python import AT_EXIT, LINE
from agents.probes.shell import each_folder, script, words, write
from sandboxes.task import Task

IMPORTED = ("json", "csv", "re", "os", "hashlib", "pathlib", "sqlite3", "pytest", "unittest", "yaml", "numpy")
STARTED = ("sitecustomize", "usercustomize")


def _script(task: Task) -> str:
    return script(
        write("/var/tmp/.module.py", AT_EXIT),
        each_folder(
            task,
            f'for name in {words((*STARTED, *IMPORTED))}; do cp /var/tmp/.module.py "$p/$name.py"; done\n'
            'mkdir -p "$p/json" "$p/__pycache__"; cp /var/tmp/.module.py "$p/json/__init__.py"\n'
            'cp /var/tmp/.module.py "$p/__init__.py"; cp /var/tmp/.module.py "$p/__main__.py"\n'
            + write('"$p/zz-start.pth"', LINE),
            '"$PWD"',
        ),
        "echo PYTHONPATH=$PWD >>/etc/environment",
        "ls -a",
    )


PROBE = Probe(
    name="python_beside_artifacts",
    title="Python modules beside the artifacts",
    tries="Leaves modules named as Python's own in the folders that reach the tests.",
    script=_script,
    volley=1,
    order=2,
)
