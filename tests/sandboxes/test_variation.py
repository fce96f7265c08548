"""Runs that differ in their surroundings, and other orders of an evolved task's units."""

from __future__ import annotations

import pytest

from agents.offline.runners import TEST_RUNNER
from sandboxes.files import TaskFile
from sandboxes.shuffling import renames
from sandboxes.task import Task
from sandboxes.variation import PLAIN, Variation, variations
from tests.sandboxes.tasks import with_changes


def test_variations_differ_are_the_same_each_time_and_begin_with_the_plain_one() -> None:
    made = variations(12)
    assert made[0] == PLAIN and made == variations(12) and made[:3] == variations(3)
    assert len({(tuple(each.env.items()), each.order) for each in made}) == 12
    assert len({each.label for each in made}) == 12
    assert made[1].label == "TZ=<+1245>-12:45, LC_ALL=C.UTF-8, tests shuffled (seed 1)"
    with pytest.raises(ValueError, match="at least one"):
        variations(0)


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({"PATH": "/bin"}, {"PATH": "/bin", "TZ": "<+14>-14", "LC_ALL": "C"}),
        ({"TZ": "UTC"}, {"TZ": "UTC", "LC_ALL": "C"}),
        ({"LANG": "C.UTF-8"}, {"LANG": "C.UTF-8", "TZ": "<+14>-14"}),
        ({"LC_TIME": "de"}, {"LC_TIME": "de", "TZ": "<+14>-14"}),
        ({"LC_ALL": "", "TZ": ""}, {"LC_ALL": "", "TZ": ""}),
    ],
)
def test_what_the_task_settles_itself_does_not_vary(own: dict[str, str], expected: dict[str, str]) -> None:
    assert Variation(env={"TZ": "<+14>-14", "LC_ALL": "C"}).beside(own) == expected


def task(*units: str, runner: str = TEST_RUNNER, **more: str) -> Task:
    files = {f"tests/units/{name}": b"exit 0\n" for name in units}
    texts = {path: text.encode() for path, text in more.items()}
    return Task.of(with_changes({"tests/test.sh": TaskFile.text(runner, executable=True), **files, **texts}))


def test_units_get_each_others_places_and_keep_their_names() -> None:
    made = task("00-seed", "10-a", "20-a", "30-b")
    found = renames(made, 7)
    assert sorted(found) == ["00-seed", "10-a", "20-a", "30-b"] and found == renames(made, 7)
    assert sorted(new.split("-")[0] for new in found.values()) == ["00", "01", "02", "03"]
    assert all(old.split("-")[1] == new.split("-")[1] for old, new in found.items())


@pytest.mark.parametrize("count", [2, 3, 12, 120])
def test_the_other_order_is_always_another_one(count: int) -> None:
    made = task(*(f"{number:03}-u" for number in range(count)))
    for order in range(20):
        found = renames(made, order)
        assert len(set(found.values())) == count
        assert sorted(found, key=lambda old: found[old]) != sorted(found)


@pytest.mark.parametrize(
    "made",
    [
        task(),
        task("00-seed"),
        task("00-seed", "unnumbered"),
        task("00-seed", "10-a b"),
        task("00-seed", "10-a", runner="bash units/00-seed; bash units/10-a\n"),
        task("00-seed", "10-a", runner="for n in seed a; do bash units/??-$n; done\n"),
        task("00-seed", "10-a", **{"tests/shared.sh": ". /tests/units/00-seed\n"}),
    ],
)
def test_units_that_cannot_change_places_keep_them(made: Task) -> None:
    assert renames(made, 1) == {}


@pytest.mark.parametrize(
    "runner", ['for u in "$here"/units/*; do', "for u in /tests/units/[0-9]*", '"$d/units"/*']
)
def test_a_runner_that_takes_whatever_is_there_lets_itself_be_shuffled(runner: str) -> None:
    assert renames(task("00-seed", "10-a", runner=runner), 1) == {"00-seed": "01-seed", "10-a": "00-a"}
