"""D_T: the arithmetic by hand on a small table, and the shipped table's promises."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from agents.plan import Direction, Pair, Sequence
from lineages.difficulty import UNSEEN, Reference, difficulty, idle_levers, shipped

SMALL = Reference(
    joint=Counter(
        {("logs", "plain log", "grep"): 6, ("logs", "plain log", "awk"): 2, ("other", "archive", "tar"): 4}
    ),
    centroids=(("plain log", "plain log file"), ("archive", "archive tar")),
    commands=Counter({"grep": 90, "awk": 10}),
    digest="d",
)


def pair(scenario: str, tool: str, key: str = "k") -> Pair:
    return Pair(key=key, scenario=scenario, skill="s", tool=tool, origin="extracted")


@pytest.mark.parametrize(
    ("scenario", "domain", "share"),
    [
        # p0 = (8 + 1) / (12 + 2 + 1) = 0.6;  (8 + 5·0.6) / (8 + 5)
        ("plain log", "logs", 11 / 13),
        # p0 = (4 + 1) / 15 = 1/3;  (0 + 5/3) / (8 + 5)
        ("archive", "logs", (5 / 3) / 13),
        # p0 = (0 + 1) / 15;  (0 + 5/15) / 13
        (UNSEEN, "logs", (1 / 3) / 13),
        # a domain that the table does not know falls back to the prior alone
        ("plain log", "none", 0.6),
    ],
)
def test_novelty_is_the_smoothed_share_of_the_scenario_in_its_domain(
    scenario: str, domain: str, share: float
) -> None:
    assert SMALL.novelty(scenario, domain) == pytest.approx(-math.log(share))


@pytest.mark.parametrize(
    ("tool", "scenario", "share"),
    [
        # p1 = 90.5 / 101.5;  (6 + 5·p1) / (8 + 5)
        ("grep", "plain log", (6 + 5 * 90.5 / 101.5) / 13),
        # p1 = 0.5 / 101.5;  (0 + 5·p1) / 13
        ("basenc", "plain log", (5 * 0.5 / 101.5) / 13),
        # an unseen scenario falls back to the commands alone
        ("grep", UNSEEN, 90.5 / 101.5),
    ],
)
def test_rarity_is_the_smoothed_share_of_the_tool_under_its_scenario(
    tool: str, scenario: str, share: float
) -> None:
    assert SMALL.rarity(tool, scenario) == pytest.approx(-math.log(share))


def test_a_sequence_is_the_sum_of_its_pairs_and_counts_distinct_ones() -> None:
    sequence = Sequence(
        pairs=(
            pair("plain log file", "grep", "a"),
            pair("plain log file", "grep", "b"),
            pair("archive tar", "tar", "c"),
        )
    )

    found = difficulty(sequence, "logs", SMALL)

    assert (found.length, found.distinct) == (3, 2)
    assert found.novelty == pytest.approx(
        2 * SMALL.novelty("plain log", "logs") + SMALL.novelty("archive", "logs")
    )
    assert found.total == pytest.approx(found.novelty + found.rarity)


def test_the_empty_sequence_has_no_difficulty() -> None:
    assert difficulty(Sequence(), "logs", SMALL).total == 0


def test_every_shipped_scenario_class_is_its_own_nearest() -> None:
    reference = shipped()

    assert [reference.classify(words) for _, words in reference.centroids] == [
        name for name, _ in reference.centroids
    ]


def test_words_that_no_class_knows_are_unseen() -> None:
    assert shipped().classify("zeppelin mooring roster") == UNSEEN


def test_find_is_capped_because_the_corpus_was_gathered_around_it() -> None:
    assert shipped().commands["find"] == shipped().commands["xargs"]


def test_all_terms_are_finite_and_positive_for_anything() -> None:
    reference = shipped()
    for scenario in [UNSEEN, *(name for name, _ in reference.centroids)]:
        for tool in ("awk", "never-heard-of"):
            assert 0 < reference.novelty(scenario, "general") < 20
            assert 0 < reference.rarity(tool, scenario) < 20


def moved(direction: Direction, old: tuple[Pair, ...], new: tuple[Pair, ...]) -> list[str]:
    return idle_levers(direction, Sequence(pairs=old), Sequence(pairs=new), "logs", SMALL)


LOG, ARCHIVE = pair("plain log file", "grep"), pair("archive tar", "grep")


@pytest.mark.parametrize(
    ("direction", "old", "new", "says"),
    [
        (Direction.SCENARIO, (LOG,), (ARCHIVE,), ""),
        (Direction.SCENARIO, (ARCHIVE,), (LOG,), "more novel"),
        (Direction.SKILL, (LOG,), (pair("plain log file", "basenc"),), ""),
        (Direction.SKILL, (pair("plain log file", "awk"),), (LOG,), "rarer"),
        (Direction.LENGTH, (LOG,), (LOG, pair("archive tar", "tar", "new")), ""),
        (Direction.LENGTH, (LOG,), (LOG, pair("plain log file", "grep", "new")), "repeat"),
    ],
)
def test_a_lever_that_does_not_move_is_said(
    direction: Direction, old: tuple[Pair, ...], new: tuple[Pair, ...], says: str
) -> None:
    found = moved(direction, old, new)

    assert bool(found) == bool(says)
    assert says in "".join(found)
