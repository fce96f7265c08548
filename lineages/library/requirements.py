"""What stands between a task and its acceptance: the requirements that are still open, each as a sentence.

Rows and today's keys go in, sentences come out: nothing here asks the database or an engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from django.urls import reverse

from lineages.gates import PROFILES, all_gates, profile
from lineages.gates.base import Gate, Input, Result
from lineages.library.audits import WHOLE_PROFILE
from lineages.library.models import Audit, Environment, GateResult

MACHINES_OWN = frozenset({Input.BACKEND, Input.BASE})
OF_THE_CONTENT = frozenset(
    {
        Input.ENVIRONMENT,
        Input.SOLUTION,
        Input.TESTS,
        Input.INSTRUCTION,
        Input.CONFIG,
        Input.PARENT,
        Input.PLAN,
    }
)
"""Fixed for a snapshot with its parent: such evidence is outdated by something else."""

CHANGED = {
    Input.BACKEND: "the backend (its version or settings)",
    Input.BASE: "a base image",
    Input.JUDGE: "the judge",
    Input.RUBRIC: "the rubric",
    Input.REPEATS: "how often it is repeated",
    Input.THOROUGH: "how thorough the profile is",
    Input.ARCHIVE: "the archive of earlier environments",
    Input.BENCHMARKS: "the sets marked as benchmarks",
    Input.PROBES: "the attacks that the lineage keeps",
}


class State(StrEnum):
    """Why a requirement is not met, the worst first; at the end what is to be known and blocks nothing."""

    HELD_BACK = "held_back"
    FAILED = "failed"
    ERROR = "error"
    NOT_RUN = "not_run"
    WAITING = "waiting"
    UNASKED = "unasked"
    OUTDATED = "outdated"
    UNCHECKED = "unchecked"
    PROVISIONAL = "provisional"

    @property
    def blocks(self) -> bool:
        return self not in (State.UNCHECKED, State.PROVISIONAL)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One line. `gate` is empty for what no gate asks; `link` leads to the evidence where there is some."""

    gate: str
    title: str
    state: State
    sentence: str
    link: str = ""

    @property
    def blocks(self) -> bool:
        """Whether it keeps the task from being accepted."""
        return self.state.blocks


@dataclass(frozen=True, slots=True)
class Group:
    """Requirements of which the same is to be said."""

    state: State
    sentence: str
    requirements: tuple[Requirement, ...]


@dataclass(frozen=True, slots=True)
class Today:
    """The keys that an audit would give now, by gate, and who would give them.

    `problem` says in a sentence why they could not be computed; there are no keys then.
    """

    keys: Mapping[str, str] = field(default_factory=dict)
    backend: str = ""
    judge: str = ""
    rubric: str = ""
    problem: str = ""


def requirements(
    audit: Audit | None,
    results: Iterable[GateResult],
    *,
    environment: Environment | None = None,
    today: Today | None = None,
) -> list[Requirement]:
    """What is open of `audit`'s profile (the standard one without an audit); the worst comes first.

    `results` are the audit's, from `shelf.with_voidings`. Without `today`, or where it has a problem, no
    evidence is called outdated.
    """
    by_gate = {result.gate: result for result in results}
    gates = _asked(audit)
    moved = _Moved(audit, gates, by_gate, today) if audit and today and not today.problem else None
    asked: list[Requirement] = []
    for gate in gates:
        asked += _of_gate(gate, by_gate.get(gate.name), audit, moved)
    names = {gate.name for gate in gates}
    asked += _of_others(result for name, result in by_gate.items() if name not in names)
    if audit and not any(each.blocks for each in asked):
        asked += _of_verdict(audit)
    found = [*_held(environment), *_provisional(audit, environment), *asked]
    return sorted(found, key=lambda each: list(State).index(each.state))


def grouped(found: Iterable[Requirement]) -> list[Group]:
    """In the same order, with one group for each sentence."""
    groups: dict[tuple[State, str], list[Requirement]] = {}
    for each in found:
        groups.setdefault((each.state, each.sentence), []).append(each)
    return [Group(*said, tuple(each)) for said, each in groups.items()]


@dataclass(frozen=True)
class _Moved:
    """Which keys are not today's, and why as far as that can be told.

    What a key was made of is not stored. But what stands in the unmoved key of one gate has not changed, and
    so it is not what moved the key of another.
    """

    audit: Audit
    gates: list[Gate]
    results: Mapping[str, GateResult]
    today: Today

    def why(self, gate: Gate, result: GateResult) -> str:
        """A sentence where the key moved; empty where it did not, or where that cannot be told here."""
        if not self._moved(gate, result):
            return ""
        if result.gate_version != gate.version:
            then = f"it answered in version {result.gate_version}"
            return f"The gate itself changed: {then}, today it is {gate.version}."
        if Input.JUDGE in gate.inputs and self.audit.judge != self.today.judge:
            return f"The judge was {self.audit.judge}; today it is {self.today.judge}."
        if Input.RUBRIC in gate.inputs and self.audit.rubric != self.today.rubric:
            return "The rubric has another wording today."
        return f"Since then {self._suspects(gate)} changed."

    def _suspects(self, gate: Gate) -> str:
        left = sorted(gate.inputs - OF_THE_CONTENT - self._unmoved(), key=list(Input).index)
        names = [CHANGED[each] for each in left if each in CHANGED]
        return " or ".join(names) or "something that it depends on"

    def _unmoved(self) -> frozenset[Input]:
        kept = (gate for gate in self.gates if self._same(gate))
        return frozenset().union(*(gate.inputs for gate in kept))

    def _same(self, gate: Gate) -> bool:
        result = self.results.get(gate.name)
        return result is not None and result.key == self.today.keys.get(gate.name)

    def _moved(self, gate: Gate, result: GateResult) -> bool:
        elsewhere = self.audit.backend != self.today.backend and bool(gate.inputs & MACHINES_OWN)
        return not elsewhere and gate.name in self.today.keys and not self._same(gate)


def _of_gate(
    gate: Gate, result: GateResult | None, audit: Audit | None, moved: _Moved | None
) -> Iterator[Requirement]:
    if result is None:
        yield _unanswered(gate, audit)
        return
    link = _link(result)
    outdated = moved.why(gate, result) if moved else ""
    state, sentence = _said(gate, result)
    if state is not None:
        again = f"{outdated} Ask it again." if outdated else ""
        yield Requirement(gate.name, gate.title, state, _joined(sentence, again), link)
    elif outdated:
        sentence = f"{outdated} It stays accepted; verify again for today's answer."
        yield Requirement(gate.name, gate.title, State.OUTDATED, sentence, link)


def _said(gate: Gate | None, result: GateResult) -> tuple[State | None, str]:
    """None where the answer stands in nobody's way. `gate` is None where it is not installed."""
    outcome = Result(result.outcome)
    if outcome is Result.FAILED:
        if getattr(result, "voiding", None):
            return None, ""
        return State.FAILED, _joined(result.summary, _waiver(gate))
    if outcome is Result.ERROR:
        return State.ERROR, _joined(result.summary, "Nothing is said about the task: verify again.")
    if outcome is Result.NOT_RUN:
        return (State.UNCHECKED if gate and not gate.required else State.NOT_RUN), result.summary
    return None, ""


def _waiver(gate: Gate | None) -> str:
    if gate is None or gate.waivable:
        return "An admin may void it with a reason."
    return "No person may void it: the task has to change."


def _unanswered(gate: Gate, audit: Audit | None) -> Requirement:
    if audit and audit.status == Audit.Status.QUEUED:
        return Requirement(gate.name, gate.title, State.WAITING, "The verification has not come to it yet.")
    if audit and audit.status == Audit.Status.ABANDONED:
        sentence = "The verification was given up before it came to this gate."
    else:
        sentence = "It has not been asked about this content: verify to ask it."
    return Requirement(gate.name, gate.title, State.UNASKED, sentence)


def _asked(audit: Audit | None) -> list[Gate]:
    """The gates of the audit's profile; none where there is no such profile any more."""
    name = audit.profile if audit else WHOLE_PROFILE
    return profile(name) if name in PROFILES else []


def _of_others(left: Iterable[GateResult]) -> Iterator[Requirement]:
    """What gates said that are no longer of the profile: it decided the verdict, and nobody asks it today."""
    known = all_gates()
    for result in left:
        gate = known.get(result.gate)
        state, sentence = _said(gate, result)
        if state is not None and state.blocks:
            title = gate.title if gate else f"{result.gate} (no gate of this name is installed)"
            again = "The profile asks this no more: verify again."
            yield Requirement(result.gate, title, state, _joined(sentence, again), _link(result))


def _of_verdict(audit: Audit) -> Iterator[Requirement]:
    """What is open although every answer is accepted, e.g. since a failure was voided after the verdict."""
    if audit.profile not in PROFILES:
        sentence = f"There is no profile called {audit.profile} any more: verify again by another."
        yield Requirement("", "The profile", State.UNASKED, sentence)
    elif audit.status == Audit.Status.REJECTED:
        sentence = "What failed has been voided since it was rejected: verify again to have it accepted."
        yield Requirement("", "The verdict", State.OUTDATED, sentence)
    elif audit.status == Audit.Status.QUEUED:
        yield Requirement("", "The verdict", State.WAITING, "The verification has not ended yet.")
    elif audit.status != Audit.Status.ACCEPTED:
        yield Requirement("", "The verdict", State.UNASKED, "It came to no verdict: verify again.")


def _held(environment: Environment | None) -> Iterator[Requirement]:
    if environment and environment.quarantined:
        yield Requirement(
            "",
            "Held back",
            State.HELD_BACK,
            "It, or what it grew from, was withdrawn: an operator has to free it.",
            reverse("environment_detail", args=[environment.pk]),
        )


def _provisional(audit: Audit | None, environment: Environment | None) -> Iterator[Requirement]:
    if environment.provisional if environment else audit and audit.provisional:
        yield Requirement(
            "",
            "Firm evidence",
            State.PROVISIONAL,
            "The evidence is from a backend that builds no Dockerfile: enough to grow the lineage, not for "
            "the feed and releases.",
        )


def _link(result: GateResult) -> str:
    return reverse("gate_detail", args=[result.pk])


def _joined(*sentences: str) -> str:
    return " ".join(each.strip() for each in sentences if each.strip())
