"""Text that a database takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandboxes.text import clean


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
