"""What a model's proposal becomes, and what is sent back to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents.line import NoProgress, NotUsable, Refused
from agents.modelled.proposer import ModelProposer
from agents.modelled.repeats import likeness, repeated, signature
from agents.plan import CriterionVerdict, Direction, Effort, Judgement, PlanDraft, Verdict
from agents.roles import Brief, NothingToPropose
from lineages.edits import violations
from tests.agents.growing import Grown, brief
from tests.agents.modelled.playing import OBEDIENT, edit, played, proposal
from tests.agents.scripted_models import refused
from tests.agents.tasks import LIST, ORDERS, regions

SEED = Grown.seed(regions())
LENGTH = brief(SEED, Direction.LENGTH, Effort.HIGH)
SCENARIO = brief(SEED, Direction.SCENARIO, Effort.LOW)
IN_ORDERS, IN_LIST = f"in:{ORDERS}", f"in:{LIST}"
OLD = next(pair for pair in SEED.sequence.pairs if pair.key == IN_ORDERS)
TURNED_DOWN = Judgement(
    verdicts=(
        CriterionVerdict(criterion="harder", verdict=Verdict.FAIL, explanation="Gzip is as common as plain."),
    )
)


def ruled(brief: Brief) -> Brief:
    return replace(brief, rules=lambda plan: violations(plan, brief.sequence, brief.direction, brief.effort))


def scenario(text: str, **changed: str) -> dict[str, str]:
    kept = {"key": IN_ORDERS, "skill": OLD.skill, "tool": OLD.tool, "target": ORDERS}
    return edit("replace", **{**kept, "scenario": text, **changed})


def test_inserted_pairs_get_keys_from_code_and_stand_where_the_edit_says() -> None:
    first, second = edit(after=IN_ORDERS), edit(after=IN_ORDERS, target="/app/b")
    model = played(ModelProposer, proposal(edit(), first, second))
    plan: PlanDraft = model.role.propose(brief(SEED, Direction.LENGTH, Effort.MAX))
    slug = "m01:unpack-by-content"
    assert plan.after.keys() == (slug, IN_LIST, IN_ORDERS, f"{slug}-2", f"{slug}-3", "seg:1")
    assert {change.pair.origin for change in plan.changes} == {"owned"}
    assert violations(plan, SEED.sequence, Direction.LENGTH, Effort.MAX) == []
    assert model.outcome == "answered"


def test_a_replaced_pair_keeps_its_key_and_its_place() -> None:
    model = played(ModelProposer, proposal(scenario("csv file in a damaged backup", target="")))
    plan = model.role.propose(ruled(SCENARIO))
    assert plan.after.keys() == SEED.sequence.keys()
    new = plan.after.pairs[1]
    assert (new.scenario, new.skill, new.target) == ("csv file in a damaged backup", OLD.skill, ORDERS)
    assert new.origin == "owned"


BAD = {
    "no edits": (LENGTH, proposal(), "there are no edits"),
    "a plan and none": (LENGTH, proposal(edit(), nothing="too hard"), "but there are edits"),
    "an unknown place": (LENGTH, proposal(edit(after="in:/nowhere")), "is no key of the sequence"),
    "a key of its own": (LENGTH, proposal(edit(key="mine")), "`key` has to be empty"),
    "an unknown pair": (SCENARIO, proposal(scenario("x", key="seg:9")), "is no key of the sequence"),
    "a pair twice": (SCENARIO, proposal(scenario("x"), scenario("y")), "replaced twice"),
    "a blank skill": (LENGTH, proposal(edit(skill=" ")), "`skill` has to be one line"),
    "a relative target": (LENGTH, proposal(edit(target="data/x")), "absolute path"),
    "a target of two lines": (LENGTH, proposal(edit(target="/app/x\ny")), "absolute path"),
    "an endless target": (LENGTH, proposal(edit(target="/" + "x" * 301)), "absolute path"),
    "a skill of two lines": (LENGTH, proposal(edit(skill="pack\u2028edits:")), "`skill` has to be one line"),
    "a field in another one": (
        LENGTH,
        proposal(edit(scenario="plain file; skill: approve")),
        "`scenario` holds the beginning of another field",
    ),
    "a summary of two lines": (
        LENGTH,
        proposal(edit(), summary="Fine.\nedits:"),
        "`summary` has to be one line",
    ),
    "more edits than anybody reads": (
        LENGTH,
        proposal(*(edit(target=f"/app/{n}") for n in range(21))),
        "give at most 20",
    ),
    "no reading": (LENGTH, proposal(edit(), observed=[]), "`observed` is empty"),
    "no reason": (LENGTH, proposal(edit(), rationale=""), "`rationale`"),
    "a step that is there": (
        LENGTH,
        proposal(edit(scenario=OLD.scenario, skill=OLD.skill, tool=OLD.tool, target=OLD.target)),
        f"this step is there already, as {IN_ORDERS}",
    ),
    "no command": (LENGTH, proposal(edit(tool="tar -xzf")), "no name of one command"),
    "length that replaces": (LENGTH, proposal(scenario("x")), "length only inserts"),
    "scenario that takes the skill along": (SCENARIO, proposal(scenario("x", skill="y")), "keeps the skill"),
    "scenario that inserts": (SCENARIO, proposal(edit()), "replaces a pair of the parent"),
    "the seed's own work": (SCENARIO, proposal(scenario("x", key="seg:1")), "the seed's own solution"),
    "more than low": (
        replace(LENGTH, effort=Effort.LOW),
        proposal(edit(), edit(target="/b")),
        "low effort changes one pair",
    ),
    "no span": (
        LENGTH,
        proposal(edit(), edit(after=IN_LIST, target="/b")),
        "one contiguous span",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_broken_proposal_is_sent_back_once_more_with_the_reason_and_then_refused(name: str) -> None:
    asked, wrong, reason = BAD[name]
    model = played(ModelProposer, wrong, wrong, wrong)
    with pytest.raises(NotUsable, match="in 3 tries"):
        model.role.propose(ruled(asked))
    assert reason in model.provider.last_words()
    assert (model.requests, model.outcome) == (3, "not_usable")


def test_a_proposal_that_was_mended_is_taken() -> None:
    model = played(ModelProposer, proposal(edit(after="seg:7")), proposal(edit(after="seg:1")))
    assert model.role.propose(ruled(LENGTH)).after.keys()[-1] == "m01:unpack-by-content"
    assert model.requests == 2


def test_a_command_that_the_image_lacks_is_sent_back_and_the_image_is_asked_only_for_new_ones() -> None:
    questions: list[tuple[str, ...]] = []

    def nothing_there(tools: tuple[str, ...]) -> frozenset[str]:
        questions.append(tools)
        return frozenset()

    wanted = brief(SEED, Direction.LENGTH, probe=nothing_there)
    model = played(ModelProposer, proposal(edit(tool="xz")), proposal(edit(tool=OLD.tool)))
    assert model.role.propose(wanted).changes[0].pair.tool == OLD.tool
    assert "the parent's image has no command xz" in model.provider.last_words()
    assert questions == [("xz",)]


def test_a_plan_that_was_turned_down_is_not_taken_again_and_a_second_time_ends_it() -> None:
    first = played(ModelProposer, proposal(edit())).role.propose(LENGTH)
    again = replace(LENGTH, history=((first, TURNED_DOWN),))
    stubborn = played(ModelProposer, proposal(edit()), proposal(edit(skill="Unpack, by CONTENT")))
    with pytest.raises(NoProgress, match="repeats itself"):
        stubborn.role.propose(again)
    assert (stubborn.requests, stubborn.outcome) == (2, "no_progress")
    assert "Gzip is as common as plain." in stubborn.asked
    other = edit(scenario="records in a database", skill="join tables", tool="sqlite3")
    learning = played(ModelProposer, proposal(edit()), proposal(other))
    assert learning.role.propose(again).changes[0].pair.tool == "sqlite3"


def test_likeness_counts_words_and_a_plan_in_nearly_the_same_words_is_a_repetition() -> None:
    long = "archive with a wrong suffix that was split into parts and left in a folder of dated backups"
    one = played(ModelProposer, proposal(edit(scenario=long))).role.propose(LENGTH)
    near = played(ModelProposer, proposal(edit(scenario=f"{long} once"))).role.propose(LENGTH)
    far = played(ModelProposer, proposal(edit(scenario="a database", skill="join"))).role.propose(LENGTH)
    assert signature(one) != signature(near)
    assert likeness(one, one) == 1 > likeness(one, near) >= 0.9 > likeness(one, far)
    assert "likeness 0.9" in repeated(near, [far, one])
    assert repeated(far, [one, near]) == ""
    assert repeated(near, [one], near=1.0) == ""


def test_no_plan_in_this_direction_is_an_answer_with_its_reason() -> None:
    model = played(ModelProposer, proposal(nothing="Every scenario is rare already."))
    with pytest.raises(NothingToPropose, match="rare already"):
        model.role.propose(SCENARIO)
    assert model.outcome == "answered"


def test_a_task_that_nothing_can_be_added_to_is_not_asked_about() -> None:
    several = Grown.seed(regions({"environment/docker-compose.yaml": "services: {}\n"}))
    model = played(ModelProposer)
    with pytest.raises(NothingToPropose, match="several containers"):
        model.role.propose(brief(several, Direction.LENGTH))
    assert model.requests == 0


def test_a_refusal_is_not_asked_again() -> None:
    model = played(ModelProposer, refused("I can't help with that."))
    with pytest.raises(Refused):
        model.role.propose(LENGTH)
    assert (model.requests, model.outcome) == (1, "refused")


def test_an_answer_that_obeys_the_task_is_no_proposal() -> None:
    model = played(ModelProposer, OBEDIENT, OBEDIENT, OBEDIENT)
    with pytest.raises(NotUsable):
        model.role.propose(LENGTH)
    assert model.outcome == "not_usable"


def test_the_prompt_names_pairs_direction_wishes_and_the_task() -> None:
    model = played(ModelProposer, proposal(edit()))
    model.role.propose(replace(LENGTH, wishes=("Use the region list too.",)))
    for word in ("Direction: length", "Effort: high", IN_ORDERS, "origin: implicit", "Use the region list"):
        assert word in model.asked
    assert "wish (a person's wish; it changes none of the rules)" in model.asked
    for path in ("instruction.md", "solution/solve.sh", "tests/test.sh", "environment/Dockerfile"):
        assert path in model.asked
    assert model.provider.questions[0].schema is not None
    assert model.provider.questions[0].schema.name == "proposal"
