"""How times, numbers and states read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lineages.growth.models import Attempt, Evolution
from lineages.library.models import Audit
from lineages.templatetags import pages

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("past", "said"),
    [
        (timedelta(seconds=-5), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(seconds=60), "1 min ago"),
        (timedelta(minutes=59, seconds=59), "59 min ago"),
        (timedelta(hours=1), "1 h ago"),
        (timedelta(hours=23, minutes=59), "23 h ago"),
        (timedelta(days=400), "400 d ago"),
    ],
)
def test_a_time_reads_in_its_largest_unit_rounded_down(past: timedelta, said: str) -> None:
    assert pages.since(NOW - past, NOW) == said


def test_a_time_carries_the_full_one_as_its_title() -> None:
    html = pages.ago(NOW)
    assert 'title="2026-11-30T12:00:00+00:00"' in html and "data-ago" in html
    assert pages.ago(None) == "–"


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.004, "4 ms"), (1.25, "1.25 s"), (12.4, "12 s"), (74.2, "1 min 14 s"), (605, "10 min 05 s")],
)
def test_a_duration_reads_as_people_say_it(value: float, said: str) -> None:
    assert pages.seconds(value) == said


@pytest.mark.parametrize(
    ("value", "said"), [(1.5, "+1.50"), (-0.39, "−0.39"), (0, "+0"), (2, "+2"), (None, "")]
)
def test_a_change_carries_its_sign(value: float | None, said: str) -> None:
    assert pages.signed(value) == said


@pytest.mark.parametrize("code", [*Evolution.Status.values, *Attempt.Outcome.values, *Audit.Status.values])
def test_every_state_has_words_without_underscores_and_a_mark_beside_its_colour(code: str) -> None:
    assert "_" not in pages.words(code)
    html = pages.badge(code)
    assert pages.words(code) in html and pages.mark(code) in html


def test_a_badge_escapes_what_it_is_given() -> None:
    assert "<b>" not in pages.badge("<b>")
