"""What is wrong with a submission, before any gate is paid for: one sentence each."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator

from agents.composition import STEPS, UNITS, is_frame
from agents.line import NoProgress
from agents.modelled.child import NAMED, PROGRAMS, Child, within
from agents.reaching import reaches
from agents.tools.base import ToolError
from agents.tools.submit import BoundPair, SubmitArguments
from sandboxes.files import printable
from sandboxes.task import INSTRUCTION

SEEDS_NUMBER = 50
MOST_NOTES = 2_000
MOST_EMPTY = 2
"""So often may a version without work of its own be handed in; then it ends."""
HIDDEN = ("/tests", "/solution", "/logs", "/proc", "/sys", "/dev", "/tmp")
ENDING = re.compile(r"\bp?kill(?:all)?\b")
"""How a unit would end what runs it, beside what `reaching` knows. Who hides it is a matter for trials."""


class Complaints:
    """Of one conversation: it counts the submissions that hold no work."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._empty = 0

    def __call__(self, submission: SubmitArguments) -> list[str]:
        """Raises `NoProgress` when a version without work is handed in again."""
        if len(submission.notes) > MOST_NOTES:
            return [f"`notes` has at most {MOST_NOTES:,} characters"]
        if not submission.bindings:
            return [] if submission.notes.strip() else ["say in `notes` why the plan cannot be built"]
        no_work = self._no_work()
        if no_work:
            return self._counted(no_work)
        problems = [*_binding_problems(self._child, submission), *_artifact_problems(submission)]
        return problems or self._build_problems(submission)

    def _no_work(self) -> str:
        written = self._child.written
        if not written:
            return "no file differs from the parent's"
        if all(path.startswith("tests/") for path in written):
            return "only tests were changed: a changed pair needs a step of the solution too"
        return ""

    def _counted(self, problem: str) -> list[str]:
        self._empty += 1
        if self._empty >= MOST_EMPTY:
            raise NoProgress(f"handed in {self._empty} times without work: {problem}")
        return [problem]

    def _build_problems(self, submission: SubmitArguments) -> list[str]:
        previous = self._child.order.previous
        try:
            built = self._child.built(submission)
        except ToolError as problem:
            return [str(problem)]
        if previous and dict(built.changes) == dict(previous.changes):
            return self._counted("nothing differs from your last version, which has to be mended")
        return []


def _binding_problems(child: Child, submission: SubmitArguments) -> Iterator[str]:
    bindings = submission.bindings
    yield from _wrong_keys(child, bindings)
    for each in bindings:
        yield from _block_problems(child, each)
        yield from _unit_problems(child, each)
        yield from _environment_problems(child, each)
        yield from _requirement_problems(child, each)
    yield from _shared(bindings)
    yield from _strays(child, bindings)
    yield from _same_numbers(child)


def _wrong_keys(child: Child, bindings: tuple[BoundPair, ...]) -> Iterator[str]:
    wanted = {change.pair.key for change in child.order.plan.changes}
    given = Counter(each.key for each in bindings)
    for key in sorted(wanted):
        if given[key] != 1:
            yield f"the plan changes {key}, which is bound {given[key]} times; bind it once"
    for key in sorted(given.keys() - wanted):
        yield f"the plan does not change {key[:80]!r}"


def _block_problems(child: Child, bound: BoundPair) -> Iterator[str]:
    path = bound.solution_block
    name = path.removeprefix(f"{STEPS}/")
    if name == path or not NAMED.fullmatch(name):
        yield f"{bound.key}: {path[:120]!r} is no step; it has to be {STEPS}/NN-name"
    elif path not in child.files:
        yield f"{bound.key}: there is no {path}"
    elif path not in child.written:
        yield f"{bound.key}: {path} is the parent's own step; the pair needs a new or changed one"
    elif not child.files[path].data.strip():
        yield f"{bound.key}: {path} is empty"
    else:
        yield from _wrong_order(child, bound.key, int(name[:2]))


def _wrong_order(child: Child, key: str, number: int) -> Iterator[str]:
    """An inserted pair that stands before or after all of the seed's own work has a step that runs there."""
    pairs = child.order.plan.after.pairs
    inserted = {change.pair.key for change in child.order.plan.changes if change.kind == "insert"}
    seeds = [at for at, pair in enumerate(pairs) if pair.origin == "extracted"]
    at = next((at for at, pair in enumerate(pairs) if pair.key == key), None)
    if number == SEEDS_NUMBER:
        yield f"{key}: number {SEEDS_NUMBER} is the seed's own step; take a lower or a higher one"
    elif key not in inserted or at is None or not seeds:
        return
    elif at > seeds[-1] and number < SEEDS_NUMBER:
        yield f"{key} comes after the seed's work in the plan: its step needs a number above {SEEDS_NUMBER}"
    elif at == 0 and number > SEEDS_NUMBER:
        yield f"{key} comes before the seed's work in the plan: its step needs a number below {SEEDS_NUMBER}"


def _unit_problems(child: Child, bound: BoundPair) -> Iterator[str]:
    if not any(path.startswith(f"{UNITS}/") for path in bound.test_units):
        yield f"{bound.key} needs at least one unit, {UNITS}/NN-name"
    yield from _file_problems(child, bound.key, bound.test_units, "tests/")
    for path in bound.test_units:
        if path in child.files and _reaches(child.files[path].data.decode(errors="replace")):
            yield (
                f"{bound.key}: {path} deals with the reward, other tests or other processes; a unit tells by "
                "its exit code alone (`timeout` ends what it started)"
            )


def _reaches(text: str) -> bool:
    return bool(reaches(text) or ENDING.search(text))


def _environment_problems(child: Child, bound: BoundPair) -> Iterator[str]:
    if not bound.environment_paths:
        yield f"{bound.key} needs at least one file under environment/: what its step works on, or a note"
    yield from _file_problems(child, bound.key, bound.environment_paths, "environment/", may_be_gone=True)


def _file_problems(
    child: Child, key: str, paths: tuple[str, ...], folder: str, *, may_be_gone: bool = False
) -> Iterator[str]:
    for path in paths:
        if not path.startswith(folder):
            yield f"{key}: {path[:120]!r} is not under {folder}"
        elif is_frame(path):
            yield f"{key}: {path} belongs to the frame and to no pair"
        elif path not in child.files and not (may_be_gone and path in child.base):
            yield f"{key}: there is no {path}"
        elif path not in child.written:
            yield f"{key}: {path} is the parent's and was not changed"


def _requirement_problems(child: Child, bound: BoundPair) -> Iterator[str]:
    stated = bound.requirement.strip()
    if len(stated.splitlines()) != 1:
        yield f"{bound.key}: the requirement has to be one line that is not empty"
    elif stated in child.order.parent.text(INSTRUCTION):
        yield f"{bound.key}: the parent's instruction asks for this already; state what is new"


def _shared(bindings: tuple[BoundPair, ...]) -> Iterator[str]:
    owners = Counter(path for each in bindings for path in {each.solution_block, *each.test_units})
    for path, times in owners.items():
        if times > 1:
            yield f"{path} is bound to {times} pairs; each needs its own"
    for stated, times in Counter(each.requirement.strip() for each in bindings).items():
        if times > 1:
            yield f"{times} pairs have the same requirement, {stated[:60]!r}; each needs its own sentence"


def _strays(child: Child, bindings: tuple[BoundPair, ...]) -> Iterator[str]:
    owned = {
        path for each in bindings for path in (each.solution_block, *each.test_units, *each.environment_paths)
    }
    for path in sorted(child.written - owned):
        yield f"{path} differs from the parent's but is bound to no pair: bind it, or put it back"


def _same_numbers(child: Child) -> Iterator[str]:
    steps = [path.removeprefix(f"{STEPS}/")[:2] for path in child.files if path.startswith(f"{STEPS}/")]
    for number, times in Counter(steps).items():
        if times > 1:
            yield f"{times} steps have the number {number}; their order has to be plain"


def _artifact_problems(submission: SubmitArguments) -> Iterator[str]:
    for path in submission.artifacts:
        plain = path.startswith("/") and path == posixpath.normpath(path) == printable(path)
        if not plain or path == "/":
            yield f"artifact {path[:120]!r} is no absolute path of a file or folder"
        elif any(within(path, folder) for folder in HIDDEN):
            yield f"artifact {path} is no place for a solver's work"
        elif any(within(path, folder) or within(folder, path) for folder in PROGRAMS):
            yield f"artifact {path} would bring a solver's files among the programs that the tests run with"
