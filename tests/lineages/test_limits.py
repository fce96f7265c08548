"""The arithmetic of limits and retries, and questions and replies as bytes; no database."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents.models import ModelSpec
from agents.providers.base import Answered, Question, Reply, Said, Schema, Stop, ToolSpec, Usage
from lineages.library import limits, replies, retrying

QUESTION = Question("You are careful.", (Said("What is harder?"),), max_output_tokens=100)
SEARCH = ToolSpec("search", "Looks for it.", {"type": "object", "required": ["word"]})


@pytest.mark.parametrize(
    ("limit", "tokens", "recent", "under_way", "seconds"),
    [
        ({}, 10**6, [(1.0, 10**6)], 99, 0),
        ({"requests_per_minute": 2}, 1, [(50.0, 1)], 0, 0),
        ({"requests_per_minute": 2}, 1, [(50.0, 1), (20.0, 1)], 0, 10),
        ({"requests_per_minute": 2}, 1, [(59.0, 1), (50.0, 1), (20.0, 1)], 0, 10),
        ({"tokens_per_minute": 100}, 40, [(50.0, 30), (20.0, 30)], 0, 0),
        ({"tokens_per_minute": 100}, 41, [(50.0, 30), (20.0, 30)], 0, 10),
        ({"tokens_per_minute": 100}, 71, [(50.0, 30), (20.0, 30)], 0, 40),
        ({"tokens_per_minute": 100}, 500, [], 0, 0),
        ({"tokens_per_minute": 100}, 500, [(20.0, 30)], 0, 40),
        ({"at_once": 2}, 1, [], 1, 0),
        ({"at_once": 2}, 1, [], 2, limits.LOOK_AGAIN),
        ({"at_once": 1, "requests_per_minute": 1}, 1, [(20.0, 1)], 1, 40),
    ],
)
def test_how_long_a_limit_holds(
    limit: dict[str, int], tokens: int, recent: list[tuple[float, int]], under_way: int, seconds: float
) -> None:
    spec = ModelSpec(name="small", provider="openai", model="small", **limit)

    assert limits.wait(spec, tokens, recent, under_way) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("failed", "retry_after", "left", "seconds"),
    [
        (1, None, 100, 1),
        (2, None, 100, 2),
        (4, None, 100, 8),
        (400, None, 100, 60),
        (1, 7.5, 100, 7.5),
        (4, 7.5, 100, 8),
        (1, 101, 100, None),
        (1, None, 0.5, None),
        (1, None, 0, None),
    ],
)
def test_how_long_a_failed_request_waits(
    failed: int, retry_after: float | None, left: float, seconds: float | None
) -> None:
    assert retrying.wait(failed, retry_after, left) == seconds
    if seconds is not None:
        assert retrying.jittered(seconds, 0.5) > seconds


def test_what_is_packed_comes_back_equal_whatever_bytes_it_came_from() -> None:
    reply = Reply(
        text="a\ud800",
        calls=(),
        stop=Stop.LENGTH,
        content=[{"type": "thinking", "signature": "x=="}],
        usage=Usage(3, 2, cached=1, cache_written=1, thinking=1),
        raw=b"\xff\x00",
        served="m",
        request_id="r",
        seconds=0.25,
    )

    for raw in (b"\xff\x00", "é".encode(), b""):
        assert replies.unpacked(replies.packed(replace(reply, raw=raw))) == replace(reply, raw=raw)
    assert replies.unpacked(replies.packed(replace(reply, usage=None))).usage is None


def test_a_question_is_told_apart_by_all_that_is_asked() -> None:
    call = Answered({"role": "assistant"}, "hm")
    others = [
        replace(QUESTION, system="."),
        replace(QUESTION, turns=(*QUESTION.turns, call)),
        replace(QUESTION, tools=(SEARCH,)),
        replace(QUESTION, schema=Schema("x", {"type": "object"})),
        replace(QUESTION, web_search=True),
    ]

    assert len({replies.digest(each) for each in (QUESTION, *others)}) == 6
    assert replies.digest(QUESTION) == replies.digest(replace(QUESTION, max_output_tokens=5))
