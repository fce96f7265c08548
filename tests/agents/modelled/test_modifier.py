"""What a model builds with tools: composed by code, checked before it is handed in, repaired."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from agents.composition import HELD, OVERLAY, SEED_SOLVE, SEED_TEST, STEPS, UNITS
from agents.line import NoProgress, OutOfBounds
from agents.loop import Bounds
from agents.modelled.modifier import ModelModifier
from agents.modelled.proposer import ModelProposer
from agents.models import Can
from agents.plan import Composition, Direction, Effort, PlanDraft
from agents.providers.base import Reply, ToolCall
from agents.roles import BuildOrder, Built, CannotBuild, Evidence
from sandboxes.base import ExecResult
from sandboxes.task import Task
from tests.agents.growing import Grown, Rewards, brief
from tests.agents.modelled.playing import Played, edit, played, proposal
from tests.agents.scripted_models import SPEC, call, called, line_to
from tests.agents.tasks import LIST, ORDERS, TOTALS, regions

SEED = Grown.seed(regions())
STEP, UNIT = f"{STEPS}/51-count", f"{UNITS}/01-count"
NOTE = f"{OVERLAY}/app/handover/count.md"
COUNT = "/app/handover/count.txt"
ASKED = f"Write the number of lines of {TOTALS}, as one number, to {COUNT} as /app/handover/count.md says."
STEP_TEXT = f"set -euo pipefail\nmkdir -p /app/handover\nwc -l < {TOTALS} | tr -d ' ' > {COUNT}\n"
UNIT_TEXT = f"""# Unit: {COUNT} holds the number of lines.
wanted=$(wc -l < {TOTALS} 2>/dev/null | tr -d ' ')
got=$(cat {COUNT} 2>/dev/null)
if [ -n "$wanted" ] && [ "$got" = "$wanted" ]; then exit 0; fi
echo "{COUNT} holds '$got', not '$wanted'" >&2
exit 1
"""
NOTE_TEXT = "The count is one number and a line end, nothing else.\n"


def plan_of(*edits: dict[str, str], direction: Direction = Direction.LENGTH) -> PlanDraft:
    asked = brief(SEED, direction, Effort.MAX)
    plan: PlanDraft = played(ModelProposer, proposal(*edits)).role.propose(asked)
    return plan


PLAN = plan_of(edit(after="seg:1", skill="count lines", tool="wc", target=COUNT))
KEY = "m01:count-lines"
ORDER = BuildOrder(
    parent=SEED.task, composition=Composition(), plan=PLAN, generation=1, rng_seed="test", revision=0
)


def write(path: str, text: str) -> ToolCall:
    return call("write_file", path=path, text=text)


def bound(**changed: Any) -> dict[str, Any]:
    return {
        "key": KEY,
        "solution_block": STEP,
        "test_units": [UNIT],
        "environment_paths": [NOTE],
        "requirement": ASKED,
        **changed,
    }


def submit(*bindings: dict[str, Any], **changed: Any) -> ToolCall:
    return call("submit", **{"bindings": list(bindings), "artifacts": [COUNT], "notes": "", **changed})


FAILED = Evidence("contract", "failed", "The file is not named.")
WORK = called(write(STEP, STEP_TEXT), write(NOTE, NOTE_TEXT), write(UNIT, UNIT_TEXT))


def model(*steps: Reply, **fields: Any) -> Played:
    return played(ModelModifier, *steps, **fields)


def first_version() -> Built:
    built: Built = model(WORK, called(submit(bound()))).role.build(ORDER)
    return built


def child_of(built: Built, parent: Task = SEED.task) -> Task:
    return parent.replace(built.changes)


def test_the_child_is_composed_by_code_around_what_the_model_wrote() -> None:
    playing = model(WORK, called(submit(bound())))
    built = playing.role.build(ORDER)
    child = child_of(built)
    assert child.text(STEP) == STEP_TEXT
    assert child.text(SEED_SOLVE) == SEED.task.text("solution/solve.sh")
    assert child.text(SEED_TEST) == SEED.task.text("tests/test.sh")
    assert child.text("instruction.md").endswith(f"## Further requirements\n\n- {ASKED}\n")
    assert child.separate
    assert [artifact.source for artifact in child.config.artifacts] == [TOTALS, COUNT]
    assert [(each.key, each.text) for each in built.composition.requirements] == [(KEY, ASKED)]
    assert built.bindings[0].environment_paths == (NOTE,)
    assert playing.outcome == "answered"


def test_only_the_whole_work_gets_the_reward(
    rewards: Callable[[Task, Collection[str]], Rewards],
) -> None:
    built = first_version()
    rewards(child_of(built), [built.bindings[0].solution_block]).assert_only_the_oracle_passes()


def test_a_second_generation_by_a_model_adds_to_the_first() -> None:
    first = first_version()
    parent = child_of(first)
    renamed = {"key": KEY, "solution_block": f"{STEPS}/52-more", "test_units": [f"{UNITS}/02-more"]}
    playing = model(
        called(
            write(f"{STEPS}/52-more", STEP_TEXT),
            write(f"{UNITS}/02-more", UNIT_TEXT),
            write(f"{OVERLAY}/app/handover/more.md", "more\n"),
        ),
        called(
            submit(
                bound(
                    **renamed,
                    environment_paths=[f"{OVERLAY}/app/handover/more.md"],
                    requirement="Do it once more.",
                )
            )
        ),
    )
    order = replace(ORDER, parent=parent, composition=first.composition, generation=2)
    built = playing.role.build(order)
    assert child_of(built, parent).text("instruction.md").endswith(f"- {ASKED}\n- Do it once more.\n")
    assert STEP not in built.changes
    assert "environment/Dockerfile" not in built.changes


WRONG = {
    "a pair without a binding": (submit(bound(key="other")), f"changes {KEY}, which is bound 0 times"),
    "a binding of no pair": (submit(bound(), bound(key="other")), "does not change 'other'"),
    "a step that is not there": (submit(bound(solution_block=f"{STEPS}/60-x")), f"there is no {STEPS}/60-x"),
    "no step": (submit(bound(solution_block=UNIT)), "is no step"),
    "the seed's step": (submit(bound(solution_block=f"{STEPS}/50-seed")), "the parent's own step"),
    "no unit": (submit(bound(test_units=[])), "needs at least one unit"),
    "no environment": (submit(bound(environment_paths=[])), "needs at least one file under environment/"),
    "the parent's file": (
        submit(bound(environment_paths=[NOTE, "environment/regions.txt"])),
        "is the parent's and was not changed",
    ),
    "the frame": (submit(bound(environment_paths=["environment/Dockerfile"])), "belongs to the frame"),
    "a path outside": (submit(bound(test_units=[UNIT, "../x"])), "is not under tests/"),
    "a stray": (submit(bound(environment_paths=[f"{OVERLAY}/x"])), f"{NOTE} differs from the parent's"),
    "two lines": (submit(bound(requirement="one\ntwo")), "has to be one line"),
    "two lines of another kind": (submit(bound(requirement="one\r## Two")), "has to be one line"),
    "an old requirement": (
        submit(bound(requirement="Sum the third column")),
        "the parent's instruction asks for this already",
    ),
    "too many words": (submit(bound(requirement="word " * 400)), "and its cap is"),
    "a relative artifact": (submit(bound(), artifacts=["out.txt"]), "no absolute path"),
    "the tests as artifact": (submit(bound(), artifacts=["/tests/x"]), "no place for a solver's work"),
    "all programs as artifact": (submit(bound(), artifacts=["/usr"]), "among the programs"),
    "one program as artifact": (submit(bound(), artifacts=["/usr/local/bin/awk"]), "among the programs"),
    "settings of the loader": (submit(bound(), artifacts=["/etc"]), "among the programs"),
    "an artifact of two lines": (submit(bound(), artifacts=["/app/x\u2028y"]), "no absolute path"),
    "nothing at all": (submit(), "say in `notes` why"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_submission_is_told_so_and_can_be_mended(name: str) -> None:
    wrong, reason = WRONG[name]
    playing = model(WORK, called(wrong), called(submit(bound())))
    assert playing.role.build(ORDER).bindings[0].key == KEY
    assert reason in playing.provider.last_words()


def test_a_step_after_the_seeds_work_has_a_number_above_fifty() -> None:
    early = f"{STEPS}/49-count"
    playing = model(
        called(write(early, STEP_TEXT), write(NOTE, NOTE_TEXT), write(UNIT, UNIT_TEXT)),
        called(submit(bound(solution_block=early))),
        called(call("delete_file", path=early), write(STEP, STEP_TEXT)),
        called(submit(bound())),
    )
    assert early not in playing.role.build(ORDER).changes
    assert "its step needs a number above 50" in playing.provider.last_words(2)


REFUSED = {
    "instruction.md": "from the requirements",
    "task.toml": "artifacts are named with submit",
    "tests/test.sh": "frame of every evolved task",
    "solution/solve.sh": "frame of every evolved task",
    "environment/Dockerfile": "frame of every evolved task",
    "environment/data/new.csv": f"below {OVERLAY}/",
    f"{OVERLAY}/tests/answer": "nothing of the tests",
    "solution/answer.sh": f"write {STEPS}/NN-name",
    f"{STEPS}/count": "two digits",
    f"{UNITS}/deep/01-x": "two digits",
    f"{UNITS}/00-a": "the parent's own test",
    f"{STEPS}/\u0664\u0669-x": "two digits",
    f"{UNITS}/01-more_test.py": "loaded into them",
    "tests/conftest.py": "below tests/truth/",
    "tests/.dockerignore": "below tests/truth/",
    "tests/truth/conftest.py": "loaded into them",
    f"{OVERLAY}/tests": "nothing of the tests",
    f"{OVERLAY}/usr/bin/wc": "programs of the image",
    f"{OVERLAY}/usr/local/bin/wc": "programs of the image",
    "../outside": "..",
}


@pytest.mark.parametrize("path", REFUSED)
def test_a_file_that_is_not_the_models_to_write_is_refused_with_the_reason(path: str) -> None:
    playing = model(called(write(path, "x\n")), WORK, called(submit(bound())))
    built = playing.role.build(ORDER)
    assert REFUSED[path] in playing.provider.last_words(1)
    assert built.changes.get(path) is None or built.changes[path].data != b"x\n"


TOUCHES = {
    "written": write(UNIT, "exit 0\n"),
    "replaced": call("replace_text", path=UNIT, old="exit 1\n", new="exit 0\n"),
    "deleted": call("delete_file", path=UNIT),
}


@pytest.mark.parametrize("touch", TOUCHES)
@pytest.mark.parametrize("direction", Direction)
def test_whatever_the_plan_the_parents_tests_stay_as_they_are(direction: Direction, touch: str) -> None:
    first = first_version()
    order = replace(
        ORDER,
        parent=child_of(first),
        composition=first.composition,
        generation=2,
        plan=PLAN.model_copy(update={"direction": direction}),
    )
    playing = model(called(TOUCHES[touch]), called(submit(notes="cannot")))
    with pytest.raises(CannotBuild):
        playing.role.build(order)
    assert "the parent's tests stay as they are" in playing.provider.last_words()


FORGING = {
    "the reward": "echo 1 > /logs/verifier/reward.txt\n",
    "by a folder of its own": "cd /logs && echo 1 > verifier/reward.txt\n",
    "and ends the runner": "kill -9 $PPID\n",
    "by the runner's number": "kill -9 $(cut -d' ' -f4 /proc/$$/stat)\n",
    "the runner": "echo 'exit 0' > /tests/test.sh\n",
}


@pytest.mark.parametrize("how", FORGING)
def test_a_unit_that_deals_with_the_reward_itself_is_not_taken(how: str) -> None:
    playing = model(
        WORK,
        called(write(UNIT, UNIT_TEXT + FORGING[how])),
        called(submit(bound())),
        called(write(UNIT, UNIT_TEXT)),
        called(submit(bound())),
    )
    assert child_of(playing.role.build(ORDER)).text(UNIT) == UNIT_TEXT
    assert "a unit tells by its exit code alone" in playing.provider.last_words(3)


def test_data_of_a_new_unit_lies_apart_and_is_bound_with_it() -> None:
    truth = "tests/truth/count.txt"
    playing = model(WORK, called(write(truth, "3\n")), called(submit(bound(test_units=[UNIT, truth]))))
    built = playing.role.build(ORDER)
    assert built.bindings[0].test_units == (UNIT, truth)
    assert child_of(built).text(truth) == "3\n"


def test_an_input_that_a_scenario_plan_takes_away_leaves_the_image_and_is_held_for_the_tests() -> None:
    old = next(pair for pair in SEED.sequence.pairs if pair.key == f"in:{ORDERS}")
    kept = {"key": old.key, "skill": old.skill, "tool": old.tool, "target": old.target}
    plan = plan_of(edit("replace", **kept, scenario="csv file in a tar"), direction=Direction.SCENARIO)
    step, packed = f"{STEPS}/49-unpack", f"{OVERLAY}/app/handover/orders.bin"
    gone = "environment/data/orders.csv"
    playing = model(
        called(
            write(step, f"cp /app/handover/orders.bin {ORDERS}\n"),
            write(packed, "x\n"),
            call("delete_file", path=gone),
            write(UNIT, f"cmp /tests/held{ORDERS} {ORDERS}\n"),
        ),
        called(
            submit(
                bound(key=old.key, solution_block=step, environment_paths=[packed, gone]), artifacts=[ORDERS]
            )
        ),
    )
    built = playing.role.build(replace(ORDER, plan=plan))
    child = child_of(built)
    assert gone not in child
    assert "COPY data/" not in child.text("environment/Dockerfile")
    assert child.text(HELD + ORDERS) == SEED.task.text(gone)
    assert built.bindings[0].environment_paths == (packed, gone)
    handed_in = submit(
        bound(key=old.key, solution_block=step, environment_paths=[packed, gone]), artifacts=[ORDERS]
    )
    repair = replace(ORDER, plan=plan, revision=1, previous=built, failures=(FAILED,))
    again = model(called(write(packed, "y\n")), called(handed_in)).role.build(repair)
    differing = set(child_of(again).changed_paths(child))
    assert differing == {packed}


EMPTY = {
    "nothing": (called(call("list_files")), "no file differs from the parent's"),
    "tests only": (called(write(UNIT, UNIT_TEXT)), "only tests were changed"),
}


@pytest.mark.parametrize("name", EMPTY)
def test_work_that_is_none_is_told_so_once_and_then_ends_without_a_child(name: str) -> None:
    step, reason = EMPTY[name]
    playing = model(step, called(submit(bound())), called(submit(bound(), notes="please")))
    with pytest.raises(NoProgress, match=reason):
        playing.role.build(ORDER)
    assert reason in playing.provider.last_words()
    assert playing.outcome == "no_progress"


def test_a_plan_that_cannot_be_built_is_refused_in_the_models_words() -> None:
    playing = model(called(submit(notes="The plan needs a network.")))
    with pytest.raises(CannotBuild, match="needs a network"):
        playing.role.build(ORDER)


def test_a_repair_begins_with_the_last_version_and_its_evidence() -> None:
    last = first_version()
    evidence = Evidence("conformance", "failed", "m01:count-lines is padding.", "<<<so>>>")
    order = replace(ORDER, revision=1, previous=last, failures=(evidence,), wishes=("Say it shorter.",))
    mended = UNIT_TEXT.replace("01", "1") + "# mended\n"
    playing = model(called(write(UNIT, mended)), called(submit(bound(requirement=f"{ASKED} Once."))))
    built = playing.role.build(order)
    child = child_of(built)
    assert (child.text(STEP), child.text(UNIT)) == (STEP_TEXT, mended)
    assert [each.text for each in built.composition.requirements] == [f"{ASKED} Once."]
    assert child.text("instruction.md").count(ASKED) == 1
    for words in (
        "This is repair 1",
        "m01:count-lines is padding.",
        "<<<so>>>",
        "Say it shorter.",
        ASKED,
    ):
        assert words in playing.asked


def test_a_repair_of_the_requirement_alone_is_work() -> None:
    order = replace(ORDER, revision=1, previous=first_version(), failures=(FAILED,))
    playing = model(called(submit(bound(requirement=f"{ASKED} Name it so."))))
    assert f"{ASKED} Name it so." in child_of(playing.role.build(order)).text("instruction.md")


def test_a_repair_that_hands_the_same_in_again_ends_without_a_child() -> None:
    order = replace(ORDER, revision=1, previous=first_version(), failures=(FAILED,))
    playing = model(called(submit(bound())), called(submit(bound(), notes="again")))
    with pytest.raises(NoProgress, match="nothing differs from your last version"):
        playing.role.build(order)


@dataclass
class Bench:
    """A workbench that remembers what it was given."""

    found: tuple[Evidence, ...] = ()
    ran: list[tuple[Task, str]] = field(default_factory=list)
    tried: list[Built] = field(default_factory=list)

    def run(self, task: Task, command: str, *, seconds: float) -> ExecResult:
        self.ran.append((task, command))
        return ExecResult(("sh",), 0, b"fine\n", b"", 0, 0.1, datetime.now(UTC))

    def gates(self, built: Built) -> tuple[Evidence, ...]:
        self.tried.append(built)
        return self.found


def test_commands_and_gates_see_the_child_as_it_would_be_handed_in() -> None:
    bench = Bench((Evidence("leaks", "failed", "A copy of the answer."),))
    tried = call("run_gates", bindings=[bound()], artifacts=[COUNT], notes="")
    playing = model(
        called(call("run_command", command="true")),
        WORK,
        called(call("run_command", command="bash /solution/solve.sh")),
        called(tried),
        called(submit(bound())),
    )
    built = playing.role.build(replace(ORDER, bench=bench))
    assert "nothing lies below environment/overlay/" in playing.provider.last_words(1)
    assert [command for _, command in bench.ran] == ["bash /solution/solve.sh"]
    assert bench.ran[0][0].text(STEP) == STEP_TEXT
    assert "COPY overlay/ /" in bench.ran[0][0].text("environment/Dockerfile")
    assert bench.tried == [built]
    assert "leaks: failed. A copy of the answer." in playing.provider.last_words(4)


def test_without_a_bench_nothing_can_be_run_and_the_tools_say_so() -> None:
    playing = model(called(call("run_command", command="true")), WORK, called(submit(bound())))
    playing.role.build(ORDER)
    names = [spec.name for spec in playing.provider.questions[0].tools]
    assert names == ["list_files", "read_file", "write_file", "replace_text", "delete_file", "submit"]
    assert "there is no tool 'run_command'" in playing.provider.last_words(1)


def test_a_conversation_taken_up_again_builds_the_same_child_and_asks_nothing_twice() -> None:
    playing = model(WORK, called(submit(bound())))
    whole = playing.role.build(ORDER)
    assert playing.role.build(ORDER) == whole
    assert playing.requests == 2


def test_a_limit_ends_it_without_a_child() -> None:
    playing = model(WORK, WORK, bounds=Bounds(turns=1))
    with pytest.raises(OutOfBounds):
        playing.role.build(ORDER)
    assert playing.outcome == "out_of_bounds"


def test_a_model_without_tools_builds_nothing_and_is_not_asked() -> None:
    plain = SPEC.model_copy(update={"can": Can(tools=False)})
    playing = model()
    role = ModelModifier(plain).over(line_to(playing.provider, plain))
    with pytest.raises(CannotBuild, match="takes no tools"):
        role.build(ORDER)
    assert playing.requests == 0


def test_the_prompt_has_the_plan_the_cap_and_the_task_in_composed_form() -> None:
    playing = model(WORK, called(submit(bound())))
    playing.role.build(ORDER)
    system = playing.provider.questions[0].system
    for words in ("conformance:", "kept_tests:", "solution/steps/NN-name"):
        assert words in system, words
    for words in (
        "/app/handover",
        "may have 204 words in all; 180 are left",
        KEY,
        "Generation 1.",
        f"{STEPS}/50-seed",
        "tests/seed-test.sh",
        LIST,
    ):
        assert words in playing.asked, words
