"""Who proposes, reviews, builds and repairs, and when each of them says no."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents.authors import author
from agents.plan import (
    Composition,
    Direction,
    Effort,
    Judgement,
    PlanDraft,
    Sequence,
    Use,
    Verdict,
)
from agents.roles import AgentsError, BuildOrder, CannotBuild, Evidence, NothingToPropose
from agents.rubrics import ENVIRONMENT_RUBRIC, PLAN_RUBRIC
from tests.agents.growing import OFFLINE, Grown, brief, built, order, plan_of
from tests.agents.tasks import LIST, ORDERS, TOTALS, regions


def failed(judgement: Judgement) -> set[str]:
    return {verdict.criterion for verdict in judgement.failures}


def review(parent: Grown, plan: PlanDraft, effort: Effort = Effort.LOW, **fields: object) -> Judgement:
    asked = brief(parent, plan.direction, effort)
    return OFFLINE.plan_reviewer.review(replace(asked, **fields), plan)  # type: ignore[arg-type]


def test_an_unknown_author_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(AgentsError, match="offline"):
        author("nobody")


def test_the_offline_author_is_trusted_and_says_who_it_is() -> None:
    assert (OFFLINE.name, OFFLINE.trusted) == ("offline", True)


def test_a_reviewer_judges_every_criterion_of_the_rubric() -> None:
    parent = Grown.seed(regions())
    judgement = review(parent, plan_of(parent, "shuffled_parts", "by_header", ORDERS))
    assert tuple(verdict.criterion for verdict in judgement.verdicts) == PLAN_RUBRIC.keys
    assert judgement.accepted


def test_quotes_stand_in_the_plan_word_for_word() -> None:
    parent = Grown.seed(regions())
    plan = plan_of(parent, "shuffled_parts", "by_header", ORDERS)
    bad = plan.model_copy(update={"changes": plan.changes * 2, "effort": Effort.MAX})
    for judged in (plan, bad):
        for verdict in review(parent, judged).verdicts:
            assert verdict.quote in judged.model_dump_json() or verdict.quote in judged.summary


def worked_on(parent: Grown, *uses: Use) -> Grown:
    return replace(parent, composition=Composition(uses=uses), generation=1)


def use(operator: str, variant: str, subject: str, generation: int = 1) -> Use:
    return Use(operator=operator, variant=variant, subject=subject, generation=generation, key="k")


REJECTED = {
    "the operator of the last generation": (
        (use("shuffled_parts", "by_header", LIST),),
        "non_redundant",
    ),
    "the object of the last generation": ((use("damaged_backups", "blocks", ORDERS),), "non_redundant"),
    "a third use": (
        (use("shuffled_parts", "by_header", LIST, 0), use("shuffled_parts", "by_revision", TOTALS, 0)),
        "non_redundant",
    ),
    "the same shape again": ((use("shuffled_parts", "by_position", LIST, 0),), "non_redundant"),
    "the same object again": ((use("shuffled_parts", "by_header", ORDERS, 0),), "non_redundant"),
}


@pytest.mark.parametrize("case", sorted(REJECTED))
def test_plans_that_repeat_are_rejected(case: str) -> None:
    uses, criterion = REJECTED[case]
    parent = worked_on(Grown.seed(regions()), *uses)
    assert criterion in failed(review(parent, plan_of(parent, "shuffled_parts", "by_position", ORDERS)))


def test_a_plan_whose_tools_are_missing_is_rejected() -> None:
    parent = Grown.seed(regions())
    plan = plan_of(parent, "shuffled_parts", "by_position", ORDERS)
    judgement = review(parent, plan, probe=lambda tools: frozenset(tools) - {"sha256sum"})
    assert failed(judgement) == {"solvable"}
    assert "sha256sum" in judgement.failures[0].explanation


def test_a_plan_over_the_instructions_cap_is_rejected() -> None:
    parent = Grown.seed(regions())
    full = Composition(seed_instruction="word " * 10, seed_words=10)
    crowded = full.model_copy(update={"seed_instruction": "word " * 189})
    plan = plan_of(parent, "shuffled_parts", "by_position", ORDERS)
    assert failed(review(parent, plan, composition=crowded)) == {"bounded"}
    assert not failed(review(parent, plan, composition=full))


def test_a_second_plan_alike_is_rejected() -> None:
    parent = Grown.seed(regions())
    plan = plan_of(parent, "shuffled_parts", "by_position", ORDERS)
    assert failed(review(parent, plan, history=((plan, None),))) == {"non_redundant"}


def test_what_the_rules_of_edits_decide_is_not_judged_again() -> None:
    parent = Grown.seed(regions())
    plan = plan_of(parent, "shuffled_parts", "by_position", ORDERS)
    verdicts = {verdict.criterion: verdict for verdict in review(parent, plan).verdicts}
    left = {key for key, verdict in verdicts.items() if verdict.verdict is Verdict.NOT_APPLICABLE}
    assert left == {"direction", "effort", "goal_kept"}
    assert {verdicts[key].explanation for key in left} == {"The rules of edits decided this."}


@pytest.mark.parametrize(
    ("update", "said"),
    [
        ({"operator": "wishful_thinking"}, "no operator"),
        ({"variant": "sideways"}, "no variant"),
        ({"subject": "/app/none"}, "cannot work on"),
        ({"subject": TOTALS}, "works on inputs"),
    ],
)
def test_a_plan_that_nobody_could_build_is_rejected(update: dict[str, str], said: str) -> None:
    parent = Grown.seed(regions())
    plan = plan_of(parent, "shuffled_parts", "by_position", ORDERS)
    vague = plan.model_copy(update={"changes": (plan.changes[0].model_copy(update=update),)})
    judgement = review(parent, vague)
    assert "specific" in failed(judgement)
    assert any(said in failure.explanation for failure in judgement.failures)
    with pytest.raises(CannotBuild):
        built(parent, vague)


def test_nothing_to_do_is_no_plan() -> None:
    parent = Grown.seed(regions())
    empty = plan_of(parent, "shuffled_parts", "by_position", ORDERS).model_copy(update={"changes": ()})
    assert "specific" in failed(review(parent, empty))


def with_pairs(parent: Grown, **update: str) -> Grown:
    """The parent with every pair changed alike."""
    pairs = [pair.model_copy(update=update) for pair in parent.sequence.pairs]
    return replace(parent, sequence=Sequence(pairs=tuple(pairs)))


def test_a_tool_that_is_no_rarer_is_not_harder() -> None:
    parent = Grown.seed(regions())
    assert not failed(review(parent, plan_of(parent, "transcoded", "utf16", ORDERS)))
    rare = with_pairs(parent, tool="basenc")
    for variant in ("substituted", "utf16"):
        assert failed(review(rare, plan_of(rare, "transcoded", variant, ORDERS))) == {"harder"}


def test_a_scenario_that_an_edit_put_there_is_not_replaced_by_another() -> None:
    rare = with_pairs(Grown.seed(regions()), scenario="dated backups", origin="owned")
    assert failed(review(rare, plan_of(rare, "shuffled_parts", "by_position", ORDERS))) == {"harder"}


def test_a_length_edit_brings_a_new_pair() -> None:
    parent = Grown.seed(regions())
    plan = plan_of(parent, "pointer_chain", "names", ORDERS)
    assert not failed(review(parent, plan))
    again = replace(parent, sequence=plan.after)
    assert "harder" in failed(review(again, plan_of(again, "pointer_chain", "names", LIST)))


def test_the_proposer_does_not_probe_for_its_first_draft() -> None:
    parent = Grown.seed(regions())

    def never(tools: tuple[str, ...]) -> frozenset[str]:
        raise AssertionError("asked for tools")

    OFFLINE.proposer.propose(brief(parent, probe=never))


def test_after_a_rejection_for_tools_it_proposes_what_the_image_can_do() -> None:
    parent = Grown.seed(regions())

    def without_archives(tools: tuple[str, ...]) -> frozenset[str]:
        return frozenset(tools) - {"tar", "dd"}

    for seed in range(12):
        asked = brief(parent, probe=without_archives, rng_seed=str(seed))
        plan = OFFLINE.proposer.propose(asked)
        judgement = OFFLINE.plan_reviewer.review(asked, plan)
        if not judgement.accepted:
            again = OFFLINE.proposer.propose(replace(asked, history=((plan, judgement),)))
            assert again.changes[0].operator == "shuffled_parts"
            return
    raise AssertionError("no draft was ever rejected")


def test_the_image_is_asked_once_for_all_operators() -> None:
    parent, asked = Grown.seed(regions()), []

    def probe(tools: tuple[str, ...]) -> frozenset[str]:
        asked.append(tools)
        return frozenset()

    plan = OFFLINE.proposer.propose(brief(parent))
    judgement = OFFLINE.plan_reviewer.review(brief(parent, probe=probe), plan)
    assert len(asked) == 1
    with pytest.raises(NothingToPropose, match="image has no"):
        OFFLINE.proposer.propose(brief(parent, probe=probe, history=((plan, judgement),)))
    assert len(asked) == 2


def test_a_plan_sent_back_by_a_person_is_not_proposed_again() -> None:
    parent = Grown.seed(regions())
    seen: list[PlanDraft] = []
    for _ in range(6):
        plan = OFFLINE.proposer.propose(brief(parent, history=tuple((plan, None) for plan in seen)))
        assert plan.changes not in [earlier.changes for earlier in seen]
        seen.append(plan)


def test_when_all_was_proposed_there_is_nothing_left_and_it_says_so() -> None:
    parent = Grown.seed(regions())
    seen: list[PlanDraft] = []
    with pytest.raises(NothingToPropose, match="turned down"):
        for _ in range(100):
            seen.append(OFFLINE.proposer.propose(brief(parent, history=tuple((plan, None) for plan in seen))))
    assert len(seen) > 10


def test_a_task_without_inputs_has_no_scenario_to_change() -> None:
    bare = regions(
        {
            "environment/Dockerfile": "FROM debian:bookworm-slim\n",
            "solution/solve.sh": "echo 1 > /app/totals.txt\n",
        }
    )
    parent = Grown.seed(bare)
    for direction in (Direction.SCENARIO, Direction.SKILL):
        with pytest.raises(NothingToPropose, match="no operator of direction"):
            OFFLINE.proposer.propose(brief(parent, direction))
    assert OFFLINE.proposer.propose(brief(parent, Direction.LENGTH)).changes[0].subject == TOTALS


def test_an_input_that_the_solution_changes_is_left_alone() -> None:
    script = "sed -i s/a/b/ /app/regions.txt\nsort /app/regions.txt /app/data/orders.csv > /app/totals.txt\n"
    parent = Grown.seed(regions({"solution/solve.sh": script}))
    for seed in range(8):
        plan = OFFLINE.proposer.propose(brief(parent, rng_seed=str(seed)))
        assert plan.changes[0].subject == ORDERS


def test_an_input_that_a_run_line_names_is_left_alone() -> None:
    dockerfile = regions().text("environment/Dockerfile") + "RUN wc -l /app/data/orders.csv\n"
    parent = Grown.seed(regions({"environment/Dockerfile": dockerfile}))
    for seed in range(8):
        plan = OFFLINE.proposer.propose(brief(parent, rng_seed=str(seed)))
        assert plan.changes[0].subject == LIST


def test_the_same_brief_gives_the_same_plan_and_child() -> None:
    parent = Grown.seed(regions())
    first, again = (OFFLINE.proposer.propose(brief(parent)) for _ in range(2))
    assert first == again
    assert built(parent, first)[0].task.digest == built(parent, again)[0].task.digest
    assert built(parent, first)[0].task.digest != built(parent, again, "other seed")[0].task.digest


def repair(parent: Grown, plan: PlanDraft, *failures: Evidence, revision: int = 1) -> BuildOrder:
    first = OFFLINE.modifier.build(order(parent, plan))
    return replace(order(parent, plan), revision=revision, previous=first, failures=failures)


SEED_FAILS = Evidence("oracle", "failed", "The tests did not pass.", "== 00-seed: 0\n== 01-shuffled-parts: 1")


def test_a_repair_draws_the_same_shape_anew_when_the_seeds_own_work_failed() -> None:
    parent = Grown.seed(regions())
    plan = plan_of(parent, "shuffled_parts", "by_position", ORDERS)
    repaired = OFFLINE.modifier.build(repair(parent, plan, SEED_FAILS))
    first = OFFLINE.modifier.build(order(parent, plan))
    assert repaired.composition.uses[0].variant == "by_position", "what is built stays what was planned"
    assert repaired.changes != first.changes
    assert repaired.bindings[0].key == plan.changes[0].pair.key


UNREPAIRABLE = {
    "our own step": Evidence("oracle", "failed", "x", "49-shuffled-parts failed with 2"),
    "our own unit": Evidence("oracle", "failed", "x", "unit 01-shuffled-parts: /app/x is missing"),
    "another gate": Evidence("invalid_test", "failed", "the empty solution passes"),
    "conformance": Evidence(
        "conformance", "failed", "Without solution/steps/49-shuffled-parts the tests still pass"
    ),
}


@pytest.mark.parametrize("case", sorted(UNREPAIRABLE))
def test_what_another_shape_does_not_mend_is_not_repaired(case: str) -> None:
    parent = Grown.seed(regions())
    plan = plan_of(parent, "shuffled_parts", "by_position", ORDERS)
    with pytest.raises(CannotBuild):
        OFFLINE.modifier.build(repair(parent, plan, UNREPAIRABLE[case]))


def test_without_evidence_only_a_person_gets_another_draw() -> None:
    parent = Grown.seed(regions())
    plan = plan_of(parent, "shuffled_parts", "by_position", ORDERS)

    with pytest.raises(CannotBuild, match="without any evidence"):
        OFFLINE.modifier.build(repair(parent, plan))
    asked = replace(repair(parent, plan), wishes=("make it less regular",))

    assert OFFLINE.modifier.build(asked).changes != OFFLINE.modifier.build(order(parent, plan)).changes


def test_rubrics_have_a_digest_of_their_wording() -> None:
    assert PLAN_RUBRIC.version != ENVIRONMENT_RUBRIC.version
    assert len(PLAN_RUBRIC.version) == 64
    reworded = replace(PLAN_RUBRIC, criteria=PLAN_RUBRIC.criteria[1:])
    assert reworded.version != PLAN_RUBRIC.version


def test_the_environment_rubric_is_judged_in_full_for_a_seed() -> None:
    judgement = OFFLINE.rubric_verifier.judge(regions(), None, ())
    assert tuple(verdict.criterion for verdict in judgement.verdicts) == ENVIRONMENT_RUBRIC.keys
    assert judgement.accepted
    assert {verdict.verdict for verdict in judgement.verdicts} == {Verdict.PASS, Verdict.NOT_APPLICABLE}
