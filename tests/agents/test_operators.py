"""Each operator in each shape, built on a small task and really run."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from zlib import crc32

import pytest

from agents.offline.families import families
from agents.offline.operator import MAX_BYTES, Dependent, Obstacle, Site, Subject
from agents.plan import Direction
from sandboxes.files import TaskFile
from sandboxes.task import Task
from sandboxes.trial import Solver, Trial, TrialOutcome, oracle
from tests.agents.conftest import output
from tests.agents.growing import DESK, OFFLINE, Grown, Rewards, built, plan_of
from tests.agents.tasks import LIST, ORDERS, TOTALS, orders, regions

SHAPES = [(name, variant.name) for name, operator in families().items() for variant in operator.variants]
OBSTACLES = [name for name, operator in families().items() if isinstance(operator, Obstacle)]
ON_LINES = [
    name for name, operator in families().items() if isinstance(operator, Obstacle) and operator.text_only
]
DEPENDENTS = [name for name, operator in families().items() if isinstance(operator, Dependent)]
SITE = Site(7, "any_operator", DESK)


def sample(values: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """One pair for each family, chosen by the family's name."""
    of_family = {name: [pair for pair in values if pair[0] == name] for name, _ in values}
    return {pairs[crc32(name.encode()) % len(pairs)] for name, pairs in of_family.items()}


def mostly_soak(values: list[tuple[str, str]]) -> list[object]:
    """A sample in every run, the others only in a soak run."""
    chosen = sample(values)
    return [pytest.param(*pair, marks=() if pair in chosen else pytest.mark.soak) for pair in values]


def subject_of(name: str) -> Subject:
    if name in DEPENDENTS:
        return Subject(TOTALS, "", output=True)
    return Subject(ORDERS, f"in:{ORDERS}", data=orders().encode())


def child_of(name: str, variant: str) -> tuple[Task, list[str]]:
    """A task grown by one shape from the small seed, and the solution blocks of that."""
    parent = Grown.seed(regions())
    path = TOTALS if name in DEPENDENTS else ORDERS if Random(variant).random() < 0.5 else LIST
    if families()[name].refusal(Subject(LIST, "", data=parent.task.files["environment/regions.txt"].data)):
        path = TOTALS if name in DEPENDENTS else ORDERS
    child, made = built(parent, plan_of(parent, name, variant, path))
    return child.task, [binding.solution_block for binding in made.bindings]


@pytest.mark.parametrize(("name", "variant"), mostly_soak(SHAPES))
def test_only_the_whole_reference_solution_passes(
    name: str, variant: str, rewards: Callable[..., Rewards]
) -> None:
    child, blocks = child_of(name, variant)
    rewards(child, blocks).assert_only_the_oracle_passes()


@pytest.mark.parametrize(("name", "variant"), SHAPES)
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(name: str, variant: str) -> None:
    operator, subject = families()[name], subject_of(name)
    shape = operator.variant(variant)
    first, again, other = (operator.make(subject, shape, SITE, Random(seed)) for seed in ("a", "a", "b"))
    assert first == again
    assert first != other or name == "signed_manifest"  # which draws no more than an order


@pytest.mark.parametrize("name", sorted(families()))
def test_the_shapes_of_a_family_differ_in_solution_and_test(name: str) -> None:
    operator, subject = families()[name], subject_of(name)
    parts = [operator.make(subject, variant, SITE, Random("a")) for variant in operator.variants]
    assert len(parts) >= 4
    assert len({part.step for part in parts}) == len({part.unit for part in parts}) == len(parts)


@pytest.mark.parametrize("name", OBSTACLES)
def test_no_delivered_file_is_the_original(name: str) -> None:
    operator, subject = families()[name], subject_of(name)
    for variant in operator.variants:
        part = operator.make(subject, variant, SITE, Random("a"))
        assert subject.data not in part.delivered.values()
        assert set(part.needed) <= set(part.delivered)
        assert part.needed


@pytest.mark.parametrize("name", OBSTACLES)
def test_what_was_delivered_joined_by_name_is_not_the_original(name: str) -> None:
    """A single file may hold it in the clear, as an archive does: then to find its place is the work."""
    operator, subject = families()[name], Subject(ORDERS, "in", data=orders(400).encode())
    for variant in operator.variants:
        for seed in range(100 if name == "shuffled_parts" else 3):
            part = operator.make(subject, variant, SITE, Random(seed))
            apart = all(subject.data not in data for data in part.delivered.values())
            for paths in (part.needed, part.delivered):
                joined = b"".join(part.delivered[path] for path in sorted(paths))
                assert not (apart and subject.data in joined), (variant.name, seed)


@pytest.mark.parametrize("name", sorted(families()))
def test_the_step_carries_no_word_that_only_the_unit_knows(name: str) -> None:
    operator, subject = families()[name], subject_of(name)
    for variant in operator.variants:
        part = operator.make(subject, variant, SITE, Random("a"))
        hashes = {word for word in part.unit.split() if len(word) == 64 and word.isalnum()}
        assert not any(word in part.step for word in hashes)
        assert part.step.startswith("#!/bin/bash\n# Step ")
        assert part.unit.startswith("#!/bin/bash\n# Unit ")


@pytest.mark.parametrize("name", OBSTACLES)
def test_an_obstacle_refuses_outputs_and_what_is_too_small_or_too_large(name: str) -> None:
    operator = families()[name]
    assert operator.refusal(Subject(TOTALS, "", output=True))
    assert operator.refusal(Subject(ORDERS, "", data=b"x\n"))
    assert operator.refusal(Subject(ORDERS, "", data=b"x\n" * MAX_BYTES))
    assert not operator.refusal(subject_of(name))


@pytest.mark.parametrize("name", DEPENDENTS)
def test_a_dependent_step_refuses_inputs_and_binary_outputs(name: str) -> None:
    operator = families()[name]
    assert operator.refusal(Subject(ORDERS, "", data=orders().encode()))
    assert operator.refusal(Subject("/app/out.tar.gz", "", output=True))


@pytest.mark.parametrize("name", ON_LINES)
def test_operators_on_lines_refuse_what_is_no_plain_text(name: str) -> None:
    operator = families()[name]
    for data in (b"a\0b\n" * 20, b"one line of text without an end " * 4, b"a\r\n" * 20):
        assert operator.refusal(Subject(ORDERS, "", data=data))


def test_bytes_that_are_no_utf_8_are_not_transcoded() -> None:
    assert families()["transcoded"].refusal(Subject(ORDERS, "", data=b"\xff\xfe line\n" * 20))


AWKWARD = {
    "lines that repeat": b"same\n" * 12,
    "empty lines and tabs": b"\n\ta\tb\n\n\n  c  \n" * 4,
    "odd length": b"abc\n" * 9 + b"x\n" * 3 + b"y" + b"\n",
    "high bytes": "zoë, naïve, 東京\n".encode() * 8,
    "shell words": b"$(rm -rf /) `x` \"quoted\" 'single' \\n *\n" * 5,
}


TAKEN = [
    (name, content)
    for name in OBSTACLES
    for content, data in sorted(AWKWARD.items())
    if not families()[name].refusal(Subject(ORDERS, "", data=data))
]


@pytest.mark.parametrize(("name", "content"), mostly_soak(TAKEN))
def test_awkward_content_comes_back_byte_for_byte(
    name: str, content: str, attempt: Callable[[Task, Solver], Trial]
) -> None:
    """With a solution that copies: what is compared is the file itself."""
    copied = regions(
        {
            "environment/data/orders.csv": AWKWARD[content].decode(),
            "solution/solve.sh": "#!/bin/bash\ncat /app/data/orders.csv > /app/totals.txt\n",
            "tests/test.sh": "#!/bin/bash\n[ -s /app/totals.txt ] && cmp /app/totals.txt /app/data/orders.csv"
            " && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n",
        }
    )
    operator, parent = families()[name], Grown.seed(copied)
    variant = operator.variants[crc32(f"{name} {content}".encode()) % len(operator.variants)]
    child, _ = built(parent, plan_of(parent, name, variant.name, ORDERS))
    trial = attempt(child.task, oracle)
    assert trial.outcome is TrialOutcome.PASSED, output(trial)


def test_there_are_at_least_twenty_four_operators_eight_in_each_direction() -> None:
    found = families()
    assert len(found) >= 24
    for direction in Direction:
        assert sum(operator.direction is direction for operator in found.values()) >= 8, direction
    assert all(operator.tools for operator in found.values())


@pytest.mark.parametrize("name", sorted(families()))
def test_what_an_operator_builds_passes_the_rubric(name: str) -> None:
    parent = Grown.seed(regions())
    for variant in families()[name].variants:
        plan = plan_of(parent, name, variant.name, subject_of(name).path)
        child, made = built(parent, plan)
        judgement = OFFLINE.rubric_verifier.judge(child.task, plan, made.bindings)
        assert judgement.accepted, judgement.failures


def test_an_archive_of_links_is_no_archive_of_files(attempt: Callable[[Task, Solver], Trial]) -> None:
    """The links are right where the verifier has the outputs, and hold nothing anywhere else."""
    parent = Grown.seed(regions())
    child, made = built(parent, plan_of(parent, "sealed_archive", "tar_gz_sums", TOTALS))
    step = made.bindings[0].solution_block
    copied = 'cp "$file" "$WORK/stage/$member"'
    linked = child.task.text(step).replace(copied, copied.replace("cp", "ln -s"))
    assert linked != child.task.text(step)
    trial = attempt(child.task.replace({step: TaskFile.text(linked)}), oracle)
    assert trial.outcome is TrialOutcome.FAILED, output(trial)
    assert "is no regular file" in output(trial)


@pytest.mark.parametrize("name", sorted(families()))
def test_every_note_says_how_lines_end(name: str) -> None:
    operator = families()[name]
    for variant in operator.variants:
        note = operator.make(subject_of(name), variant, SITE, Random("a")).note
        assert "the last one too, ends with a newline" in note
        assert ("apart from what other requirements restore" in note) is (name in OBSTACLES)


@pytest.mark.parametrize("size", [96, 100, 128, 129, 150, 260, 900])
def test_neither_of_two_damaged_copies_is_the_original(size: int) -> None:
    operator, data = families()["damaged_backups"], (b"0123 row of text\n" * 80)[:size]
    for seed in range(60):
        part = operator.make(Subject(ORDERS, "", data=data), operator.variant("blocks"), SITE, Random(seed))
        assert data not in part.delivered.values()


def test_a_substitution_changes_something() -> None:
    operator = families()["transcoded"]
    assert "letters or digits" in operator.refusal(Subject(ORDERS, "", data=b"--- ,,, ...\n" * 8))
    data = b"-a-\n" * 20
    for seed in range(200):
        part = operator.make(
            Subject(ORDERS, "", data=data), operator.variant("substituted"), SITE, Random(seed)
        )
        assert data not in part.delivered.values()
