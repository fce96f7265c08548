"""Every way a reward file can be wrong, and the few in which it is right."""

import json
import math
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandboxes.reward import MAX_BYTES, Reward, RewardOutcome, read_reward, reward_from_files


def of(**files: bytes) -> Reward:
    return reward_from_files({f"reward.{name}": data for name, data in files.items()})


@pytest.mark.parametrize(
    ("data", "value", "flagged"),
    [
        (b"1", 1.0, False),
        (b"0\n", 0.0, False),
        (b" 0.5 \n", 0.5, False),
        (b"1e-3", 0.001, False),
        (b".5", 0.5, False),
        (b"+1.", 1.0, False),
        (b"-1", -1.0, True),
        (b"2", 2.0, True),
        (b"1\r\n", 1.0, False),
    ],
)
def test_one_number_is_a_reward_and_is_flagged_outside_zero_to_one(
    data: bytes, value: float, flagged: bool
) -> None:
    reward = of(txt=data)
    assert (reward.outcome, reward.value, reward.flagged) == (RewardOutcome.OK, value, flagged)
    assert reward.ok


@pytest.mark.parametrize(
    ("data", "outcome"),
    [
        (b"", RewardOutcome.EMPTY),
        (b" \n\t", RewardOutcome.EMPTY),
        (b"nan", RewardOutcome.NOT_FINITE),
        (b"-Infinity", RewardOutcome.NOT_FINITE),
        (b"1e400", RewardOutcome.NOT_FINITE),
        (b"9" * 400, RewardOutcome.NOT_FINITE),
        (b"1 0", RewardOutcome.MALFORMED),
        (b"1\n0\n", RewardOutcome.MALFORMED),
        (b"warning: no tests\n1\n", RewardOutcome.MALFORMED),
        (b"1_0", RewardOutcome.MALFORMED),
        (b"0x1", RewardOutcome.MALFORMED),
        (b"true", RewardOutcome.MALFORMED),
        ("١".encode(), RewardOutcome.MALFORMED),
        (b"\xef\xbb\xbf1", RewardOutcome.MALFORMED),
        (b"\xff", RewardOutcome.MALFORMED),
        (b"1\x00", RewardOutcome.MALFORMED),
        (b"1" + b" " * MAX_BYTES, RewardOutcome.TOO_LARGE),
    ],
)
def test_anything_else_in_the_text_file_has_no_value(data: bytes, outcome: RewardOutcome) -> None:
    assert_none(of(txt=data), outcome)


def assert_none(reward: Reward, outcome: RewardOutcome) -> None:
    assert (reward.outcome, reward.value, reward.flagged, dict(reward.parts)) == (outcome, None, False, {})
    assert not reward.ok
    assert reward.reason.endswith(".")
    reward.reason.encode()  # it is stored and shown
    assert "\x00" not in reward.reason


@pytest.mark.parametrize(
    ("text", "value", "parts", "flagged"),
    [
        ('{"reward": 1, "speed": 0.25}', 1.0, {"reward": 1.0, "speed": 0.25}, False),
        ('{"accuracy": 0.5}', 0.5, {"accuracy": 0.5}, False),
        ('{"a": 0.75, "b": 0.5}', 0.5, {"a": 0.75, "b": 0.5}, False),
        ('{"reward": 1, "seconds": 12}', 1.0, {"reward": 1.0, "seconds": 12.0}, True),
    ],
)
def test_a_flat_object_of_numbers_is_a_reward_with_all_its_parts(
    text: str, value: float, parts: dict[str, float], flagged: bool
) -> None:
    reward = of(json=text.encode())
    assert (reward.outcome, reward.value, dict(reward.parts), reward.flagged) == (
        RewardOutcome.OK,
        value,
        parts,
        flagged,
    )


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("", RewardOutcome.EMPTY),
        ("{", RewardOutcome.MALFORMED),
        ("1", RewardOutcome.MALFORMED),
        ("[1]", RewardOutcome.MALFORMED),
        ("{}", RewardOutcome.MALFORMED),
        ('{"reward": true}', RewardOutcome.MALFORMED),
        ('{"reward": "1"}', RewardOutcome.MALFORMED),
        ('{"reward": null}', RewardOutcome.MALFORMED),
        ('{"reward": {"a": 1}}', RewardOutcome.MALFORMED),
        ('{"reward": 0, "reward": 1}', RewardOutcome.MALFORMED),
        ('{"reward": 1, "x": {"a": 1, "a": 2}}', RewardOutcome.MALFORMED),
        ('{"\\u0000": 1}', RewardOutcome.MALFORMED),
        ('{"\\ud800": 1}', RewardOutcome.MALFORMED),
        ('{"reward": NaN}', RewardOutcome.NOT_FINITE),
        ('{"reward": -Infinity}', RewardOutcome.NOT_FINITE),
        ('{"reward": 1e400}', RewardOutcome.NOT_FINITE),
        ('{"reward": 1' + "0" * 400 + "}", RewardOutcome.NOT_FINITE),
        ('{"reward": 1' + "0" * 5000 + "}", RewardOutcome.MALFORMED),
        ("[" * 60_000, RewardOutcome.MALFORMED),
        ('{"reward": 1}' + " " * MAX_BYTES, RewardOutcome.TOO_LARGE),
    ],
)
def test_any_other_json_has_no_value(text: str, outcome: RewardOutcome) -> None:
    assert_none(of(json=text.encode()), outcome)


def test_both_files_are_a_verifier_error_even_where_they_agree() -> None:
    assert_none(of(txt=b"1", json=b'{"reward": 1}'), RewardOutcome.AMBIGUOUS)


def test_no_file_is_missing_and_other_names_are_not_looked_at() -> None:
    assert_none(reward_from_files({"rewards.json": b'{"reward": 1}'}), RewardOutcome.MISSING)


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


@given(st.binary(max_size=200), st.sampled_from(["txt", "json"]))
def test_no_bytes_ever_raise_and_a_value_is_always_finite(data: bytes, kind: str) -> None:
    reward = of(**{kind: data})
    assert (reward.value is not None) == reward.ok
    assert reward.value is None or math.isfinite(reward.value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_is_read_back_exactly(value: float) -> None:
    assert of(txt=repr(value).encode()).value == value
    assert of(json=json.dumps({"reward": value}).encode()).value == value


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(json_values)
def test_no_json_ever_raises_and_parts_are_always_finite(value: object) -> None:
    reward = of(json=json.dumps(value).encode())
    assert all(math.isfinite(number) for number in reward.parts.values())
    assert not reward.ok or isinstance(value, dict)
