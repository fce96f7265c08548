"""Results that are links to what the tests compare them with. Only a shared sandbox has both."""

from __future__ import annotations

from pathlib import PurePosixPath

from agents.probes.places import has_outputs, outputs
from agents.probes.probe import Probe
from agents.probes.shell import script, words
from sandboxes.task import TEST, Task


def _script(task: Task) -> str:
    lines = []
    for path in outputs(task):
        name, folder = words([path]), str(PurePosixPath(path).parent)
        target = f"/{_expected(task, path)}"
        lines += [
            f"mkdir -p {words([folder])}; rm -f {name}; ln -s {words([target])} {name}",
            f"ls -l {name}",
        ]
    return script(*lines)


def _expected(task: Task, path: str) -> str:
    """The file of the tests that is most like this result by its name."""
    name = PurePosixPath(path).name
    return min(
        (each for each in task.files if each.startswith("tests/")),
        key=lambda each: (
            PurePosixPath(each).name != name,
            name not in PurePosixPath(each).name,
            "expected" not in each,
            PurePosixPath(each).suffix != PurePosixPath(path).suffix,
            each,
        ),
        default=TEST,
    )


PROBE = Probe(
    name="linked_tests",
    title="Results that link to the tests",
    tries="Leaves links as results, to the tests' own file of that name or to what is expected.",
    script=_script,
    applies=lambda task: has_outputs(task) and not task.separate,
    volley=2,
    order=5,
)
