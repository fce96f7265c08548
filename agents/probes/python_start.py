"""What Python runs when it starts: sitecustomize, usercustomize and .pth files in its own folders."""

from __future__ import annotations

from agents.probes.probe import Probe
from agents.probes.python import AT_EXIT, LINE
from agents.probes.shell import script, write
from sandboxes.task import Task

WHERE = (
    "import site, sys; print(chr(10).join([*site.getsitepackages(), site.getusersitepackages(), "
    "*(p for p in sys.path if p and not p.endswith('.zip'))]))"
)


def _script(task: Task) -> str:
    return script(
        'for python in python3 python /usr/local/bin/python3 /usr/bin/python3 "$HOME/.venv/bin/python"; do',
        f'"$python" -c "{WHERE}"',
        "done >/var/tmp/.folders 2>/dev/null",
        "for folder in /usr/lib/python3/dist-packages /usr/local/lib/python3*/*-packages "
        '"$HOME"/.local/lib/python3*/site-packages; do [ ! -d "$folder" ] || echo "$folder"; done '
        ">>/var/tmp/.folders",
        "while read -r folder; do",
        'mkdir -p "$folder" || continue',
        write('"$folder/sitecustomize.py"', AT_EXIT),
        write('"$folder/usercustomize.py"', AT_EXIT),
        write('"$folder/zz-start.pth"', LINE),
        'echo "$folder"',
        "done </var/tmp/.folders",
    )


PROBE = Probe(
    name="python_start",
    title="Python's own start-up files",
    tries="Puts sitecustomize.py, usercustomize.py and .pth files into the folders from which Python starts.",
    script=_script,
    volley=1,
    order=4,
    needs_separate=True,
)
