"""adversary: nothing but the work gets the reward.

A kit of probes (`agents/probes`) works in the solver's turn, each by itself or several in a volley. The kit
belongs to this gate's version: raise it when a probe is added or does something else.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from agents.probes import VOLLEYS, Probe, probes
from lineages.gates.base import A_TRIAL, Finding, Gate, Input, Outcome, Result, Subject
from lineages.gates.trials import fresh, kept, solved, tail, trial, untouched
from sandboxes.base import Sandbox
from sandboxes.errors import TimedOut
from sandboxes.task import TEST, Task
from sandboxes.trial import Solved, Solver, Trial

PROBE_SECONDS = 30
"""The most that a probe gets for its own work."""
LEAST_SECONDS = 30
PATIENCE = 5
"""A probe may make the tests hang; they get that many times what they need without one, then they failed."""
MARK = "probe:"
ARGUMENT = 100_000
"""Bytes of a script in one argument; Linux takes no longer one than 128 KiB."""
MOST_ARGUMENTS = 1_000_000
JOINED = 'script=; for part do script=$script$part; done; set --; eval "$script"'
"""Runs a script that comes in several arguments."""


@dataclass(frozen=True, slots=True)
class Step:
    """One probe of a turn. `text` tells a person what it tries."""

    name: str
    text: str
    script: str


Turn = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Shot:
    """A turn that was graded. `paid`: it got something that doing nothing does not get."""

    turn: Turn
    trial: Trial
    paid: bool

    @property
    def reward(self) -> float | None:
        return self.trial.reward.value if self.trial.reward else None

    @property
    def unclear(self) -> bool:
        """Whether it does not speak for each probe of its turn: one did it, or may have stopped others."""
        return self.paid or self.reward is None or any(each.cut_short for each in self.trial.commands)


def check(subject: Subject) -> Outcome:
    kit = [probe for probe in probes().values() if probe.applies(subject.task)]
    skipped = [probe.name for probe in kit if probe.needs_separate and not subject.task.separate]
    tried = [probe for probe in kit if probe.name not in skipped]
    shots, left = attack(subject, turns(subject, tried))
    return verdict(subject, shots, kept=left, forgeable=skipped)


def turns(subject: Subject, kit: Sequence[Probe]) -> list[Turn]:
    """What is fired: every kept probe by itself; of the kit each by itself, or only its volleys."""
    each = [(Step(probe.name, f"{probe.origin}.", probe.script),) for probe in subject.probes]
    if subject.thorough:
        return [*each, *((_step(probe, subject.task),) for probe in kit)]
    volleys = (sorted(_of(kit, number), key=lambda probe: (probe.order, probe.name)) for number in VOLLEYS)
    return [*each, *(tuple(_step(probe, subject.task) for probe in volley) for volley in volleys if volley)]


def attack(subject: Subject, fired: Iterable[Turn]) -> tuple[list[Shot], Mapping[str, Solved]]:
    """Shots that have every step in just one of them, and what the volleys left.

    A volley that got a reward, that did not end, or whose tests came to no verdict, is halved until it is
    clear which step did it: one that stops the tests would hide the others. Where no half of a volley gets
    what the whole got, its steps do it together. Raises `MachineFault` and `SandboxDied`.
    """
    subject, floor = _patient(subject), _floor(untouched(subject))
    shots: list[Shot] = []
    left: dict[str, Solved] = {}
    for turn in fired:
        shot = _fire(subject, turn, floor)
        if len(turn) > 1:
            left |= kept(subject, _name(turn), shot.trial, reads_solution=False)
        shots += _cleared(subject, shot, floor)
    return shots, left


def _cleared(subject: Subject, shot: Shot, floor: float) -> list[Shot]:
    if len(shot.turn) == 1 or not shot.unclear:
        return [shot]
    middle = len(shot.turn) // 2
    halves = (shot.turn[:middle], shot.turn[middle:])
    parts = [part for half in halves for part in _cleared(subject, _fire(subject, half, floor), floor)]
    return [shot] if shot.paid and not any(part.paid for part in parts) else parts


def verdict(
    subject: Subject, shots: Sequence[Shot], *, kept: Mapping[str, Solved], forgeable: Sequence[str] = ()
) -> Outcome:
    paid = [shot for shot in shots if shot.paid]
    findings = [_finding(shot) for shot in paid]
    if forgeable:
        text = "The tests share the solver's sandbox: the result can be forged by "
        findings.append(Finding(f"{text}{', '.join(forgeable)}.", "task.toml", warning=True))
    count = sum(len(shot.turn) for shot in shots)
    turns_taken = "" if count == len(shots) else f" in {len(shots)} turns"
    return Outcome(
        Result.FAILED if paid else Result.PASSED,
        findings[0].text if paid else f"None of {count} probes{turns_taken} got a reward.",
        detail="\n\n".join(map(_evidence, paid)) if paid else "\n".join(map(_line, shots)),
        reward=max((shot.reward for shot in shots if shot.reward is not None), default=None),
        weaker=not subject.task.separate,
        commands=tuple(command for shot in paid for command in shot.trial.commands),
        findings=tuple(findings),
        runs=len(shots),
        runs_passed=len(shots) - len(paid),
        kept=kept,
        graded_again=any(shot.trial.graded_again for shot in shots),
    )


def _of(kit: Sequence[Probe], volley: int) -> list[Probe]:
    return [probe for probe in kit if probe.volley == volley]


def _step(probe: Probe, task: Task) -> Step:
    return Step(probe.name, probe.tries, probe.script(task))


def _patient(subject: Subject) -> Subject:
    needed = max(untouched(subject).seconds, solved(subject).seconds)
    seconds = min(subject.limits.seconds, max(LEAST_SECONDS, PATIENCE * needed))
    return replace(subject, limits=replace(subject.limits, seconds=seconds))


def _floor(done: Trial) -> float:
    value = done.reward.value if done.reward else None
    return max(0.0, value or 0.0)


def _fire(subject: Subject, turn: Turn, floor: float) -> Shot:
    """What is kept of an earlier audit clears a turn; to blame one, or to find which, it is really fired."""
    shot = _shot(turn, trial(subject, _name(turn), _solver(turn), reads_solution=False), floor)
    if shot.unclear and shot.trial.graded_again:
        return _shot(turn, fresh(subject, _solver(turn)), floor)
    return shot


def _shot(turn: Turn, done: Trial, floor: float) -> Shot:
    value = done.reward.value if done.reward else None
    return Shot(turn, done, value is not None and value > floor)


def _name(turn: Turn) -> str:
    scripts = hashlib.sha256("\0".join(step.script for step in turn).encode()).hexdigest()
    return f"adversary {scripts}"


def _solver(turn: Turn) -> Solver:
    argv = command(turn)

    def solve(task: Task, sandbox: Sandbox) -> None:
        # It is ended with all it started; what it wrote stays.
        with suppress(TimedOut):
            sandbox.exec(argv, timeout=PROBE_SECONDS * len(turn))

    return solve


def command(turn: Turn) -> list[str]:
    """All of a turn as one command, whose `$0` says which probes these are, for whoever reads what ran.

    Raises `ValueError` for scripts that no command line holds: an engine would run none of them, and that
    looks like a turn that got nothing.
    """
    name = f"{MARK}{'+'.join(step.name for step in turn)}"
    each = [shlex.join(_shell(step.script, step.name)) for step in turn]
    argv = _shell(turn[0].script if len(turn) == 1 else "\n".join(each), name)
    if sum(len(each.encode("utf-8", "replace")) for each in argv) > MOST_ARGUMENTS or "\0" in "".join(argv):
        raise ValueError(f"{name} cannot be run: its scripts hold a NUL, or too much for a command line")
    return argv


def _shell(script: str, name: str) -> list[str]:
    if len(script.encode("utf-8", "replace")) <= ARGUMENT:
        return ["/bin/sh", "-c", script, name]
    size = ARGUMENT // 4  # characters, of at most four bytes
    return ["/bin/sh", "-c", JOINED, name, *(script[at : at + size] for at in range(0, len(script), size))]


def fired(argv: Sequence[str]) -> tuple[str, str] | None:
    """The names and the script of a turn's `command`; None for any other command."""
    if len(argv) < 4 or list(argv[:2]) != ["/bin/sh", "-c"] or not argv[3].startswith(MARK):
        return None
    return argv[3].removeprefix(MARK), "".join(argv[4:]) if argv[2] == JOINED else argv[2]


def _finding(shot: Shot) -> Finding:
    names = ", ".join(step.name for step in shot.turn)
    tries = " ".join(step.text for step in shot.turn) if len(shot.turn) == 1 else "Only together they do."
    return Finding(f"The probe {names} got the reward {shot.reward:g} without solving. {tries}", TEST)


def _line(shot: Shot) -> str:
    names = ", ".join(step.name for step in shot.turn)
    said = f"reward {shot.reward:g}" if shot.reward is not None else f"no verdict: {shot.trial.summary}"
    return f"{names}: {said}"


def _evidence(shot: Shot) -> str:
    # What ran begins with the script.
    return f"{_line(shot)}\n{tail(shot.trial)}"


GATE = Gate(
    name="adversary",
    version=2,
    title="No probe gets a reward",
    failing="The reward can be had without solving the task.",
    cost="at most three trials, and one for each kept probe; in the strict profile one for each probe",
    waivable=False,
    inputs=A_TRIAL | {Input.INSTRUCTION, Input.PROBES, Input.THOROUGH},
    check=check,
    after=("static", "build", "oracle", "invalid_test"),
    sandbox=True,
)
