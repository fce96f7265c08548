"""Every way a reward file can be wrong, and the few in which it is right."""

import json
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandboxes.base import Sandbox
from sandboxes.reward import MAX_BYTES, Reward, RewardOutcome, reward_from, reward_in
from tests.sandboxes.contract.test_commands import sh

LOGS = "/logs/verifier"


def of(**files: bytes) -> Reward:
    ((kind, data),) = files.items()
    return reward_from(f"reward.{kind}", data)


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


LEFT = {
    "nothing": ("", RewardOutcome.MISSING),
    "another name": ("echo 1 > rewards.txt", RewardOutcome.MISSING),
    "no folder at all": ("cd /; rm -r /logs", RewardOutcome.MISSING),
    "a second name of a file": ("echo 1 > /one; ln /one reward.txt", RewardOutcome.OK),
    "three thousand files beside it": (
        "i=0; while [ $i -lt 3000 ]; do : > f$i; i=$((i+1)); done; echo 1 > reward.txt",
        RewardOutcome.OK,
    ),
    "two files that agree": ("echo 1 > reward.txt; echo '{\"a\": 1}' > reward.json", RewardOutcome.AMBIGUOUS),
    "a link beside a file": (
        "ln -s /etc/passwd reward.txt; echo '{\"a\": 1}' > reward.json",
        RewardOutcome.AMBIGUOUS,
    ),
    "a pipe beside a file": ("mkfifo reward.json; echo 1 > reward.txt", RewardOutcome.AMBIGUOUS),
    "a folder beside a file": ("mkdir reward.json; echo 1 > reward.txt", RewardOutcome.AMBIGUOUS),
    "a circle beside a file": ("ln -s reward.json reward.json; echo 1 > reward.txt", RewardOutcome.AMBIGUOUS),
    "a folder with a reward in it": (
        "mkdir reward.txt; echo 1 > reward.txt/reward.txt",
        RewardOutcome.UNSAFE,
    ),
    "a link to a file": ("echo 1 > one; ln -s one reward.txt", RewardOutcome.UNSAFE),
    "a link to nothing": ("ln -s nothing reward.txt", RewardOutcome.UNSAFE),
    "a link to itself": ("ln -s reward.txt reward.txt", RewardOutcome.UNSAFE),
    "a pipe": ("mkfifo reward.txt", RewardOutcome.UNSAFE),
    "a folder that is a link": (
        "mkdir /z; echo 1 > /z/reward.txt; cd /; rm -r /logs/verifier; ln -s /z /logs/verifier",
        RewardOutcome.UNSAFE,
    ),
    "a folder above that is a link": (
        "mkdir -p /z/verifier; echo 1 > /z/verifier/reward.txt; cd /; rm -r /logs; ln -s z /logs",
        RewardOutcome.UNSAFE,
    ),
    "a folder that is a file": ("cd /; rm -r /logs/verifier; echo 1 > /logs/verifier", RewardOutcome.UNSAFE),
    "a large file": ("head -c 70000 /dev/zero > reward.txt", RewardOutcome.TOO_LARGE),
    "a huge hollow file": ("truncate -s 60M reward.json", RewardOutcome.TOO_LARGE),
}


@pytest.mark.parametrize("what", LEFT)
def test_only_one_small_regular_file_in_a_real_folder_is_read(box: Sandbox, what: str) -> None:
    script, outcome = LEFT[what]
    sh(box, f"mkdir -p {LOGS}; cd {LOGS}; {script}")
    box.stop()
    started = time.monotonic()
    reward = reward_in(box, LOGS)
    if outcome is RewardOutcome.OK:
        assert reward.value == 1
    else:
        assert_none(reward, outcome)
    assert time.monotonic() - started < 20


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
