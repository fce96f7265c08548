"""What outdates a gate's answer: exactly what it depended on, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from agents.plan import Change, PlanDraft, Sequence
from lineages.gates import PROFILES, all_gates, profile
from lineages.gates.base import Input, Subject
from lineages.gates.surroundings import Archive, Benchmarks, KeptProbe
from sandboxes.base import Limits
from sandboxes.files import TaskFile
from tests.lineages.test_gates import BINDING, PAIR, PLAN, Engine, subject
from tests.tasks import words

TASK = "environment solution tests instruction config"
TRIAL = "environment solution tests config backend base"
LOOKS = "environment tests config backend base"

DEPENDS_ON = {
    "static": TASK,
    "build": LOOKS,
    "oracle": f"{TRIAL} repeats",
    "invalid_test": f"{LOOKS} instruction",
    "initial_state": f"{LOOKS} parent",
    "repeat": f"{TRIAL} repeats",
    "kept_tests": "tests config parent",
    "parent_solution": f"{TRIAL} parent",
    "minimum_change": "environment solution tests instruction parent",
    "no_undo": "environment solution tests instruction parent archive",
    "contract": "environment tests instruction config",
    "leaks": f"{TASK} backend base thorough",
    "adversary": f"{TRIAL} instruction probes thorough",
    "contamination": "solution tests instruction benchmarks",
    "rubrics": f"{TASK} plan judge rubric",
    "conformance": f"{TRIAL} instruction parent plan",
    "graded_apart": "config",
    "wrong_solution": f"{TRIAL} instruction thorough",
    "another_solution": f"{TRIAL} instruction judge",
    "attacker": f"{TRIAL} instruction judge",
}
"""As docs/gates.md has it: a gate that is not here, or depends on something else, fails these tests."""

Changed = Callable[[Subject], Subject]


def file(path: str, text: str) -> Changed:
    return lambda one: replace(one, task=one.task.replace({path: TaskFile.text(text)}))


def mode(path: str, bits: int) -> Changed:
    return lambda one: replace(one, task=one.task.replace({path: TaskFile(one.task.files[path].data, bits)}))


def fields(**new: object) -> Changed:
    return lambda one: replace(one, **new)  # type: ignore[arg-type]


CHANGES: dict[str, tuple[str, Changed]] = {
    "a word of the instruction": ("instruction", file("instruction.md", "Else.")),
    "a solution file": ("solution", file("solution/parts/first.sh", "true")),
    "a new solution file": ("solution", file("solution/parts/zero.sh", "true")),
    "the solution's mode": ("solution", mode("solution/solve.sh", 0o644)),
    "a test": ("tests", file("tests/units/first.sh", "true")),
    "a file of the environment": ("environment", file("environment/data.txt", "1")),
    "task.toml": ("config", file("task.toml", words().text("task.toml") + "# more\n")),
    "the plan": ("plan", fields(plan=PLAN.model_copy(update={"summary": "Other"}))),
    "a binding": ("plan", fields(bindings=(BINDING.model_copy(update={"requirement": "Other."}),))),
    "no plan": ("plan", fields(plan=None, bindings=())),
    "the parent": ("parent", fields(parent=words().replace({"README.md": TaskFile.text("x")}))),
    "who judges": ("judge", fields(judge_name="somebody")),
    "the judge's own code": ("judge", fields(judge_version="2")),
    "a criterion's wording": ("rubric", fields(rubric="2" * 64)),
    "the backend": ("backend", fields(backend=Engine(version="2"))),
    "a rebuilt base image": ("base", fields(backend=Engine(base="rebuilt"))),
    "how often": ("repeats", fields(repeats=10)),
    "how thoroughly": ("thorough", fields(thorough=True)),
    "the archive": ("archive", fields(archive=Archive("2"))),
    "a marked benchmark": ("benchmarks", fields(benchmarks=Benchmarks("2", ("set",), {}))),
    "a kept probe": ("probes", fields(probes=(KeptProbe("one", "true", "found"),))),
    "labels": ("", fields(labels={"lease": "x"})),
    "limits": ("", fields(limits=Limits(pids=7))),
    "a mode that no copy keeps": ("", mode("environment/Dockerfile", 0o600)),
    "a file beside the task's parts": ("", file("README.md", "read me")),
}


def keys(one: Subject) -> dict[str, str]:
    return {name: gate.key(one) for name, gate in all_gates().items()}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_outdates_exactly_the_answers_that_depended_on_it(what: str) -> None:
    part, change = CHANGES[what]
    before, after = keys(subject()), keys(change(subject()))

    outdated = {name for name in before if before[name] != after[name]}

    assert outdated == {name for name, parts in DEPENDS_ON.items() if part in parts.split()}


def test_every_gate_and_every_input_is_in_the_table() -> None:
    assert {name: gate.inputs for name, gate in all_gates().items()} == {
        name: frozenset(Input(part) for part in parts.split()) for name, parts in DEPENDS_ON.items()
    }
    assert {part for part, _ in CHANGES.values()} - {""} == set(Input)


def test_a_key_is_the_same_for_the_same_things_and_no_two_gates_share_one() -> None:
    assert keys(subject()) == keys(subject())
    assert len(set(keys(subject()).values())) == len(all_gates())


def test_a_new_version_of_a_gate_is_a_new_key() -> None:
    for gate in all_gates().values():
        assert replace(gate, version=gate.version + 1).key(subject()) != gate.key(subject())


def test_content_that_moves_from_one_file_to_another_is_a_change() -> None:
    files = words().files
    moved = words().replace(
        {"solution/parts/first.sh": None, "solution/parts/1st.sh": files["solution/parts/first.sh"]}
    )

    assert keys(subject(task=moved))["oracle"] != keys(subject(task=words()))["oracle"]


def test_a_solvers_work_is_known_by_what_it_hangs_on_and_not_by_the_tests() -> None:
    plain = subject()
    new_tests = file("tests/units/first.sh", "true")(plain)
    new_solution = file("solution/parts/first.sh", "true")(plain)

    assert new_tests.solve_key("oracle") == plain.solve_key("oracle")
    assert new_solution.solve_key("oracle") != plain.solve_key("oracle")
    assert new_solution.solve_key("nop", reads_solution=False) == plain.solve_key("nop", reads_solution=False)
    assert plain.solve_key("nop") != plain.solve_key("oracle")


def test_every_gate_says_what_its_failure_means_what_it_costs_and_belongs_to_a_profile() -> None:
    for name, gate in all_gates().items():
        assert gate.failing.endswith("."), name
        assert gate.cost and gate.title, name
        assert gate.profiles and gate.profiles <= set(PROFILES), name
        assert "strict" in gate.profiles, "the strict profile has every gate"


def test_no_person_may_waive_what_makes_a_reward_worthless() -> None:
    fixed = {name for name, gate in all_gates().items() if not gate.waivable}

    assert fixed == {"build", "oracle", "invalid_test", "repeat", "adversary"}
    assert fixed - {"repeat", "adversary"} <= {gate.name for gate in profile("fast")}


def test_only_what_nothing_here_can_ask_is_not_required() -> None:
    assert {name for name, gate in all_gates().items() if not gate.required} == {
        "another_solution",
        "attacker",
    }


def test_a_plan_of_another_shape_is_another_plan() -> None:
    other = PlanDraft(
        direction="skill",
        effort="low",
        before=Sequence(),
        after=Sequence(pairs=(PAIR,)),
        changes=(Change(kind="insert", pair=PAIR),),
        summary=PLAN.summary,
        rationale=PLAN.rationale,
    )

    assert keys(subject(plan=other))["conformance"] != keys(subject())["conformance"]
