"""The two loops in this process, with a scripted author and a real sandbox."""

from __future__ import annotations

import pytest

from agents.plan import Direction, PlanDraft
from agents.roles import Brief, BuildOrder, Built, CannotBuild, NothingToPropose
from agents.scripted import ACCEPT, REJECT, Script, break_one, build_one, insert_one
from lineages.gates import profile
from lineages.growth import evolving
from lineages.growth.models import Attempt, Evolution, Plan
from lineages.library.calls import AgentCall, CommandRun
from lineages.library.models import Environment, GateResult
from lineages.library.snapshots import load
from sandboxes.files import TaskFile
from tests.lineages.conftest import begin, grow

pytestmark = pytest.mark.django_db(transaction=True)

LENGTH = {"directions": ("length",)}


def outcomes(evolution: Evolution) -> list[tuple[str, str]]:
    return list(evolution.attempts.values_list("direction", "outcome"))


def path(evolution: Evolution) -> list[str]:
    return list(evolution.history().values_list("to_status", flat=True))


def test_an_accepted_plan_becomes_a_verified_child_with_its_evidence(
    seed: Environment, script: Script
) -> None:
    evolution = grow(begin(seed, **LENGTH, profile="standard"))

    assert path(evolution) == ["plan_review", "building", "verifying", "accepted"]
    child = evolution.child
    assert child is not None
    assert (child.generation, child.k, child.direction, child.parent) == (1, 1, "length", seed)
    assert child.difficulty > seed.difficulty
    assert child.provisional, "bubblewrap builds no Dockerfile"
    results = {row.gate: row.outcome for row in GateResult.objects.filter(audit__snapshot=child.snapshot)}
    assert set(results) == {gate.name for gate in profile("standard")}
    assert {results[name] for name in ("oracle", "invalid_test", "conformance", "repeat")} == {"passed"}
    assert set(results.values()) == {"passed", "not_applicable"}
    assert CommandRun.objects.filter(result__gate="oracle").exists()
    assert set(AgentCall.objects.values_list("role", flat=True)) == {
        "proposer", "plan_reviewer", "modifier", "rubric_verifier",
    }  # fmt: skip


def test_each_generation_is_the_parent_of_the_next(seed: Environment, script: Script) -> None:
    last = grow(begin(seed, generations=3, **LENGTH))

    assert [each.reference for each in seed.lineage.environments.all()] == [
        "words/g0", "words/g1", "words/g2", "words/g3",
    ]  # fmt: skip
    assert last.child is not None
    assert last.child.parent is not None and last.child.parent.generation == 2
    assert len(load(last.child.snapshot).under("tests/units")) == 4
    assert not Evolution.objects.filter(previous=last).exists(), "three were asked for"


def test_a_rejected_plan_comes_back_to_the_proposer_with_the_judgement(
    seed: Environment, script: Script
) -> None:
    heard: list[int] = []

    def review(brief: Brief, plan: PlanDraft) -> object:
        heard.append(len(brief.history))
        return REJECT if len(heard) < 3 else ACCEPT

    script.review = review  # type: ignore[assignment]
    evolution = grow(begin(seed, **LENGTH))

    assert evolution.status == "accepted"
    assert heard == [0, 1, 2], "the reviewer sees the earlier rounds, not the plan it judges"
    assert Plan.objects.count() == 3


def test_when_the_rounds_are_spent_the_next_direction_starts_from_the_same_parent(
    seed: Environment, script: Script
) -> None:
    script.review = lambda brief, plan: REJECT
    evolution = grow(begin(seed))

    assert evolution.status == "exhausted"
    assert [outcome for _, outcome in outcomes(evolution)] == ["plans_spent"] * 3
    assert {direction for direction, _ in outcomes(evolution)} == set(Direction)
    # the scripted author inserts whatever the direction is called: only `length` gets as far as the rubric
    assert Plan.objects.count() == 9
    assert not seed.children.exists()


def test_an_illegal_edit_is_refused_by_the_rules_and_never_reaches_the_rubric(
    seed: Environment, script: Script
) -> None:
    asked: list[PlanDraft] = []
    script.review = lambda brief, plan: asked.append(plan) or ACCEPT  # type: ignore[func-returns-value]
    evolution = grow(begin(seed, directions=("skill",)))

    assert evolution.status == "exhausted"
    assert asked == []
    plan = Plan.objects.first()
    assert plan is not None
    review = plan.reviews.get()
    assert review.role == "rules"
    assert "replaces a pair of the parent" in review.comment


def test_a_proposer_without_ideas_ends_the_attempt_with_its_reason(seed: Environment, script: Script) -> None:
    def nothing(brief: Brief) -> PlanDraft:
        raise NothingToPropose("no input is left")

    script.propose = nothing
    evolution = grow(begin(seed))

    assert evolution.status == "exhausted"
    assert set(evolution.attempts.values_list("outcome", "reason")) == {("no_plan", "no input is left")}


def test_a_failed_oracle_is_repaired_on_its_evidence(seed: Environment, script: Script) -> None:
    orders: list[BuildOrder] = []

    def build(order: BuildOrder) -> Built:
        orders.append(order)
        return break_one(order) if order.revision == 0 else build_one(order)

    script.build = build
    evolution = grow(begin(seed, **LENGTH))

    assert path(evolution) == ["plan_review", "building", "verifying", "repairing", "verifying", "accepted"]
    assert [evidence.gate for evidence in orders[1].failures] == ["oracle"]
    assert orders[1].previous is not None
    attempt = evolution.attempts.get()
    assert [candidate.n for candidate in attempt.candidates.all()] == [0, 1]


def test_spent_repairs_close_the_attempt(seed: Environment, script: Script) -> None:
    script.build = break_one
    evolution = grow(begin(seed, **LENGTH))

    assert evolution.status == "exhausted"
    attempt = evolution.attempts.get()
    assert attempt.outcome == "repairs_spent"
    assert attempt.candidates.count() == 1 + evolution.recipe.repairs
    assert not seed.children.exists()


def test_a_modifier_that_refuses_or_changes_nothing_ends_the_attempt(
    seed: Environment, script: Script
) -> None:
    def build(order: BuildOrder) -> Built:
        raise CannotBuild("the tool is missing")

    script.build = build
    refused = grow(begin(seed, **LENGTH))
    script.build = lambda order: Built({}, (), order.composition)
    unchanged = grow(begin(seed, **LENGTH))

    assert refused.attempts.get().reason == "the tool is missing"
    assert unchanged.attempts.get().reason == "the modifier changed nothing"


def padding(order: BuildOrder) -> Built:
    built = build_one(order)
    (unit,) = built.bindings[0].test_units
    return Built({**built.changes, unit: TaskFile.text("exit 0\n")}, built.bindings, built.composition)


def stray(order: BuildOrder) -> Built:
    built = build_one(order)
    changes = {**built.changes, "environment/extra.txt": TaskFile.text("why?")}
    return Built(changes, built.bindings, built.composition)


def test_padding_and_a_stray_change_end_the_attempt_with_what_each_is(
    seed: Environment, script: Script
) -> None:
    """Both start from one seed, whose audit by the many gates of `standard` serves the second as well."""
    script.build = padding
    padded = grow(begin(seed, **LENGTH, profile="standard", repairs=0))
    script.build = stray
    strayed = grow(begin(seed, **LENGTH, profile="standard", repairs=0))

    assert [padded.status, strayed.status] == ["exhausted", "exhausted"]
    assert "padding" in padded.attempts.get().reason, "the tests pass without its block"
    assert (
        "environment/extra.txt was changed, but belongs to no changed pair" in strayed.attempts.get().reason
    )
    assert not seed.children.exists()


def test_a_seed_that_does_not_pass_its_audit_grows_nothing(seed: Environment, script: Script) -> None:
    script.judge = lambda *judged: REJECT
    evolution = grow(begin(seed, **LENGTH))

    assert evolution.status == "cancelled"
    assert "the parent did not pass its audit" in evolution.last_reason
    assert evolution.attempts.count() == 0


def test_a_fault_is_tried_again_and_uses_up_no_budget(seed: Environment, script: Script) -> None:
    tries: list[int] = []

    def flaky(brief: Brief) -> PlanDraft:
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionError("the model's service is away")
        return insert_one(brief)

    script.propose = flaky
    evolution = grow(begin(seed, **LENGTH))

    assert evolution.status == "accepted"
    assert (evolution.faults, evolution.fault) == (0, "")
    assert Plan.objects.count() == 1


def test_a_lasting_fault_ends_in_failed_and_an_operator_may_move_it_back(
    seed: Environment, script: Script, settings: pytest.FixtureRequest
) -> None:
    settings.FAULT_BACKOFF_SECONDS = 0

    def away(brief: Brief) -> PlanDraft:
        raise ConnectionError("away")

    script.propose = away
    evolution = grow(begin(seed, **LENGTH))
    assert (evolution.status, evolution.failed_in) == ("failed", "drafting")
    assert "ConnectionError: away" in evolution.fault
    assert evolution.attempts.get().outcome == Attempt.Outcome.OPEN

    script.propose = insert_one
    evolving.move_back(evolution, by=None)

    assert grow(evolution).status == "accepted"


@pytest.mark.parametrize("approval", ["plans", "environments", "both"])
def test_the_approval_policy_stops_where_a_person_decides(
    approval: str, seed: Environment, script: Script
) -> None:
    evolution = grow(begin(seed, approval=approval, **LENGTH))

    assert evolution.status == ("sign_off" if approval == "environments" else "plan_approval")
    assert not seed.children.exists()
