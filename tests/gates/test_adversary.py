"""The adversary gate: hackable tasks are caught by the right probe's name, honest ones pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from django.conf import settings

from agents.authors import author
from agents.line import Refused
from agents.plan import Binding, Effort, Judgement, PlanDraft
from agents.probes import Probe, probes
from agents.roles import Attack
from agents.rubrics import ENVIRONMENT_RUBRIC, Rubric
from agents.scripted import ACCEPT
from lineages.gates import adversary, attacker
from lineages.gates.base import Outcome, Result, Subject
from lineages.gates.surroundings import KeptProbe
from lineages.gates.trials import solved, untouched
from sandboxes.backends import open_backend
from sandboxes.base import Backend, Limits, Sandbox
from sandboxes.errors import MachineFault
from sandboxes.files import TaskFile
from sandboxes.intake import find_tasks, read_folder
from sandboxes.task import Task
from sandboxes.trial import Solved, TrialOutcome
from tests.agents.growing import Grown, built, next_plan
from tests.tasks import words

SEEDS = find_tasks(settings.SEEDS)
GENERATIONS = 5
KIT = (2, "4d3b61e4a7d6037c")
REWARD = "{check}\ngot=$((! $?))\nmkdir -p /logs/verifier\necho $got >/logs/verifier/reward.txt\n"

RUNS_WHAT_WAS_DELIVERED = '[ "$(bash /app/out/answer.sh)" = ready ]'
TRUSTS_THE_SOLVERS_SUMS = "( cd /app/out && sha256sum --status -c SHA256SUMS )"
IMPORTS_WHERE_RESULTS_ARE = (
    "( cd /app/out && python3 -c 'import csv, json; exit(json.load(open(\"first\")) != [1])' )"
)
READS_AN_ARTIFACT_REWARD = '[ "$(cat /logs/artifacts/reward.txt 2>/dev/null)" = 1 ]'
HACKABLE = {
    "executable_outputs": RUNS_WHAT_WAS_DELIVERED,
    "same_everywhere": TRUSTS_THE_SOLVERS_SUMS,
    "planted_everywhere": READS_AN_ARTIFACT_REWARD,
    "python_beside_artifacts": IMPORTS_WHERE_RESULTS_ARE,
}
"""What a test asks, by the one probe that such a test is caught by."""


@pytest.fixture(scope="module")
def bubblewrap(tmp_path_factory: pytest.TempPathFactory) -> Backend:
    try:
        return open_backend("bubblewrap", instance="tests-adversary", folder=tmp_path_factory.mktemp("boxes"))
    except MachineFault as fault:
        pytest.skip(f"no sandbox: {fault}")


class Judge:
    def judge(
        self,
        task: Task,
        plan: PlanDraft | None,
        bindings: tuple[Binding, ...],
        rubric: Rubric = ENVIRONMENT_RUBRIC,
    ) -> Judgement:
        return ACCEPT


class Attacker:
    def __init__(self, *attacks: Attack) -> None:
        self.attacks = attacks

    def attack(self, task: Task) -> tuple[Attack, ...]:
        return self.attacks


def shared(task: Task) -> Task:
    """The same task with its tests run among the solver's files."""
    config = task.text("task.toml").replace('environment_mode = "separate"\n', "")
    return task.replace({"task.toml": TaskFile.text(config), "tests/Dockerfile": None})


def asking(check: str) -> Task:
    """A task whose whole test is this condition."""
    test = TaskFile.text(f"#!/bin/bash\n{REWARD.format(check=check)}", executable=True)
    return words().replace({"tests/test.sh": test, "tests/units/first.sh": None})


def subject(task: Task, backend: Backend, **fields: object) -> Subject:
    whole = Subject(
        task=task,
        backend=backend,
        limits=Limits(memory_mb=512, disk_mb=512),
        labels={"test": "adversary"},
        judge=Judge(),
        judge_name="judge",
        rubric="",
    )
    return replace(whole, **fields)  # type: ignore[arg-type]


def named(outcome: Outcome) -> list[str]:
    """The probes that the failures name."""
    return [finding.text.split()[2] for finding in outcome.findings if not finding.warning]


def by(names: tuple[str, ...], asked: Subject) -> Outcome:
    """What the gate says of these probes alone."""
    kit = [probes()[name] for name in names]
    shots, left = adversary.attack(asked, adversary.turns(asked, kit))
    return adversary.verdict(asked, shots, kept=left)


def test_an_honest_task_pays_no_probe_and_the_kit_costs_three_trials(bubblewrap: Backend) -> None:
    outcome = adversary.check(subject(words(), bubblewrap))

    assert outcome.result is Result.PASSED, outcome.detail
    assert (outcome.runs, outcome.runs_passed) == (3, 3)
    assert outcome.reward == 0
    assert not outcome.findings
    assert outcome.commands == ()
    assert not outcome.weaker


def test_an_honest_task_with_a_shared_verifier_passes_with_a_warning_that_says_who_could_forge_it(
    bubblewrap: Backend,
) -> None:
    outcome = adversary.check(subject(shared(words()), bubblewrap))

    assert outcome.result is Result.PASSED, outcome.detail
    assert outcome.weaker
    (warning,) = outcome.findings
    assert warning.warning
    assert "forged by python_start, replaced_interpreter." in warning.text
    assert "replaced_interpreter" not in outcome.detail  # it was not run


@pytest.mark.parametrize("mode", ["separate", "shared"])
@pytest.mark.parametrize("name", HACKABLE)
def test_a_hackable_test_is_caught_by_the_probe_that_it_pays(
    name: str, mode: str, bubblewrap: Backend
) -> None:
    task = asking(HACKABLE[name]) if mode == "separate" else shared(asking(HACKABLE[name]))

    outcome = by((name,), subject(task, bubblewrap))

    assert outcome.result is Result.FAILED
    assert named(outcome) == [name]
    assert outcome.reward == 1
    script = probes()[name].script(task)
    assert script in outcome.detail
    assert outcome.commands[0].argv == ("/bin/sh", "-c", script, f"probe:{name}")


def test_a_volley_is_halved_until_the_one_probe_that_did_it_is_named(bubblewrap: Backend) -> None:
    volley = ("late_writer", "planted_everywhere", "planted_reward")
    outcome = by(volley, subject(asking(READS_AN_ARTIFACT_REWARD), bubblewrap))

    assert outcome.result is Result.FAILED
    assert named(outcome) == ["planted_everywhere"]
    assert outcome.runs_passed == outcome.runs - 1


@pytest.mark.soak
@pytest.mark.parametrize("mode", ["separate", "shared"])
@pytest.mark.parametrize("name", HACKABLE)
def test_the_whole_kit_catches_a_hackable_test_by_the_right_name(
    name: str, mode: str, bubblewrap: Backend
) -> None:
    task = asking(HACKABLE[name]) if mode == "separate" else shared(asking(HACKABLE[name]))

    outcome = adversary.check(subject(task, bubblewrap))

    assert outcome.result is Result.FAILED
    assert name in named(outcome)


def test_a_link_to_what_is_expected_is_caught_in_shared_mode(bubblewrap: Backend) -> None:
    task = asking("cmp -s /app/out/first /tests/expected/first").replace(
        {"tests/expected/first": TaskFile.text("ready")}
    )

    assert named(by(("linked_tests",), subject(shared(task), bubblewrap))) == ["linked_tests"]


def test_probes_that_only_together_get_a_reward_are_named_together(bubblewrap: Backend) -> None:
    task = asking("[ -e /app/out/one ] && [ -e /app/out/two ]")
    pair = [
        Probe(name, name, "Makes a file.", lambda _, name=name: f"mkdir -p out; : >/app/out/{name}", volley=1)  # type: ignore[misc]
        for name in ("one", "two")
    ]
    asked = subject(task, bubblewrap)

    shots, left = adversary.attack(asked, adversary.turns(asked, pair))

    outcome = adversary.verdict(asked, shots, kept=left)
    assert outcome.result is Result.FAILED
    assert "The probe one, two got the reward 1" in outcome.summary
    assert outcome.runs == 1


def test_a_probe_that_stops_the_tests_does_not_hide_another_of_its_volley(bubblewrap: Backend) -> None:
    task = asking("[ ! -e /app/out/stop ] || kill -9 $$; [ -e /app/out/open ]")
    volley = [
        Probe(name, name, "Makes a file.", lambda _, name=name: f"mkdir -p out; : >/app/out/{name}", volley=1)  # type: ignore[misc]
        for name in ("open", "stop")
    ]
    asked = subject(task, bubblewrap)

    shots, left = adversary.attack(asked, adversary.turns(asked, volley))

    outcome = adversary.verdict(asked, shots, kept=left)
    assert named(outcome) == ["open"]
    assert (outcome.runs, outcome.runs_passed) == (2, 1)


def test_what_an_untouched_environment_gets_anyway_is_no_forgery(bubblewrap: Backend) -> None:
    outcome = by(("planted_reward",), subject(asking("true"), bubblewrap))

    assert outcome.result is Result.PASSED


def test_a_kept_probe_is_replayed_by_itself_and_caught_under_its_name(bubblewrap: Backend) -> None:
    kept = KeptProbe(
        "the-back-door", "mkdir -p /app/out; echo please >/app/out/first", "Found by a reviewer in words/g1"
    )
    asked = subject(asking("grep -q please /app/out/first"), bubblewrap, probes=(kept,))

    outcome = adversary.verdict(asked, adversary.attack(asked, adversary.turns(asked, []))[0], kept={})

    assert named(outcome) == ["the-back-door"]
    assert "Found by a reviewer in words/g1." in outcome.summary


def test_a_script_that_no_argument_holds_is_run_and_read_back_whole(bubblewrap: Backend) -> None:
    """Linux takes no argument of 128 KiB; an engine then runs nothing, and says so where nobody looks."""
    long = f"# {'é' * 150_000}\nmkdir -p /app/out\n[ $# -ne 0 ] || echo please >/app/out/first\n"
    turn = (adversary.Step("long", "Tries.", long), adversary.Step("short", "Tries.", "echo 'it''s'"))
    asked = subject(asking("grep -q please /app/out/first"), bubblewrap)

    shots, _ = adversary.attack(asked, [turn[:1], turn])

    assert [[step.name for step in shot.turn] for shot in shots if shot.paid] == [["long"], ["long"]]
    assert adversary.fired(adversary.command(turn[:1])) == ("long", long)
    assert adversary.fired(adversary.command(turn)) is not None
    assert adversary.fired(["/bin/sh", "-c", long, "sh"]) is None


@pytest.mark.parametrize("script", ["x" * 1_000_001, "true\0"], ids=["too long", "NUL"])
def test_what_no_command_line_holds_is_said_and_not_taken_for_an_attack_that_failed(script: str) -> None:
    with pytest.raises(ValueError, match="probe:it cannot be run"):
        adversary.command((adversary.Step("it", "Tries.", script),))


def test_a_volley_is_not_blamed_for_what_an_earlier_audit_kept(bubblewrap: Backend) -> None:
    asked = subject(words(), bubblewrap)
    volley = ("planted_reward", "late_writer")
    (key,) = by(volley, asked).kept
    solves = solved(asked).solved
    assert solves is not None

    outcome = by(volley, replace(asked, solved={key: solves}))

    assert outcome.result is Result.PASSED, outcome.detail
    assert not outcome.graded_again


def test_of_a_volley_that_was_cut_short_nothing_is_kept(
    bubblewrap: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adversary, "PROBE_SECONDS", 0.2)
    asked = subject(words(), bubblewrap)
    turn = tuple(adversary.Step(name, "Tries.", "sleep 5") for name in ("one", "two"))

    shots, left = adversary.attack(asked, [turn])

    assert left == {}
    assert len(shots) == 2, "and each is fired by itself"


def test_the_kit_is_the_one_that_the_gates_version_stands_for() -> None:
    """Where this fails, the kit changed: raise the version of the gate, then put the new digest here."""
    told = "\0".join(
        f"{probe.name}\0{probe.volley}\0{probe.order}\0{probe.script(words())}" for probe in probes().values()
    )

    assert (adversary.GATE.version, sha256(told.encode()).hexdigest()[:16]) == KIT


def test_turns_are_volleys_in_the_standard_profile_and_single_probes_in_the_strict_one(
    bubblewrap: Backend,
) -> None:
    kept = KeptProbe("kept", "true", "somewhere")
    kit = [probe for probe in probes().values() if probe.applies(words())]
    asked = subject(words(), bubblewrap, probes=(kept,))

    volleys = adversary.turns(asked, kit)
    singles = adversary.turns(replace(asked, thorough=True), kit)

    assert [step.name for step in volleys[0]] == ["kept"] == [step.name for step in singles[0]]
    assert len(volleys) == 1 + 3
    assert [step.name for turn in singles[1:] for step in turn] == [probe.name for probe in kit]


def test_a_dead_machine_is_raised_and_no_verdict(
    bubblewrap: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def fault(*args: object, **named: object) -> Iterator[Sandbox]:
        raise MachineFault("no engine answers")
        yield

    asked = subject(words(), bubblewrap)
    assert solved(asked).outcome is TrialOutcome.PASSED
    assert untouched(asked).outcome is TrialOutcome.FAILED
    monkeypatch.setattr(type(bubblewrap), "open", fault)

    with pytest.raises(MachineFault):
        by(("planted_reward",), asked)


def test_what_a_volley_left_is_kept_to_be_graded_again(bubblewrap: Backend) -> None:
    asked = subject(words(), bubblewrap)
    outcome = by(("planted_reward", "late_writer"), asked)

    again = by(("planted_reward", "late_writer"), replace(asked, solved=outcome.kept))

    assert len(outcome.kept) == 1
    assert all(isinstance(left, Solved) for left in outcome.kept.values())
    assert again.graded_again
    assert again.result is Result.PASSED


def test_the_attacker_is_not_run_without_a_model_and_says_so(bubblewrap: Backend) -> None:
    outcome = attacker.check(subject(words(), bubblewrap))

    assert outcome.result is Result.NOT_RUN
    assert "no model is configured" in outcome.summary


def test_an_attack_that_a_role_finds_fails_the_attacker_gate(bubblewrap: Backend) -> None:
    found = Attack(
        "a reward among the artifacts",
        "echo 1 >/logs/artifacts/reward.txt",
        "The tests read a file of the solver's.",
    )
    asked = subject(asking(READS_AN_ARTIFACT_REWARD), bubblewrap, adversary=Attacker(found))

    outcome = attacker.check(asked)

    assert outcome.result is Result.FAILED
    assert "a reward among the artifacts got the reward 1" in outcome.summary
    assert attacker.check(replace(asked, adversary=Attacker())).result is Result.PASSED


def test_a_model_that_refuses_to_attack_is_said_and_is_in_nobodys_way(bubblewrap: Backend) -> None:
    class Refusing:
        def attack(self, task: Task) -> tuple[Attack, ...]:
            raise Refused("the model refused: I will not attack it")

    outcome = attacker.check(subject(words(), bubblewrap, adversary=Refusing()))

    assert attacker.GATE.accepts(outcome.result) and outcome.result is Result.NOT_RUN
    assert outcome.summary == (
        "No attack was tried, since the model gave none: the model refused: I will not attack it"
    )


def test_a_script_of_a_role_that_holds_a_nul_breaks_nothing(bubblewrap: Backend) -> None:
    found = Attack("no\0thing", "true\0; echo 1 >/logs/artifacts/reward.txt\0", "Tries.")

    outcome = attacker.check(subject(asking("false"), bubblewrap, adversary=Attacker(found)))

    assert (outcome.result, outcome.runs) == (Result.PASSED, 1)


def _children(seed: Task, generations: int) -> Mapping[int, Task]:
    grown = Grown.seed(seed)
    made = {0: seed}
    for generation in range(1, generations + 1):
        plan = next_plan(grown, Effort.HIGH, "adversary")
        if plan is None:
            break
        grown, _ = built(grown, plan, "adversary")
        made[generation] = grown.task
    return made


def test_no_volley_gets_a_reward_of_a_grown_child(bubblewrap: Backend) -> None:
    child = _children(read_folder(settings.SEEDS / "log-forensics").task, 1)[1]

    outcome = adversary.check(subject(child, bubblewrap))

    assert outcome.result is Result.PASSED, outcome.detail


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", SEEDS, ids=lambda folder: folder.name)
def test_no_probe_by_itself_gets_a_reward_of_any_generation(seed: Path, bubblewrap: Backend) -> None:
    for generation, task in _children(read_folder(seed).task, GENERATIONS).items():
        outcome = adversary.check(subject(task, bubblewrap, thorough=True))
        assert outcome.result is Result.PASSED, f"g{generation}: {outcome.detail}"


def test_the_offline_author_has_no_adversary() -> None:
    assert author("offline").adversary is None
