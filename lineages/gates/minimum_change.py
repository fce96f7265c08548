"""minimum_change: a child really differs from its parent: in what it asks, how it is done, how it is tested.

Comments, blank lines, the width of gaps, file names and `task.toml` are no change. Whether the new words are
a good requirement is for a judge to say; here they only have to be there.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator

from lineages.gates.base import Finding, Gate, Input, Outcome, Result, Subject, found
from lineages.mutation import by_file, by_token, by_unit
from lineages.similarity import normal
from sandboxes.task import INSTRUCTION, VERIFIER_DOCKERFILE, Task

LEAST_WORDS = 3
"""New words without which an instruction was only touched up, unless a number or a name is among them."""

_WORD = re.compile(r"[^\W_]+")
_TELLING = re.compile(r"`[^`]+`|\d|/\w")


def check(subject: Subject) -> Outcome:
    if subject.parent is None:
        return Outcome(Result.NOT_APPLICABLE, "There is no parent: a seed, or a task without its history.")
    return found(_findings(subject.parent, subject.task), _summary(subject.parent, subject.task))


def _findings(parent: Task, child: Task) -> Iterator[Finding]:
    yield from _instruction(parent, child)
    for folder, what in (("solution/", "is still done in the same way"), ("tests/", "is still tested alike")):
        if _contents(parent, folder) == _contents(child, folder):
            yield Finding(
                f"Nothing below {folder} differs from the parent but comments, gaps or file names: the task "
                f"{what}. Add what the new requirement needs, or drop it.",
                path=folder,
            )


def _instruction(parent: Task, child: Task) -> Iterator[Finding]:
    old, new = (_words(task.text(INSTRUCTION)) for task in (parent, child))
    added = new - old
    if not added:
        text = "asks for nothing that the parent's instruction does not ask for: no word of it is new."
        yield Finding(text, path=INSTRUCTION)
    elif added.total() < LEAST_WORDS and not _telling(parent, child):
        words = ", ".join(sorted(added))
        text = f"is only touched up: all that is new is {words!r}. State the new requirement."
        yield Finding(text, path=INSTRUCTION, line=_line(child, next(iter(added))))


def _telling(parent: Task, child: Task) -> bool:
    """Whether a new line names a number, a path or something quoted that the parent's text does not."""
    before = parent.text(INSTRUCTION)
    new = set(child.text(INSTRUCTION).splitlines()) - set(before.splitlines())
    pieces = {word.strip(".,;:()") for line in new for word in line.split() if _TELLING.search(word)}
    return any(piece not in before for piece in pieces)


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.casefold()))


def _line(task: Task, word: str) -> int:
    lines = task.text(INSTRUCTION).casefold().splitlines()
    return next((number for number, line in enumerate(lines, start=1) if word in line), 0)


def _contents(task: Task, folder: str) -> Counter[str]:
    """What the files say, whatever they are called."""
    return Counter(
        normal(path, file)
        for path, file in task.files.items()
        if path.startswith(folder) and path != VERIFIER_DOCKERFILE
    )


def _summary(parent: Task, child: Task) -> str:
    before, after = (_identities(task) for task in (parent, child))
    words = by_token(parent.text(INSTRUCTION), child.text(INSTRUCTION))
    files, units = by_file(before, after), by_unit(before, after)
    return (
        f"It differs from its parent: +{words.added} −{words.removed} words of the instruction, "
        f"{files.added + files.changed + files.removed} files of the environment, "
        f"{units.added + units.changed + units.removed} units of the tests."
    )


def _identities(task: Task) -> dict[str, str]:
    return {
        path: f"{file.mode:o} {file.link or ''} {hashlib.sha256(file.data).hexdigest()}"
        for path, file in task.files.items()
    }


GATE = Gate(
    name="minimum_change",
    version=1,
    title="The child differs from its parent",
    failing="The child asks for nothing new: it is its parent again, in other words at most.",
    cost="reads files",
    inputs=frozenset({Input.ENVIRONMENT, Input.SOLUTION, Input.TESTS, Input.INSTRUCTION, Input.PARENT}),
    check=check,
    after=("static",),
    profiles=frozenset({"fast", "standard", "strict"}),
)
