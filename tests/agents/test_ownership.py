"""Images that end as a user of their own, and build contexts that leave files out."""

from __future__ import annotations

import pytest

from agents.composition import OVERLAY
from agents.offline.objects import subjects
from agents.offline.ownership import copy_of, user_of
from agents.roles import CannotBuild
from sandboxes.dockerfile import copies
from sandboxes.task import DOCKERFILE as DOCKERFILE_PATH
from sandboxes.task import Task
from tests.agents.growing import OFFLINE, Grown, built, plan_of
from tests.agents.tasks import DOCKERFILE, LIST, ORDERS, SEPARATE, TOTALS, orders, regions

AGENT = DOCKERFILE + "RUN useradd -m agent && chown -R agent /app\nUSER agent\n"
ROOTS_FOLDER = AGENT.replace("chown -R agent /app", "chown agent /app")


def grown(task: Task, operator: str = "shuffled_parts", variant: str = "by_position") -> Task:
    parent = Grown.seed(task)
    return built(parent, plan_of(parent, operator, variant, ORDERS))[0].task


def with_dockerfile(text: str) -> Task:
    return regions({"environment/Dockerfile": text})


def landed(task: Task) -> dict[str, str]:
    return dict(copies(task.text(DOCKERFILE_PATH), task.under("environment")).files)


IGNORES = ("**/*.md\n", "overlay\n", "*\n!data\n!regions.txt\n", "**/*.md", "*.md\r\n**/0*\r\n")


@pytest.mark.parametrize("name", [".dockerignore", "Dockerfile.dockerignore"])
@pytest.mark.parametrize("ignored", IGNORES)
def test_what_a_seed_ignores_does_not_keep_deliveries_away(name: str, ignored: str) -> None:
    child = grown(regions({f"environment/{name}": ignored}))
    delivered = {path[len(OVERLAY) :] for path in child.files if path.startswith(f"{OVERLAY}/")}
    assert delivered <= set(landed(child))
    assert child.text(f"environment/{name}").startswith(ignored)


def test_a_second_generation_lets_the_overlay_through_only_once() -> None:
    parent = Grown.seed(regions({"environment/.dockerignore": "**/*.md\n"}))
    first, _ = built(parent, plan_of(parent, "shuffled_parts", "by_position", ORDERS))
    second, made = built(first, plan_of(first, "signed_manifest", "tagged", TOTALS))
    assert "environment/.dockerignore" not in made.changes
    assert second.task.text("environment/.dockerignore") == "**/*.md\n!overlay\n!overlay/**\n"


def test_a_unit_that_the_verifiers_build_leaves_out_is_refused() -> None:
    with pytest.raises(CannotBuild, match="tests/units/00-seed would not be at"):
        grown(regions({**SEPARATE, "tests/.dockerignore": "units\n"}))


def test_an_overlay_of_the_seeds_own_is_refused() -> None:
    with pytest.raises(CannotBuild, match="overlay of its own"):
        grown(regions({"environment/overlay/app/x": "x\n"}))


def test_a_note_that_does_not_land_describes_nothing() -> None:
    parent = Grown.seed(regions())
    plan = plan_of(parent, "shuffled_parts", "by_position", ORDERS)
    child, made = built(parent, plan)
    hidden = child.task.replace({"environment/.dockerignore": regions({"x": "**/*.md\n"}).files["x"]})
    judgement = OFFLINE.rubric_verifier.judge(hidden, plan, made.bindings)
    assert "described" in {failure.criterion for failure in judgement.failures}


USERS = {
    "none": (DOCKERFILE, ""),
    "a name": (DOCKERFILE + "USER agent\n", "agent"),
    "a group": (DOCKERFILE + "USER 1000:1000\n", "1000:1000"),
    "root at last": (DOCKERFILE + "USER agent\nUSER root\n", ""),
    "root by number": (DOCKERFILE + "USER 0:0\n", ""),
    "a variable": (DOCKERFILE + "ARG WHO=agent\nUSER ${WHO}\n", "agent"),
    "an earlier stage's": ("FROM debian AS a\nUSER agent\nFROM debian\n", ""),
    "the stage it starts from": ("FROM debian AS a\nUSER agent\nFROM a\n", "agent"),
}


@pytest.mark.parametrize("case", sorted(USERS))
def test_the_last_user_of_the_last_stage_counts(case: str) -> None:
    dockerfile, user = USERS[case]
    assert user_of(dockerfile) == user


def test_names_with_spaces_are_copied_too() -> None:
    assert copy_of("/my app/x", "me") == 'COPY --chown=me ["overlay/my app/x/", "/my app/x/"]'


def test_with_a_user_deliveries_touch_no_folder_that_was_there() -> None:
    child = grown(with_dockerfile(AGENT))
    assert child.text(DOCKERFILE_PATH).endswith(
        "COPY --chown=agent overlay/app/handover/ /app/handover/\n"
        "COPY --chown=agent overlay/app/data/ /app/data/\n"
    )
    assert "/app/data/.keep" in landed(child)


def test_a_later_generation_brings_its_deliveries_by_the_same_line() -> None:
    parent = Grown.seed(with_dockerfile(AGENT))
    first, _ = built(parent, plan_of(parent, "shuffled_parts", "by_position", ORDERS))
    second, made = built(first, plan_of(first, "transcoded", "utf16", LIST))
    assert DOCKERFILE_PATH in made.changes
    assert second.task.text(DOCKERFILE_PATH).count("overlay/app/handover/") == 1
    assert set(second.task.under(OVERLAY)) <= {path[1:] for path in landed(second.task)}


MORE = {"environment/data/more.csv": orders(5)}
RESTORABLE = {
    "its folder goes with it": (ROOTS_FOLDER, {}, True),
    "its folder stays and is root's": (ROOTS_FOLDER, MORE, False),
    "its folder stays and was given away": (AGENT, MORE, True),
    "its folder was copied for the user": (
        ROOTS_FOLDER.replace("COPY data/", "COPY --chown=agent data/"),
        MORE,
        True,
    ),
    "its folder was copied for the user by a relative name": (
        ROOTS_FOLDER.replace("COPY data/ /app/data/", 'COPY --chown=agent ["data/", "data/"]'),
        MORE,
        True,
    ),
    "its folder was copied for root": (
        ROOTS_FOLDER.replace("COPY data/", "COPY --chown=root:root data/"),
        MORE,
        False,
    ),
    "root may write anywhere": (DOCKERFILE, MORE, True),
}


@pytest.mark.parametrize("case", sorted(RESTORABLE))
def test_only_what_its_user_can_write_again_is_taken_away(case: str) -> None:
    dockerfile, changes, expected = RESTORABLE[case]
    parent = Grown.seed(regions({"environment/Dockerfile": dockerfile, **changes}))
    found = subjects(parent.task, parent.sequence, parent.composition)
    assert (ORDERS in {subject.path for subject in found}) is expected
