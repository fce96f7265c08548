"""Gates as functions: what their keys hang on, in what order they run, and what they find."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from agents.plan import Binding, Change, Judgement, Pair, PlanDraft, Sequence
from agents.rubrics import ENVIRONMENT_RUBRIC, Rubric
from agents.scripted import ACCEPT, REJECT
from lineages.gates import (
    PROFILES,
    all_gates,
    build,
    conformance,
    invalid_test,
    kept_tests,
    oracle,
    profile,
    rubrics,
)
from lineages.gates.base import Finding, Gate, Outcome, Result, Subject, evidence, found
from lineages.library import audits, machine
from lineages.library.calls import CommandRun
from lineages.library.models import Audit
from lineages.library.snapshots import store
from sandboxes.base import Image, Limits, Sandbox
from sandboxes.errors import BuildFailed, MachineFault, SandboxDied, SandboxError, TimedOut, Unsupported
from sandboxes.files import TaskFile
from sandboxes.task import Task
from tests.tasks import FIRST_UNIT, words


@dataclass
class Engine:
    """A machine that answers nothing but its name, and fails as it is told to."""

    version: str = "1"
    base: str = "0" * 64
    fault: SandboxError | None = None
    name: str = "engine"
    provisional: bool = False

    def identity(self) -> str:
        return f"{self.name} {self.version}"

    def check(self) -> None:
        return None

    def bases(self, context: Mapping[str, TaskFile]) -> Mapping[str, str]:
        return {"debian": self.base}

    def build(self, context: Mapping[str, TaskFile], *, timeout: float) -> Image:
        if self.fault:
            raise self.fault
        return Image("0" * 64, self.name)

    @contextmanager
    def open(self, image: Image, limits: Limits, *, labels: Mapping[str, str]) -> Iterator[Sandbox]:
        raise SandboxDied("the container is gone")
        yield

    fork = open  # type: ignore[assignment]

    def sweep(self, is_live: Callable[[Mapping[str, str]], bool]) -> int:
        return 0


@dataclass
class Judge:
    answer: Judgement = field(default_factory=lambda: ACCEPT)

    def judge(
        self,
        task: Task,
        plan: PlanDraft | None,
        bindings: tuple[Binding, ...],
        rubric: Rubric = ENVIRONMENT_RUBRIC,
    ) -> Judgement:
        return self.answer


PAIR = Pair(
    key="second", scenario="result file", skill="write a word", tool="printf", origin="owned",
    target="/app/out/second", block="solution/parts/second.sh",
)  # fmt: skip
PLAN = PlanDraft(
    direction="length",
    effort="high",
    before=Sequence(),
    after=Sequence(pairs=(PAIR,)),
    changes=(Change(kind="insert", pair=PAIR),),
    summary="One more word",
    rationale="one more thing to do",
)
BINDING = Binding(
    key="second",
    solution_block="solution/parts/second.sh",
    test_units=("tests/units/second.sh",),
    environment_paths=("environment/notes/second.txt",),
    requirement="Write the word ready to /app/out/second.",
)
STRAY = BINDING.model_copy(update={"key": "unplanned", "environment_paths": ("environment/extra",)})
CHILD = {
    "instruction.md": f"{words().text('instruction.md')}{BINDING.requirement}\n",
    "environment/notes/second.txt": "A second word is wanted.\n",
    "solution/parts/second.sh": "#!/bin/bash\nprintf ready > /app/out/second\n",
    "tests/units/second.sh": FIRST_UNIT.replace("first", "second"),
}


def subject(changes: Mapping[str, str | None] | None = None, **fields: object) -> Subject:
    """The child of `words` with one more part, on an engine that runs nothing."""
    texts = {**CHILD, **(changes or {})}
    task = words().replace(
        {path: None if text is None else TaskFile.text(text) for path, text in texts.items()}
    )
    whole = Subject(
        task=task,
        backend=Engine(),
        limits=Limits(memory_mb=256),
        labels={},
        judge=Judge(),
        judge_name="scripted",
        rubric="1" * 64,
        parent=words(),
        plan=PLAN,
        bindings=(BINDING,),
    )
    return replace(whole, **fields)  # type: ignore[arg-type]


def seed(changes: Mapping[str, str | None] | None = None, **fields: object) -> Subject:
    """The task alone, without a plan and a parent."""
    mended = {path: None if text is None else TaskFile.text(text) for path, text in (changes or {}).items()}
    alone: dict[str, object] = {"task": words().replace(mended), "parent": None, "plan": None, "bindings": ()}
    return subject(**{**alone, **fields})  # type: ignore[arg-type]


def really(one: Subject) -> Subject:
    """The same on this machine's own sandboxes."""
    return replace(one, backend=machine.backend())


# order


def test_a_profile_runs_every_gate_behind_those_it_waits_for() -> None:
    for name in PROFILES:
        seen: list[str] = []
        for gate in profile(name):
            assert set(gate.after) <= set(seen), f"{gate.name} would run before {gate.after}"
            seen.append(gate.name)
        assert len(seen) == len(set(seen))


def test_each_wider_profile_asks_all_that_a_narrower_one_does() -> None:
    asked = {name: {gate.name for gate in profile(name)} for name in PROFILES}

    assert asked["fast"] | asked["paper"] <= asked["standard"] < asked["strict"]
    assert asked["strict"] == set(all_gates())
    assert asked["paper"] == {"static", "build", "oracle", "invalid_test", "rubrics"}


def test_an_unknown_profile_names_those_that_exist() -> None:
    with pytest.raises(ValueError, match="'deep'; there are: fast, paper, standard, strict"):
        profile("deep")


def test_a_file_of_this_folder_without_a_gate_is_none() -> None:
    assert not {"base", "trials"} & set(all_gates())
    assert all(isinstance(gate, Gate) for gate in all_gates().values())


def test_what_is_accepted_of_a_required_gate() -> None:
    assert [result for result in Result if result.accepted] == [Result.PASSED, Result.NOT_APPLICABLE]


# build


@pytest.mark.parametrize(
    ("fault", "result", "summary"),
    [
        (
            BuildFailed("RUN make: exit 2", "cc: not found"),
            Result.FAILED,
            "environment/Dockerfile does not build",
        ),
        (TimedOut("600 seconds", 600), Result.FAILED, "environment/Dockerfile did not build in time"),
        (Unsupported("RUN --mount needs BuildKit"), Result.ERROR, "RUN --mount needs BuildKit"),
    ],
    ids=["failed", "timeout", "unsupported"],
)
def test_each_way_not_to_build_is_an_outcome_of_its_own(
    fault: SandboxError, result: Result, summary: str
) -> None:
    outcome = build.check(seed(backend=Engine(fault=fault)))

    assert outcome.result is result
    assert summary in outcome.summary
    assert outcome.detail == (fault.log if isinstance(fault, BuildFailed) else "")


def test_a_build_on_a_provisional_backend_says_that_nothing_was_built() -> None:
    outcome = build.check(seed(backend=Engine(provisional=True)))

    assert outcome.result is Result.PASSED
    assert "engine does not build Dockerfiles" in outcome.summary


# trials, in a real sandbox

HALF = "#!/bin/bash\nmkdir -p /logs/verifier\necho 0.5 > /logs/verifier/reward.txt\n"


def test_the_reference_solution_has_to_get_the_full_reward() -> None:
    good, half = (oracle.check(really(seed(changes))) for changes in ({}, {"tests/test.sh": HALF}))

    assert (good.result, good.reward) == (Result.PASSED, 1.0)
    assert [command.argv[-1] for command in good.commands] == ["/solution/solve.sh", "/tests/test.sh"]
    assert (half.result, half.reward) == (Result.FAILED, 0.5)
    assert "reward 0.5" in half.summary


def test_an_untouched_environment_gets_no_reward_at_all() -> None:
    good, half = (invalid_test.check(really(seed(changes))) for changes in ({}, {"tests/test.sh": HALF}))

    assert (good.result, good.reward) == (Result.PASSED, 0.0)
    assert (half.result, half.reward) == (Result.FAILED, 0.5)


def test_a_change_without_which_the_tests_pass_is_padding() -> None:
    needed = conformance.check(really(subject()))
    padding = conformance.check(really(subject({"tests/units/second.sh": "exit 0\n"})))

    assert needed.result is Result.PASSED
    assert (padding.result, padding.reward) == (Result.FAILED, 1.0)
    assert "solution/parts/second.sh" in padding.summary and "padding" in padding.summary
    assert padding.commands


def test_a_test_that_only_looks_whether_a_result_is_there_is_not_enough() -> None:
    weak = conformance.check(really(subject({"tests/units/second.sh": "[ -f /app/out/second ]\n"})))

    assert weak.result is Result.FAILED
    assert "What second asks for is not checked" in weak.summary
    assert weak.findings and "/app/out/second" in str(weak.findings[0])


# conformance, by the files alone


def bound(**changes: object) -> dict[str, object]:
    return {"bindings": (BINDING.model_copy(update=changes),)}


@pytest.mark.parametrize(
    ("changes", "fields", "finding"),
    [
        ({}, {"bindings": ()}, "The plan changes second, but nothing built belongs to it."),
        ({}, bound(key="other"), "The plan changes second, but nothing built belongs to it."),
        ({"solution/parts/second.sh": None}, {}, "second names solution/parts/second.sh, which"),
        ({"tests/units/second.sh": None}, {}, "second names tests/units/second.sh, which"),
        ({}, bound(environment_paths=("environment/x",)), "second names environment/x, which"),
        ({"environment/notes/second.txt": None}, bound(environment_paths=()), "nothing under environment/"),
        ({}, {"bindings": (BINDING, BINDING)}, "second is bound 2 times"),
        ({"tests/units/second.sh": None}, bound(test_units=()), "second has nothing under tests/"),
        ({"instruction.md": "Write the word.\n"}, {}, "does not state what second requires"),
        ({}, bound(requirement=words().text("instruction.md")), "stands in the parent's instruction already"),
        ({}, {"bindings": (BINDING, STRAY)}, "2 pairs require one thing, 'Write the word ready"),
        ({"environment/extra": "x"}, {}, "environment/extra was changed, but"),
        ({"tests/units/first.sh": "true"}, {}, "tests/units/first.sh was changed, but"),
        ({"solution/parts/first.sh": None}, {}, "solution/parts/first.sh was changed, but"),
    ],
)  # fmt: skip
def test_conformance_finds_what_the_plan_does_not_cover(
    changes: dict[str, str | None], fields: dict[str, object], finding: str
) -> None:
    outcome = conformance.check(subject(changes, **fields))

    assert outcome.result is Result.FAILED
    assert finding in outcome.detail
    assert outcome.commands == (), "nothing is run while the files do not fit"


def test_a_seed_has_nothing_to_conform_to() -> None:
    assert conformance.check(seed()).result is Result.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({}, bound(requirement="")),
        ({"solution/parts/second.sh": None}, bound(solution_block="tests/units/second.sh")),
        (
            {"solution/parts/second.sh": None, "solution/parts/first.sh": None},
            bound(solution_block="solution/parts/first.sh"),
        ),
        ({"environment/extra": "x"}, {"bindings": (BINDING, STRAY)}),
        ({}, bound(solution_block="solution/parts/first.sh")),
        ({}, bound(test_units=("tests/units/first.sh",))),
    ],
    ids=[
        "empty requirement",
        "block is no solution",
        "block was removed",
        "binding of no pair",
        "the parent's block",
        "the parent's unit",
    ],
)
def test_conformance_refuses_a_binding_that_binds_nothing(
    changes: dict[str, str | None], fields: dict[str, object]
) -> None:
    outcome = conformance.check(really(subject(changes, **fields)))

    assert outcome.result is Result.FAILED
    assert outcome.commands == ()


# kept_tests, by the files alone


CONFIG = words().text("task.toml")
VERIFIER = words().text("tests/Dockerfile")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tests/units/third.sh": "exit 0\n"},
        {"tests/Dockerfile": f"{VERIFIER}COPY more /held/\n"},
        {"task.toml": CONFIG.replace('["/app/out"]', '["/app/out", "/app/more"]')},
        {"task.toml": CONFIG.replace("envevo-tests/words", "envevo-tests/words-g1")},
    ],
    ids=["as it is", "one more unit", "one more copy", "one more artifact", "another name"],
)
def test_a_child_may_ask_for_more(changes: dict[str, str | None]) -> None:
    assert kept_tests.check(subject(changes)).result is Result.PASSED


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        (
            {"tests/units/first.sh": "exit 0\n"},
            "tests/units/first.sh is a test of the parent and was changed",
        ),
        ({"tests/units/first.sh": None}, "tests/units/first.sh is a test of the parent and was changed"),
        ({"tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n"}, "tests/test.sh is a test of the parent"),
        ({"tests/Dockerfile": f"{VERIFIER}RUN rm -r /tests/units\n"}, "tests/Dockerfile:4 RUN is new"),
        ({"tests/Dockerfile": f"{VERIFIER}ENV PATH=/held\n"}, "tests/Dockerfile:4 ENV is new"),
        ({"task.toml": CONFIG.replace('["/app/out"]', '["/app"]')}, "no longer hands over '/app/out'"),
        ({"task.toml": CONFIG.replace("timeout_sec = 30.0", "timeout_sec = 3.0")}, "task.toml differs from"),
        ({"task.toml": CONFIG.replace('"separate"', '"shared"')}, "gives up the separate verifier"),
    ],
)
def test_a_child_may_not_ask_for_less(changes: dict[str, str | None], finding: str) -> None:
    outcome = kept_tests.check(subject(changes))

    assert outcome.result is Result.FAILED
    assert finding in outcome.detail


def test_a_seed_has_no_tests_to_keep() -> None:
    assert kept_tests.check(seed()).result is Result.NOT_APPLICABLE


# rubrics


def test_the_rubric_gate_is_the_judges_answer() -> None:
    good, bad = (rubrics.check(seed(judge=Judge(answer))) for answer in (ACCEPT, REJECT))

    assert (good.result, good.judgement) == (Result.PASSED, ACCEPT)
    assert (bad.result, bad.judgement) == (Result.FAILED, REJECT)
    assert bad.summary == "scripted: as the script says"


# evidence


def test_long_evidence_keeps_head_and_tail_and_says_what_was_cut() -> None:
    short = evidence("oracle", Outcome(Result.FAILED, "it failed", detail="a" * 100))
    long = evidence("oracle", Outcome(Result.FAILED, "it failed", detail="a" * 60 + "b" * 60), cap=100)

    assert short.detail == "a" * 100
    assert long.detail == f"{'a' * 50}\n[… 20 characters cut …]\n{'b' * 50}"
    assert (long.gate, long.outcome, long.summary) == ("oracle", "failed", "it failed")


# how an audit stores them


def audited(one: Subject) -> tuple[Audit, dict[str, str]]:
    audit = audits.open_audit(store(one.task), one, profile="standard")
    audits.run(audit, one)
    audit.refresh_from_db()
    return audit, dict(audit.results.values_list("gate", "outcome"))


@pytest.mark.django_db(transaction=True)
def test_a_gate_that_breaks_is_an_error_with_its_reason() -> None:
    class Broken:
        def judge(
            self,
            task: Task,
            plan: PlanDraft | None,
            bindings: tuple[Binding, ...],
            rubric: Rubric = ENVIRONMENT_RUBRIC,
        ) -> Judgement:
            raise RuntimeError("out of words")

    audit, outcomes = audited(seed(judge=Broken()))

    assert outcomes["rubrics"] == "error"
    assert audit.status == Audit.Status.ERROR
    assert audit.results.get(gate="rubrics").summary == "The gate itself broke: RuntimeError: out of words"


@pytest.mark.django_db(transaction=True)
def test_behind_a_gate_that_failed_nothing_is_run() -> None:
    audit, outcomes = audited(seed({"instruction.md": "See /tests.\n"}))

    assert outcomes == {name: "failed" if name == "static" else "not_run" for name in outcomes}
    assert audit.status == Audit.Status.REJECTED
    assert "This names '/tests'" in audit.last_reason
    summaries = dict(audit.results.values_list("gate", "summary"))
    assert summaries["oracle"] == "Not run, because static, build did not pass."
    assert not CommandRun.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("fault", "broken"),
    [(MachineFault("no engine answers"), {"build"}), (None, {"oracle", "invalid_test", "leaks"})],
    ids=["no engine", "containers die"],
)
def test_a_machine_that_fails_is_an_error_and_no_verdict_on_the_task(
    fault: SandboxError | None, broken: set[str]
) -> None:
    audit, outcomes = audited(seed(backend=Engine(fault=fault)))

    assert {name for name, outcome in outcomes.items() if outcome == "error"} == broken
    assert "failed" not in outcomes.values()
    assert audit.status == Audit.Status.ERROR
    assert audit.last_reason.startswith("The machine failed, not the task: ")
    assert outcomes["rubrics"] == "passed", "what needs no machine is judged all the same"


def test_no_number_of_warnings_hides_a_failure_and_what_is_not_listed_is_counted() -> None:
    warned = [Finding(f"warning {number}", warning=True) for number in range(300)]

    said = found([*warned, Finding("it leaks", "tests/a", 3)], "well")

    assert (said.result, said.summary) == (Result.FAILED, "tests/a:3 it leaks")
    assert (said.findings[0].text, len(said.findings)) == ("it leaks", 201)
    assert said.findings[-1].text == "101 more findings are not listed."
    assert found(warned[:2], "well").findings == tuple(warned[:2])
