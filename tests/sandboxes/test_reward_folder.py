"""`read_reward` on folders of the host, whatever lies in them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandboxes.reward import Reward, RewardOutcome, read_reward


def assert_none(reward: Reward, outcome: RewardOutcome) -> None:
    assert (reward.value, reward.outcome) == (None, outcome)
    assert reward.reason.endswith(".")


def test_a_folder_with_one_good_file_gives_its_reward(tmp_path: Path) -> None:
    (tmp_path / "reward.txt").write_text("1\n")
    (tmp_path / "test-stdout.txt").write_text("0\n")
    assert read_reward(tmp_path).value == 1


def test_a_folder_that_is_empty_or_absent_has_no_reward(tmp_path: Path) -> None:
    assert_none(read_reward(tmp_path), RewardOutcome.MISSING)
    assert_none(read_reward(tmp_path / "nowhere"), RewardOutcome.MISSING)


def test_both_files_in_a_folder_are_ambiguous_also_where_one_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "reward.txt").write_text("0")
    (tmp_path / "reward.json").symlink_to("nowhere")
    assert_none(read_reward(tmp_path), RewardOutcome.AMBIGUOUS)


@pytest.mark.parametrize("inside", [True, False])
def test_a_link_is_never_followed(tmp_path: Path, inside: bool) -> None:
    (tmp_path / "logs").mkdir()
    target = tmp_path / ("logs/one" if inside else "one")
    target.write_text("1")
    (tmp_path / "logs/reward.txt").symlink_to(target)
    assert_none(read_reward(tmp_path / "logs"), RewardOutcome.UNSAFE)


def test_the_folder_itself_may_not_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/reward.txt").write_text("1")
    (tmp_path / "logs").symlink_to("real")
    assert_none(read_reward(tmp_path / "logs"), RewardOutcome.UNSAFE)


def test_pipes_and_folders_are_unsafe_and_nobody_waits_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "reward.txt")
    assert_none(read_reward(tmp_path), RewardOutcome.UNSAFE)
    (tmp_path / "b/reward.json").mkdir(parents=True)
    assert_none(read_reward(tmp_path / "b"), RewardOutcome.UNSAFE)
    (tmp_path / "file").write_text("1")
    assert_none(read_reward(tmp_path / "file"), RewardOutcome.UNSAFE)


def test_a_huge_file_is_not_read_whole(tmp_path: Path) -> None:
    with (tmp_path / "reward.txt").open("wb") as stream:
        stream.truncate(1 << 40)  # a terabyte of nothing
    assert_none(read_reward(tmp_path), RewardOutcome.TOO_LARGE)
