"""Whether the tests are to blame for a wrong solution that got the full reward."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from lineages.gates.base import Finding
from lineages.gates.mutants import Files, Kind, Mutant
from lineages.gates.mutants.outputs import is_program, lost
from lineages.gates.mutants.trying import Tried, Trying
from lineages.gates.trials import rewarded
from sandboxes.task import INSTRUCTION, Task

TESTS = "tests/test.sh"
_WHOLE = frozenset({Kind.MISSING, Kind.EMPTIED})
_ORDER = re.compile(
    r"\bin (?:the |this |that )?order\b|\bsort(?:ed)?\b|scending\b|\bevery byte\b|\bbyte by byte\b", re.I
)
_ONCE = re.compile(
    r"\b(?:only |exactly )?once\b|\bexactly one\b|\bone line (?:for|per) each\b|\bevery byte\b", re.I
)
_STATED = {Kind.EXCHANGED: (_ORDER, "an order"), Kind.DOUBLED: (_ONCE, "each line once")}
UNSETTLED = "the reference itself writes another content each time"


@dataclass(frozen=True, slots=True)
class Run:
    mutant: Mutant
    tried: Tried
    counts: bool

    @classmethod
    def of(cls, tries: Trying, mutant: Mutant) -> Run:
        """Try a mutant. It counts unless it left just the bytes that the reference leaves."""
        tried = tries.solution(mutant) if mutant.solution else tries.output(mutant)
        same = tried.left is not None and not _differing(tries.reference, tried.left)
        return cls(mutant, tried, counts=not same)

    @property
    def survived(self) -> bool:
        return self.counts and rewarded(self.tried.done)


def _differing(one: Files, other: Files) -> list[str]:
    """The paths at which not the same bytes are."""
    return [
        path
        for path in sorted({*one, *other})
        if path not in one or path not in other or one[path].data != other[path].data
    ]


@dataclass(frozen=True, slots=True)
class Judge:
    """Says of a wrong solution with full reward whether the tests are to blame."""

    task: Task
    documents: tuple[str, ...]
    tries: Trying

    def finding(self, run: Run) -> Finding:
        return self._of_solution(run) if run.mutant.solution else self._of_output(run.mutant)

    def _of_output(self, mutant: Mutant) -> Finding:
        whole = mutant.kind in _WHOLE
        weak = self._weakness(mutant.place, whole=whole) or self._unstated(mutant.kind)
        why = f" ({weak})" if weak else ""
        text = (
            f"{mutant.place}: with {mutant.what} the full reward is still given; {_overlooked(mutant)}{why}."
        )
        repair = f"[ -s {shlex.quote(mutant.place)} ]" if whole else ""
        return Finding(text, path=TESTS, warning=bool(weak), repair=repair)

    def _of_solution(self, run: Run) -> Finding:
        mutant, left = run.mutant, run.tried.left or {}
        less = lost(self.tries.reference, left, self.tries.before)
        if mutant.kind is Kind.STEP:
            less |= {path: "differs" for path in _differing(self.tries.reference, left) if path not in less}
            weak = {path: "" if self._settled(path) else UNSETTLED for path in less}
        else:
            gone = {path for path in less if path not in left or not left[path].data}
            weak = {path: self._weakness(path, whole=path in gone) for path in less}
        strong = [path for path in less if not weak[path]]
        told = strong or list(less) or _differing(self.tries.reference, left)
        what = "; ".join(f"{path} {less.get(path, 'differs')}" for path in told[:3])
        more = f" and {len(told) - 3} more" if len(told) > 3 else ""
        why = f" ({weak[told[0]]})" if weak.get(told[0]) else ""
        text = f"With {mutant.what} the full reward is still given, though {what}{more}{why}."
        return Finding(text, path=mutant.place, line=mutant.line, warning=not strong)

    def _weakness(self, path: str, *, whole: bool) -> str:
        """Why a mistake in this output may be nobody's concern; empty where the tests must see it."""
        if not named(self.documents, path):
            return "the instruction does not name this file"
        file = self.tries.reference.get(path) or self.tries.before[path]
        if whole:
            return ""
        if is_program(path, file):
            return "it is a program, and another text of it may do the same"
        return "" if self._settled(path) else UNSETTLED

    def _settled(self, path: str) -> bool:
        """Whether the reference, run once more, leaves the same there."""
        one, other = self.tries.reference.get(path), self.tries.again().get(path)
        return (one and one.data) == (other and other.data)

    def _unstated(self, kind: Kind) -> str:
        stated = _STATED.get(kind)
        if stated is None or stated[0].search(self.task.text(INSTRUCTION)):
            return ""
        return f"the instruction does not ask for {stated[1]}"


def documents(task: Task) -> Iterator[str]:
    instruction = task.text(INSTRUCTION)
    yield instruction
    for path in task.files:
        name = path.rpartition("/")[2]
        if (
            path.startswith("environment/")
            and name.endswith((".md", ".txt", ".rst"))
            and _has(instruction, name)
        ):
            yield task.text(path)


def named(documents: tuple[str, ...], path: str) -> bool:
    """Whether the instruction names an output, or a file of the workspace does that it names."""
    return any(_has(text, path) for text in documents)


def _has(text: str, path: str) -> bool:
    """Whether a text names a file, by its whole path or its last part, not as a part of another name."""
    names = dict.fromkeys([path, path.rpartition("/")[2]])
    return any(
        name in text and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", text) for name in names
    )


def _overlooked(mutant: Mutant) -> str:
    if mutant.kind in _WHOLE:
        return "no test asks whether it is there, or the one that does passes without it"
    if mutant.kind in (Kind.STALE, Kind.OTHERS):
        return "no test reads what it holds"
    if mutant.kind in (Kind.DOUBLED, Kind.EXCHANGED):
        return "no test compares its lines in number and order"
    return f"no test looks at line {mutant.line}, or compares it with the right value"
