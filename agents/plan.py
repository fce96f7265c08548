"""The values that the roles exchange: sequences, plans, what was built, verdicts.

All of them are frozen pydantic models that forbid extra fields, so that a stored one reads back as
written or is refused. Words: paper sections 3 and 4.1; `docs/method.md`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Direction(StrEnum):
    """The three levers of off-policy difficulty (paper, section 3)."""

    SCENARIO = "scenario"
    SKILL = "skill"
    LENGTH = "length"


class Effort(StrEnum):
    """How much one generation may change (paper, section 4.1)."""

    LOW = "low"
    HIGH = "high"
    MAX = "max"


class Pair(Record):
    """One scenario–skill pair (σ, κ) of an expected execution.

    `key` is stable along a lineage. `tool` is the command that carries the skill (its class in D_T).
    `origin`: `implicit` — given by the import to an input file (plain file, read records); `extracted` —
    read from the solution script; `owned` — put there by an edit. `target` is the file, as an absolute
    container path, that the pair is about. `block` is the solution file that holds its commands.
    """

    key: str
    scenario: str
    skill: str
    tool: str
    origin: Literal["implicit", "extracted", "owned"]
    target: str = ""
    block: str = ""


class Sequence(Record):
    """An expected execution ξ = (σ1,κ1)…(σL,κL)."""

    pairs: tuple[Pair, ...] = ()

    def __len__(self) -> int:
        return len(self.pairs)

    def keys(self) -> tuple[str, ...]:
        return tuple(pair.key for pair in self.pairs)


class Change(Record):
    """One edit of a plan: `pair` is inserted, or replaces the pair of the same key.

    An insertion's key is new. `operator`, `variant` and `subject` say how the offline author means to
    build it and are empty for other authors; `subject` is the container path that it works on.
    """

    kind: Literal["insert", "replace"]
    pair: Pair
    operator: str = ""
    variant: str = ""
    subject: str = ""


class PlanDraft(Record):
    """A proposal: the parent's sequence, the child's, and the edits between them.

    `summary` is one sentence for a list; `rationale` is why the child is harder, for the reviewer.
    """

    direction: Direction
    effort: Effort
    before: Sequence
    after: Sequence
    changes: tuple[Change, ...]
    summary: str
    rationale: str

    @property
    def is_span(self) -> bool:
        """Whether the changed pairs stand next to each other in the child's sequence; true of none."""
        changed = {change.pair.key for change in self.changes}
        places = [at for at, key in enumerate(self.after.keys()) if key in changed]
        return not places or places[-1] - places[0] == len(places) - 1


class Requirement(Record):
    """One thing the instruction asks for beyond the seed's own text. `key` is the pair it belongs to."""

    key: str
    text: str


class Use(Record):
    """One use of an offline operator in a lineage.

    `needed` are the files it delivered that its solution step depends on, as container paths: a later edit
    may take those away, and no others (a step before a decoy would be padding).
    """

    operator: str
    variant: str
    subject: str
    generation: int
    key: str
    needed: tuple[str, ...] = ()


class Composition(Record):
    """What an evolved task is composed of beyond its files: carried from parent to child.

    `seed_words` counts the words of the seed's instruction, on which the cap of the rendered one rests;
    `seed_instruction` is that text, byte for byte as text.
    """

    seed_instruction: str = ""
    seed_words: int = 0
    requirements: tuple[Requirement, ...] = ()
    uses: tuple[Use, ...] = ()


class Binding(Record):
    """What one changed pair became in the files (all paths relative to the task folder)."""

    key: str
    solution_block: str
    test_units: tuple[str, ...]
    environment_paths: tuple[str, ...]
    requirement: str


class Verdict(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    NOT_APPLICABLE = "not_applicable"


class CriterionVerdict(Record):
    """A judgement on one criterion. `quote` occurs word for word in what was judged, or is empty."""

    criterion: str
    verdict: Verdict
    explanation: str
    quote: str = ""


class Judgement(Record):
    """A rubric review: accepted only if no criterion failed."""

    verdicts: tuple[CriterionVerdict, ...]

    @property
    def accepted(self) -> bool:
        return all(verdict.verdict is not Verdict.FAIL for verdict in self.verdicts)

    @property
    def failures(self) -> tuple[CriterionVerdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.verdict is Verdict.FAIL)
