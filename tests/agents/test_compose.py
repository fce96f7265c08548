"""What the files of a child look like, and what must survive in them."""

from __future__ import annotations

import string
import tomllib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.composition import HELD, OVERLAY, PRISTINE, SEED_SOLVE, SEED_STEP, SEED_TEST
from agents.offline.compose import begun, configured, generation_name, rendered, word_cap
from agents.plan import Composition, Direction, Requirement
from agents.roles import CannotBuild, NothingToPropose
from sandboxes.dockerfile import copies
from sandboxes.task import Task
from sandboxes.trial import Solver, Trial, TrialOutcome, oracle
from tests.agents.conftest import output
from tests.agents.growing import OFFLINE, Grown, Rewards, brief, built, plan_of
from tests.agents.tasks import (
    CONFIG,
    DOCKERFILE,
    INSTRUCTION,
    LIST,
    ORDERS,
    SEPARATE,
    SOLVE,
    TEST,
    TOTALS,
    orders,
    regions,
)


def child_of(
    task: Task, operator: str = "shuffled_parts", variant: str = "by_position", path: str = ORDERS
) -> Task:
    parent = Grown.seed(task)
    return built(parent, plan_of(parent, operator, variant, path))[0].task


def test_the_first_evolution_makes_the_task_separate_and_keeps_the_seed_byte_for_byte() -> None:
    child = child_of(regions())
    assert child.separate
    assert child.text(SEED_SOLVE) == SOLVE
    assert child.text(SEED_TEST) == TEST
    assert child.text("instruction.md").startswith(INSTRUCTION.rstrip())
    assert child.text(f"{PRISTINE}/regions.txt") == regions().text("environment/regions.txt")
    assert child.files["solution/solve.sh"].executable
    assert child.files["tests/test.sh"].executable


def test_what_is_taken_away_leaves_the_image_and_the_verifiers_own_place() -> None:
    child = child_of(regions())
    assert "environment/data/orders.csv" not in child
    assert "COPY data/" not in child.text("environment/Dockerfile")
    assert child.text("environment/Dockerfile").endswith("COPY overlay/ /\n")
    assert child.text(HELD + ORDERS) == orders()
    assert ORDERS not in copies(child.text("tests/Dockerfile"), child.under("tests")).files
    assert LIST in copies(child.text("tests/Dockerfile"), child.under("tests")).files


def test_a_folder_that_still_has_files_keeps_its_copy() -> None:
    child = child_of(regions({"environment/data/other.csv": "x\n"}))
    assert "COPY data/ /app/data/" in child.text("environment/Dockerfile")
    assert "COPY pristine/data/other.csv /app/data/" in child.text("tests/Dockerfile")


def test_one_of_several_sources_is_taken_out_of_its_line() -> None:
    dockerfile = (
        "FROM debian:bookworm-slim\nWORKDIR /app\n# both\nCOPY regions.txt \\\n  data/orders.csv /app/data/\n"
    )
    solve = SOLVE.replace("regions.txt", "data/regions.txt")
    child = child_of(regions({"environment/Dockerfile": dockerfile, "solution/solve.sh": solve}))
    assert "# both\nCOPY regions.txt /app/data/\n" in child.text("environment/Dockerfile")


def test_a_copy_of_everything_is_spelled_out_so_that_deliveries_do_not_come_along(
    attempt: Callable[[Task, Solver], Trial],
) -> None:
    seed = regions({"environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\nCOPY . .\n"})
    child = child_of(seed)
    placed = copies(child.text("environment/Dockerfile"), child.under("environment")).files
    assert not any(path.startswith("/app/overlay") for path in placed)
    assert placed[LIST] == "regions.txt"
    trial = attempt(child, oracle)
    assert trial.outcome is TrialOutcome.PASSED, output(trial)


def test_a_second_evolution_adds_to_the_first_and_converts_nothing_again() -> None:
    parent = Grown.seed(regions())
    first, _ = built(parent, plan_of(parent, "shuffled_parts", "by_position", ORDERS))
    second, made = built(first, plan_of(first, "signed_manifest", "tagged", TOTALS))
    steps = sorted(second.task.under("solution/steps"))
    assert steps == ["49-shuffled-parts", "50-seed", "51-signed-manifest"]
    assert second.task.text("environment/Dockerfile").count("COPY overlay/ /") == 1
    for path in (SEED_STEP, SEED_SOLVE, "tests/test.sh", "solution/solve.sh", "tests/Dockerfile"):
        assert path not in made.changes
    assert len(made.composition.requirements) == len(made.composition.uses) == 2


def test_every_changed_file_belongs_to_the_frame_or_to_a_pair() -> None:
    parent = Grown.seed(regions())
    child, made = built(parent, plan_of(parent, "encoded_text", "base16_dump", ORDERS))
    (binding,) = made.bindings
    assert binding.key == f"in:{ORDERS}"
    assert binding.solution_block == "solution/steps/49-encoded-text"
    assert binding.test_units == ("tests/units/01-encoded-text",)
    assert binding.requirement in child.task.text("instruction.md")
    assert "environment/data/orders.csv" in binding.environment_paths
    assert {path for path in made.changes if path.startswith(OVERLAY)} <= set(binding.environment_paths)


def test_artifacts_are_the_outputs_and_what_is_restored() -> None:
    child = child_of(regions())
    report = "/app/handover/01-shuffled-parts.report"
    assert [artifact.source for artifact in child.config.artifacts] == [TOTALS, ORDERS, report]


def test_where_outputs_cannot_be_told_the_working_folder_is_graded(
    attempt: Callable[[Task, Solver], Trial],
) -> None:
    child = child_of(regions({"solution/solve.sh": SOLVE + "make --version || true\n"}))
    assert [artifact.source for artifact in child.config.artifacts] == ["/app"]
    trial = attempt(child, oracle)
    assert trial.outcome is TrialOutcome.PASSED, output(trial)


def test_a_separate_seed_keeps_its_verifier_and_its_artifacts(rewards: Callable[..., Rewards]) -> None:
    seed = regions(SEPARATE)
    parent = Grown.seed(seed)
    child, made = built(parent, plan_of(parent, "transcoded", "utf16", ORDERS))
    assert child.task.text("tests/data/orders.csv") == orders()
    assert ORDERS not in copies(child.task.text("tests/Dockerfile"), child.task.under("tests")).files
    assert "COPY data/readme.txt /app/data/" in child.task.text("tests/Dockerfile")
    assert not any(path.startswith(PRISTINE) for path in child.task.files)
    rewards(child.task, [made.bindings[0].solution_block]).assert_only_the_oracle_passes()


REFUSED = {
    "several containers": ({"environment/docker-compose.yaml": "services: {}\n"}, "several containers"),
    "a prebuilt image": (
        {"task.toml": CONFIG + '[environment]\ndocker_image = "debian"\n'},
        "prebuilt image",
    ),
    "steps of its own": ({"solution/steps/1.sh": "true\n"}, "of its own"),
    "units of its own": ({"tests/units/a.sh": "true\n"}, "of its own"),
    "an input that an earlier stage takes too": (
        {
            "environment/Dockerfile": "FROM debian:bookworm-slim AS first\nCOPY data/orders.csv /x\n"
            + DOCKERFILE
        },
        "several places",
    ),
    "no telling what it writes in /": (
        {
            "environment/Dockerfile": DOCKERFILE.replace("WORKDIR /app", "WORKDIR /"),
            "solution/solve.sh": "#!/bin/bash\ncat /app/data/orders.csv\nfrobnicate\n",
        },
        "working folder is /",
    ),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_what_cannot_be_extended_is_refused_with_the_reason(case: str) -> None:
    changes, reason = REFUSED[case]
    with pytest.raises(CannotBuild, match=reason):
        child_of(regions(changes))


def test_the_diff_of_task_toml_is_what_was_meant() -> None:
    before, after = CONFIG.splitlines(), child_of(regions()).text("task.toml").splitlines()
    assert [line for line in before if line not in after] == ['name = "envevo-tests/regions" # the name']
    new = [line for line in after if line not in before]
    assert new[0].startswith("artifacts = [")
    assert new[1:] == ['name = "envevo-tests/regions-g1" # the name', 'environment_mode = "separate"']


@pytest.mark.parametrize(
    ("name", "expected"),
    [("org/a", "org/a-g3"), ("org/a-g2", "org/a-g3"), ("org/a-gx", "org/a-gx-g3"), ("org/a-g", "org/a-g-g3")],
)
def test_a_childs_name_says_its_generation(name: str, expected: str) -> None:
    assert generation_name(name, 3) == expected


KEY = st.text(string.ascii_lowercase, min_size=1, max_size=8).map(lambda name: f"x_{name}")
VALUE = st.one_of(
    st.integers(-9, 9),
    st.booleans(),
    st.text(string.printable, max_size=12),
    st.lists(st.integers(), max_size=3),
)
TABLES = st.dictionaries(KEY, st.dictionaries(KEY, VALUE, max_size=3), max_size=4)


def toml_of(tables: dict[str, dict[str, object]]) -> str:
    lines = ["# first line", 'version = "1.0"']
    for name, table in tables.items():
        lines.append(f"[{name}] # {name}")
        lines.extend(f"{key} = {toml_value(value)}" for key, value in table.items())
    return "\n".join(lines) + "\n"


def toml_value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(f"\\u{ord(character):04x}" for character in value) + '"'
    return str(value)


@given(TABLES)
@settings(max_examples=60, deadline=None)
def test_unknown_keys_and_comments_survive(tables: dict[str, dict[str, object]]) -> None:
    text = toml_of(tables)
    edited = configured(text, ["/app/a", "/app/b"], 1)
    found = tomllib.loads(edited)
    assert found["artifacts"] == ["/app/a", "/app/b"]
    assert found.pop("verifier") == {"environment_mode": "separate"}
    del found["artifacts"]
    assert found == tomllib.loads(text)
    assert all(line in edited for line in text.splitlines() if "#" in line)
    assert configured(edited, ["/app/a", "/app/b"], 1) == edited


@given(st.integers(0, 400), st.integers(0, 30))
@settings(max_examples=40, deadline=None)
def test_the_instruction_is_the_seeds_text_and_then_the_requirements(words: int, count: int) -> None:
    seed = "word " * words
    requirements = tuple(Requirement(key=str(n), text=f"Requirement {n}.") for n in range(count))
    composition = Composition(seed_instruction=seed, seed_words=words, requirements=requirements)
    text = rendered(composition)
    assert text == seed if not count else text.startswith(seed.rstrip())
    assert all(f"- {requirement.text}\n" in text for requirement in requirements)
    assert word_cap(composition) == max(int(words * 1.6), words + 180)


def test_an_instruction_over_its_cap_is_not_built() -> None:
    full = begun(regions()).model_copy(update={"requirements": (Requirement(key="k", text="word " * 175),)})
    parent = Grown.seed(regions())
    crowded = Grown(parent.task, parent.sequence, full)
    with pytest.raises(CannotBuild, match="its cap is"):
        built(crowded, plan_of(parent, "transcoded", "utf16", ORDERS))


def test_an_evolved_task_without_its_history_is_grown_no_further() -> None:
    parent = Grown.seed(regions())
    grown, _ = built(parent, plan_of(parent, "shuffled_parts", "by_position", ORDERS))
    plan = plan_of(grown, "signed_manifest", "tagged", TOTALS)
    imported = Grown.seed(grown.task)
    with pytest.raises(CannotBuild, match="grow it where it was grown"):
        built(imported, plan)
    for direction in Direction:
        with pytest.raises(NothingToPropose, match="grow it where it was grown"):
            OFFLINE.proposer.propose(brief(imported, direction))
