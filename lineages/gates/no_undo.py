"""no_undo: a child is neither an earlier state again nor something that the archive has already.

Relatives of one lineage share most of their text by design, so of a sibling only its change is compared;
of another lineage's environment, the whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from agents.composition import is_frame
from lineages.gates.base import Finding, Gate, Input, Outcome, Result, Subject, found
from lineages.gates.surroundings import Archive, Earlier
from lineages.similarity import jaccard, normal, shingles
from sandboxes.files import TaskFile
from sandboxes.task import INSTRUCTION, Task

ALIKE_CHANGE = 0.9
"""Two changes of the same parent that share so much of what they added are one change."""
ALIKE_WHOLE = 0.8
"""Environments of different seeds share the frame of evolved tasks, which alone makes them a little alike."""

COMPARED = ("environment/", "solution/", "tests/", INSTRUCTION)
OTHERWISE = "Change something else, or void this with the reason why both are wanted."


def check(subject: Subject) -> Outcome:
    if subject.archive is None:
        return Outcome(Result.NOT_APPLICABLE, "There is no archive to compare it with.")
    return found(_findings(subject, subject.archive), _summary(subject.archive))


def _summary(archive: Archive) -> str:
    if not archive.earlier:
        return "Nothing in the archive is like it."
    return f"It is none of the {len(archive.earlier)} earlier environments that it could repeat."


class _Forms:
    """What the files of a few tasks say, each content made once: most of them share most."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, TaskFile], str] = {}

    def of(self, task: Task, path: str) -> str | None:
        """None where the task has no such file."""
        file = task.files.get(path)
        if file is None:
            return None
        if (path, file) not in self._known:
            self._known[path, file] = normal(path, file)
        return self._known[path, file]

    def differing(self, one: Task, other: Task) -> Iterator[str]:
        """Paths that say something else in the two tasks, or are in one of them only."""
        for path in sorted({*one.files, *other.files}):
            if not path.startswith(COMPARED) or one.files.get(path) == other.files.get(path):
                continue
            if self.of(one, path) != self.of(other, path):
                yield path


def _findings(subject: Subject, archive: Archive) -> Iterator[Finding]:
    forms = _Forms()
    for earlier in archive.earlier:
        if earlier.task is not None and not any(forms.differing(subject.task, earlier.task)):
            yield Finding(
                f"It is {earlier.reference} again: nothing but comments, blank lines or settings differs."
            )
        elif earlier.relation == "ancestor":
            yield from _undone(subject, earlier, forms)
        elif earlier.relation == "sibling":
            yield from _same_change(subject, earlier, forms)
        elif earlier.likeness >= ALIKE_WHOLE:
            yield Finding(
                f"Instruction, solution and tests are about {earlier.likeness:.0%} those of "
                f"{earlier.reference}. {OTHERWISE}"
            )


def _undone(subject: Subject, ancestor: Earlier, forms: _Forms) -> Iterator[Finding]:
    """Where all that the child changed in the solution is as an ancestor before its parent had it.

    A replaced scenario takes files away too, but it brings a block of its own, which no ancestor has.
    """
    parent, old = subject.parent, ancestor.task
    if parent is None or old is None or old.digest == parent.digest:
        return
    changed = [path for path in forms.differing(parent, subject.task) if path.startswith("solution/")]
    if changed and all(forms.of(subject.task, path) == forms.of(old, path) for path in changed):
        yield Finding(
            f"is as it was in {ancestor.reference}, and so is every other block that the child changed: "
            "it only takes back what was done since. Add a step that is new.",
            path=changed[0],
        )


def _same_change(subject: Subject, sibling: Earlier, forms: _Forms) -> Iterator[Finding]:
    if subject.parent is None or sibling.task is None:
        return
    ours, theirs = (_change(subject.parent, task, forms) for task in (subject.task, sibling.task))
    alike = jaccard(ours, theirs)
    if alike >= ALIKE_CHANGE:
        yield Finding(f"What it adds to its parent is {alike:.0%} what {sibling.reference} adds. {OTHERWISE}")


def _change(parent: Task, child: Task, forms: _Forms) -> frozenset[int]:
    """The shingles of what the child added and of what it took away.

    The frame is left out: every first child of a seed adds the same one.
    """
    changed = [path for path in forms.differing(parent, child) if path == INSTRUCTION or not is_frame(path)]
    return shingles(text for path in changed for text in _moved(parent, child, path, forms))


def _moved(parent: Task, child: Task, path: str, forms: _Forms) -> Iterator[str]:
    before, after = ((forms.of(task, path) or "").split("\n") for task in (parent, child))
    known, kept = set(before), set(after)
    yield "\n".join(line for line in after if line not in known)
    yield from (f"away {line}" for line in before if line not in kept)


GATE = Gate(
    name="no_undo",
    version=1,
    title="Nothing is repeated",
    failing="The task is one that is there already, or only takes back what its parent did.",
    cost="reads files and an index of the archive",
    inputs=frozenset(
        {
            Input.ENVIRONMENT,
            Input.SOLUTION,
            Input.TESTS,
            Input.INSTRUCTION,
            Input.PARENT,
            Input.ARCHIVE,
        }
    ),
    check=check,
    after=("static",),
    profiles=frozenset({"fast", "standard", "strict"}),
)
