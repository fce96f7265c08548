"""Text that a database takes, and output cut down."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandboxes.text import clean, head_and_tail


@pytest.mark.parametrize(
    ("given_", "cleaned"),
    [
        ("plain ünïcode 🙂", "plain ünïcode 🙂"),
        ("a\x00b", "a\N{REPLACEMENT CHARACTER}b"),
        ("half \ud83d pair", "half \N{REPLACEMENT CHARACTER} pair"),
        (b"\xff\xfeok", "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}ok"),
        (b"nul \x00 in bytes", "nul \N{REPLACEMENT CHARACTER} in bytes"),
        ("", ""),
    ],
)
def test_what_a_database_refuses_is_replaced_and_the_rest_stays(given_: str | bytes, cleaned: str) -> None:
    assert clean(given_) == cleaned


@given(st.one_of(st.text(), st.binary()))
def test_cleaned_text_always_encodes_and_holds_no_nul(value: str | bytes) -> None:
    assert "\x00" not in clean(value)
    clean(value).encode("utf-8")


def test_short_output_is_kept_whole() -> None:
    assert head_and_tail(b"abc", 3) == (b"abc", 0)


def test_long_output_keeps_head_and_tail_and_says_how_much_is_gone() -> None:
    assert head_and_tail(b"0123456789", 5) == (b"01289", 5)


@given(st.binary(max_size=50), st.integers(-1, 60))
def test_kept_and_cut_add_up(data: bytes, cap: int) -> None:
    kept, cut = head_and_tail(data, cap)
    assert len(kept) + cut == len(data)
    assert len(kept) <= max(cap, 0)
    assert data.startswith(kept[: (len(kept) + 1) // 2])
