"""The roles of the two loops, as protocols, and what each is handed.

An author is an object for each role; `agents.authors.author(name)` gives a named one. Roles never
touch a database: what they need is in their brief, and what they say is their return value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from agents.plan import (
    Binding,
    Composition,
    Direction,
    Effort,
    Judgement,
    PlanDraft,
    Sequence,
)
from agents.rubrics import ENVIRONMENT_RUBRIC, PLAN_RUBRIC, Rubric
from sandboxes.base import ExecResult
from sandboxes.files import TaskFile
from sandboxes.task import Task

if TYPE_CHECKING:
    from agents.line import Line


class AgentsError(Exception):
    """Anything this floor raises on purpose."""


class NothingToPropose(AgentsError):
    """The proposer has no (further) plan in this direction; the message says why. Ends the attempt."""


class CannotBuild(AgentsError):
    """The modifier refuses the plan, or has no repair left; the message says why. Ends the attempt."""


Probe = Callable[[tuple[str, ...]], frozenset[str]]
"""Which of the named commands exist in the parent's image (asked in a sandbox, once)."""


@dataclass(frozen=True, slots=True)
class Brief:
    """What the proposer and the plan reviewer know.

    `rng_seed` makes the author's choices repeatable. `history` holds the plans that this evolution
    already saw in this direction, newest last, each with the role's judgement on it (None where the rules or
    a refusal came first); what people asked to be changed is in `wishes`. `generation` is the child's.
    `rules`, where there are any, says in sentences which rules of edits a plan breaks, to be mended
    before anybody judges it.
    """

    task: Task
    sequence: Sequence
    composition: Composition
    direction: Direction
    effort: Effort
    generation: int
    rng_seed: str
    probe: Probe
    history: tuple[tuple[PlanDraft, Judgement | None], ...] = ()
    wishes: tuple[str, ...] = ()
    rubric: Rubric = PLAN_RUBRIC
    rules: Callable[[PlanDraft], Iterable[str]] | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """One failed check, as the repairer reads it. `detail` is capped, log tails included."""

    gate: str
    outcome: str
    summary: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Built:
    """A revision of the child: the residual ΔE on the *parent's* files (None removes a file).

    `bindings` has one entry for each changed pair of the plan.
    """

    changes: Mapping[str, TaskFile | None]
    bindings: tuple[Binding, ...]
    composition: Composition
    notes: str = ""


class Workbench(Protocol):
    """What a modifier may try its work on. Nothing that runs here changes the files."""

    def run(self, task: Task, command: str, *, seconds: float) -> ExecResult:
        """A shell command in a throw-away sandbox of the task's image, with no network.

        The solution lies in /solution and the tests in /tests. Raises `SandboxError` where the image does not
        build (`BuildFailed` has the log) or the machine fails.
        """

    def gates(self, built: Built) -> tuple[Evidence, ...]:
        """What the quick gates find against the child; empty when they all pass."""


@dataclass(frozen=True, slots=True)
class BuildOrder:
    """What the modifier is asked for. For the n-th repair, `previous` and `failures` are set.

    `bench` is None for an author who needs none.
    """

    parent: Task
    composition: Composition
    plan: PlanDraft
    generation: int
    rng_seed: str
    revision: int = 0
    previous: Built | None = None
    failures: tuple[Evidence, ...] = field(default=())
    wishes: tuple[str, ...] = ()
    bench: Workbench | None = None


class Extractor(Protocol):
    def extract(self, task: Task) -> Sequence:
        """ξ of a task whose history is unknown, from its solution script and its inputs."""


class Proposer(Protocol):
    def propose(self, brief: Brief) -> PlanDraft:
        """The next plan in the brief's direction. Raises `NothingToPropose`."""


class PlanReviewer(Protocol):
    def review(self, brief: Brief, plan: PlanDraft) -> Judgement:
        """A verdict on every criterion of the plan rubric."""


class Modifier(Protocol):
    def build(self, order: BuildOrder) -> Built:
        """The child, or its next repair. Raises `CannotBuild`."""


class RubricVerifier(Protocol):
    def judge(
        self,
        task: Task,
        plan: PlanDraft | None,
        bindings: tuple[Binding, ...],
        rubric: Rubric = ENVIRONMENT_RUBRIC,
    ) -> Judgement:
        """A verdict on every criterion of the environment rubric; `plan` is None for a seed.

        Who has no way to judge a criterion says `not_applicable` and why.
        """


@dataclass(frozen=True, slots=True)
class Attack:
    """A way to the reward without the work. `script` runs with `/bin/sh` in the solver's turn.

    `idea` says in a sentence what it tries.
    """

    name: str
    script: str
    idea: str


@runtime_checkable
class Adversary(Protocol):
    """Looks for ways to the reward without the work."""

    def attack(self, task: Task) -> tuple[Attack, ...]:
        """Ways to try; empty where none comes to mind. Whether they work is not known yet."""


@runtime_checkable
class Solver(Protocol):
    """Solves a task as a trained agent would, from its instruction alone."""

    def solve(self, task: Task, room: SolverRoom) -> str:
        """A shell script that solves the task, tried in the room. Raises `agents.line.ModelTrouble`."""


class SolverRoom(Protocol):
    """A solver's sandbox: the task's image without tests and solution. What a command changes stays."""

    def run(self, command: str, *, seconds: float) -> ExecResult: ...


@dataclass(frozen=True, slots=True)
class FailureVerdict:
    """Why nobody solves a task: `too_hard`, `broken` (the task's fault) or `unclear`; with the evidence."""

    verdict: str
    explanation: str
    quote: str = ""


@runtime_checkable
class FailureJudge(Protocol):
    def explain(self, task: Task, tries: tuple[str, ...]) -> FailureVerdict:
        """Whether a task that no rollout solved is too hard or broken; `tries` are transcripts' ends."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """p_T of one pair: how likely its scenario is in the domain, and its skill in that, both in (0, 1]."""

    key: str
    scenario: float
    skill: float
    reason: str


@runtime_checkable
class Estimator(Protocol):
    def estimate(self, sequence: Sequence, domain: str) -> tuple[Estimate, ...]:
        """An estimate for each pair, in their order."""


R = TypeVar("R")


@runtime_checkable
class Speaks(Protocol):
    """A role that a model plays: it needs a line to it."""

    def over(self, line: Line) -> Speaks: ...


def over(role: R, line: Line) -> R:
    """The role, speaking over that line; a role without a model is handed back as it is."""
    return role.over(line) if isinstance(role, Speaks) else role  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Author:
    """Who plays each role. `trusted` code may run in the bubblewrap sandbox; a model's may not.

    `version` stands for what its judging roles are made of, e.g. a hash of their code: verdicts of another
    version are outdated.
    """

    name: str
    trusted: bool
    extractor: Extractor
    proposer: Proposer
    plan_reviewer: PlanReviewer
    modifier: Modifier
    rubric_verifier: RubricVerifier
    version: str = ""
    solver: Solver | None = None
    adversary: Adversary | None = None
    failure_judge: FailureJudge | None = None
    estimator: Estimator | None = None
