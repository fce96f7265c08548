"""What an edit may work on: the objects of a task, and how often the lineage has touched them."""

from __future__ import annotations

import posixpath
from collections import Counter

from agents.composition import HELD, PRISTINE, SEED_STEP, STEPS
from agents.offline.operator import Subject
from agents.offline.ownership import may_restore
from agents.offline.reading import Reading, desk, read_task
from agents.plan import Composition, Sequence, Use
from sandboxes.dockerfile import runs
from sandboxes.task import DOCKERFILE, INSTRUCTION, Task

MAX_DEPTH = 3
MAX_USES = 2
MAX_SIBLINGS = 12
REPLACEABLE = frozenset({"implicit", "owned"})


def subjects(task: Task, sequence: Sequence, composition: Composition) -> list[Subject]:
    """Inputs that can be taken away, then outputs that a step can follow, each in a stable order."""
    reading = read_task(task)
    inputs = _inputs(task, reading, sequence, composition)
    return [*inputs, *_outputs(task, reading)]


def _inputs(task: Task, reading: Reading, sequence: Sequence, composition: Composition) -> list[Subject]:
    """Delivered files that a replaceable pair depends on and that nothing else touches."""
    pairs = {pair.key: pair for pair in sequence.pairs if pair.origin in REPLACEABLE}
    keys = {pair.target: pair.key for pair in pairs.values() if not pair.key.startswith("len:")}
    keys |= {path: use.key for use in composition.uses for path in use.needed}
    built = "\n".join(runs(task.text(DOCKERFILE))) if DOCKERFILE in task else ""
    written = frozenset(posixpath.dirname(path) for path in reading.outputs)
    contents = Counter(delivery.file.data for delivery in reading.deliveries.values())
    found = []
    for path, delivery in sorted(reading.deliveries.items()):
        busy = path in reading.touched or path.rsplit("/", 1)[-1] in built or delivery.file.executable
        # What stands in the image a second time would not be taken away by taking one away.
        busy = busy or contents[delivery.file.data] > 1
        # A requirement names its object, and an instruction must not name these places.
        busy = busy or any(place in path for place in ("tests/", "solution/"))
        if keys.get(path) in pairs and not busy and _restorable(task, path, written, reading.workdir):
            depth = depth_of(path, composition)
            found.append(Subject(path, keys[path], data=delivery.file.data, depth=depth))
    return found


def _restorable(task: Task, path: str, written: frozenset[str], workdir: str) -> bool:
    return may_restore(task.text(DOCKERFILE), task.under("environment"), path, written, desk(workdir))


def _outputs(task: Task, reading: Reading) -> list[Subject]:
    """Kept files that the instruction and a test name; others are the solution's own affair.

    A step that followed what no test judges could be done for any content of it, an easy one too. What
    obstacles restore is no output either.
    """
    instruction = task.text(INSTRUCTION) if INSTRUCTION in task else ""
    outputs = [
        path
        for path, block in reading.outputs.items()
        if (name := path.rsplit("/", 1)[-1]) in instruction and not _restores(block) and _judged(name, task)
    ]
    return [
        Subject(
            path, "", output=True, siblings=tuple(other for other in outputs if other != path)[:MAX_SIBLINGS]
        )
        for path in outputs
    ]


def _judged(name: str, task: Task) -> bool:
    """Whether a test speaks of a file of this name, or has one to compare it with."""
    tests = {
        path: file
        for path, file in task.files.items()
        if path.startswith("tests/") and not path.startswith((f"{HELD}/", f"{PRISTINE}/"))
    }
    return any(path.endswith(f"/{name}") or name.encode() in file.data for path, file in tests.items())


def _restores(block: str) -> bool:
    return block.startswith(f"{STEPS}/") and block < SEED_STEP


def depth_of(path: str, composition: Composition) -> int:
    """How many obstacles already stand before what a file is part of."""
    depth = 0
    use = _use_of(path, composition)
    while use is not None:
        depth += 1
        use = _use_of(use.subject, composition)
    return depth


def _use_of(path: str, composition: Composition) -> Use | None:
    """The use of an operator that delivered a file."""
    return next((use for use in composition.uses if path in use.needed), None)
