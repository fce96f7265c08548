"""Several generations in a row, each really run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents.offline.objects import subjects
from agents.plan import Direction, Effort
from agents.rubrics import ENVIRONMENT_RUBRIC
from lineages.edits import violations
from lineages.gates import build, conformance, invalid_test, kept_tests, oracle, rubrics, static
from lineages.gates.base import Result, Subject
from sandboxes.base import Backend
from sandboxes.task import Task
from sandboxes.trial import Solver, Trial, TrialOutcome
from sandboxes.trial import oracle as reference
from tests.agents.conftest import LIMITS, output
from tests.agents.growing import OFFLINE, Grown, Rewards, accepted, built, next_plan, plan_of
from tests.agents.tasks import LIST, ORDERS, SEPARATE, TOTALS, regions


@pytest.mark.parametrize("effort", list(Effort))
def test_three_generations_in_a_row(effort: Effort, rewards: Callable[..., Rewards]) -> None:
    grown = Grown.seed(regions())
    for _ in range(3):
        plan = next_plan(grown, effort, "three")
        assert plan is not None
        assert violations(plan, grown.sequence, plan.direction, effort) == []
        child, made = built(grown, plan)
        assert [binding.key for binding in made.bindings] == [change.pair.key for change in plan.changes]
        assert OFFLINE.rubric_verifier.judge(child.task, plan, made.bindings).accepted
        rewards(
            child.task, [binding.solution_block for binding in made.bindings]
        ).assert_only_the_oracle_passes()
        grown = child
    assert grown.task.config.task.name == "envevo-tests/regions-g3"


GATES = (static, build, kept_tests, oracle, invalid_test, conformance, rubrics)


@pytest.mark.parametrize("separate", [False, True])
def test_every_gate_passes_when_all_inputs_are_taken_away_one_after_the_other(
    separate: bool, bubblewrap: Backend
) -> None:
    grown = Grown.seed(regions(SEPARATE if separate else None))
    for operator, variant, path in (
        ("shuffled_parts", "by_revision", ORDERS),
        ("encoded_text", "base64url_records", LIST),
        ("sealed_archive", "tar_gz_sums", TOTALS),
        ("pointer_chain", "arithmetic", "/app/handover/02-encoded-text/records.txt"),
    ):
        plan = plan_of(grown, operator, variant, path)
        child, made = built(grown, plan)
        subject = Subject(
            task=child.task,
            backend=bubblewrap,
            limits=LIMITS,
            labels={"test": "agents"},
            judge=OFFLINE.rubric_verifier,
            judge_name=OFFLINE.name,
            rubric=ENVIRONMENT_RUBRIC.version,
            parent=grown.task,
            plan=plan,
            bindings=made.bindings,
        )
        for gate in GATES:
            outcome = gate.GATE.check(subject)
            said = (gate.GATE.name, operator, outcome.summary, outcome.detail)
            assert outcome.result is Result.PASSED, said
        grown = child


@pytest.mark.parametrize("direction", list(Direction))
def test_a_generation_in_each_direction_at_each_effort(direction: Direction) -> None:
    parent = Grown.seed(regions())
    for effort in Effort:
        for seed in ("a", "b", "c"):
            plan = accepted(parent, direction, effort, seed)
            assert plan is not None
            assert violations(plan, parent.sequence, direction, effort) == []
            built(parent, plan)


def test_obstacles_nest_three_deep_and_no_deeper(rewards: Callable[..., Rewards]) -> None:
    """Parts of the input; one part encoded; the dump of that part in an archive."""
    grown = Grown.seed(regions())
    grown, _ = built(grown, plan_of(grown, "shuffled_parts", "by_position", ORDERS))
    part = next(
        path for path in grown.composition.uses[0].needed if path.endswith(".part") and big(grown, path)
    )
    grown, _ = built(grown, plan_of(grown, "encoded_text", "base16_dump", part))
    dump = next(path for path in grown.composition.uses[1].needed if path.endswith("dump.txt"))
    grown, made = built(grown, plan_of(grown, "mislabeled_archive", "tar_gz", dump))
    assert sorted(grown.task.under("solution/steps"))[:3] == [
        "47-mislabeled-archive",
        "48-encoded-text",
        "49-shuffled-parts",
    ]
    blocks = [f"solution/steps/{name}" for name in sorted(grown.task.under("solution/steps"))[:3]]
    rewards(grown.task, blocks).assert_only_the_oracle_passes()
    innermost = made.composition.uses[2].needed[0]
    found = {
        subject.path: subject.depth for subject in subjects(grown.task, grown.sequence, grown.composition)
    }
    assert found[innermost] == 3
    deeper = plan_of(
        grown, "transcoded", "utf16", next(path for path in found if path.endswith("manifest.tsv"))
    )
    assert deeper.changes[0].pair.key == f"in:{ORDERS}"


def test_nothing_is_taken_away_that_stands_in_the_image_twice() -> None:
    twice = {"environment/data/copy.csv": regions().text("environment/data/orders.csv")}
    grown = Grown.seed(regions(twice))
    assert ORDERS not in {subject.path for subject in subjects(grown.task, grown.sequence, grown.composition)}


def big(grown: Grown, path: str) -> bool:
    return len(grown.task.files[f"environment/overlay{path}"].data) >= 64


def test_nothing_is_put_before_a_decoy() -> None:
    """What the restoration could do without is no object, or the new step would be padding."""
    grown = Grown.seed(regions())
    grown, _ = built(grown, plan_of(grown, "mislabeled_archive", "one_of_many", ORDERS))
    delivered = grown.task.under("environment/overlay/app/handover/01-mislabeled-archive")
    objects = {subject.path for subject in subjects(grown.task, grown.sequence, grown.composition)}
    assert len(delivered) > 1
    assert len([path for path in objects if path.startswith("/app/handover/01-mislabeled-archive/")]) == 1


@pytest.mark.parametrize("effort", list(Effort))
def test_a_long_lineage_still_has_a_solution(
    effort: Effort, attempt: Callable[[Task, Solver], Trial]
) -> None:
    """As deep as it goes, fifteen at most; only the last child is run, for it holds all steps before it."""
    grown = Grown.seed(regions())
    while grown.generation < 15 and (plan := next_plan(grown, effort, "long")) is not None:
        assert violations(plan, grown.sequence, plan.direction, effort) == []
        grown, made = built(grown, plan)
        assert OFFLINE.rubric_verifier.judge(grown.task, plan, made.bindings).accepted
    assert grown.generation >= 8
    trial = attempt(grown.task, reference)
    assert trial.outcome is TrialOutcome.PASSED, output(trial)


def test_consecutive_generations_work_on_different_objects_with_different_operators() -> None:
    grown = Grown.seed(regions())
    for _ in range(8):
        plan = next_plan(grown, Effort.HIGH, "apart")
        assert plan is not None
        last = [use for use in grown.composition.uses if use.generation == grown.generation]
        assert not {use.subject for use in last} & {change.subject for change in plan.changes}
        assert not {use.operator for use in last} & {change.operator for change in plan.changes}
        grown, _ = built(grown, plan)
    counts = [use.operator for use in grown.composition.uses]
    assert max(counts.count(name) for name in counts) <= 2
