"""The agent loop: every way in which it ends."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.calling import MOST_CALLS
from agents.line import (
    CutOff,
    ModelTrouble,
    NoProgress,
    OutOfBounds,
    Refused,
    Waits,
)
from agents.models import ModelSpec, Price
from agents.providers.errors import ServerBroke, TooLong
from agents.turns import tokens_of
from sandboxes.base import ExecResult
from sandboxes.errors import MachineFault
from tests.agents.scripted_models import (
    SPEC,
    Scripted,
    call,
    called,
    cut,
    line_to,
    only,
    refused,
    said,
)
from tests.agents.talking import SMALL, Bench, Desk, ended, played, read, submit, write


def test_it_goes_on_until_the_work_is_handed_in() -> None:
    provider, desk, line = played(write("tests/a"), called(call("run_command", command="ls")), submit())
    assert desk.files.read("tests/a") == "x\n"
    assert desk.bench.ran == ["ls"]
    assert [result.exit_code for result in only(line).commands] == [0]
    assert {spec.name for spec in provider.questions[0].tools} == {tool.name for tool in desk.tools}
    assert "lslsls" in provider.last_words(2)


def test_every_call_of_an_answer_gets_a_result_also_after_the_end() -> None:
    calls = (call("write_file", path="tests/a", text="1"), call("submit_solution", script="done"))
    late = call("write_file", path="tests/late", text="1")
    _, desk, line = played(called(*calls, late))
    results = only(line).kept[0]
    assert [result.id for result in results] == [*(each.id for each in calls), late.id]
    assert [result.error for result in results] == [False, False, True]
    assert "Not run" in results[2].text
    assert set(desk.files.changes()) == {"tests/a"}


def test_a_refusal_ends_it_at_once_and_its_calls_are_not_made() -> None:
    provider, _, why = ended(Refused, refused("I cannot help with that."))
    assert "I cannot help with that." in why
    assert len(provider.questions) == 1


def test_a_cut_answer_is_not_applied_although_its_call_is_whole() -> None:
    provider, desk, line = played(cut("", call("write_file", path="tests/a", text="half")), submit())
    assert desk.files.changes() == {}
    assert "smaller pieces" in provider.last_words()
    assert 0 not in only(line).kept


def test_two_cut_answers_in_a_row_end_it() -> None:
    half = call("write_file", path="tests/a", text="half")
    provider, desk, _ = ended(CutOff, cut("", half), cut("", half))
    assert desk.files.changes() == {}
    assert len(provider.questions) == 2


def test_a_cut_answer_now_and_then_does_not_end_it() -> None:
    played(cut("a"), read(), cut("b"), said("words"), cut("c"), submit())


def test_the_third_same_call_is_remarked_on_once_and_the_fourth_ends_it() -> None:
    provider, _, why = ended(NoProgress, *(read("missing.txt") for _ in range(4)))
    assert len(provider.questions) == 4
    assert "three times" not in provider.last_words(2)
    assert "three times" in provider.last_words(3)
    assert "missing.txt" in why


def test_after_the_one_remark_a_second_round_of_the_same_ends_it_sooner() -> None:
    same = [read() for _ in range(3)]
    provider, _, _ = ended(NoProgress, *same, write("tests/a"), *same)
    assert len(provider.questions) == 7


def test_the_same_call_with_work_between_is_progress() -> None:
    played(*(step for n in range(4) for step in (read(), write(f"tests/{n}"))), submit())


def test_empty_answers_are_remarked_on_and_end_it() -> None:
    provider, _, _ = ended(NoProgress, said(""), said(" \n"))
    assert len(provider.questions) == 2
    assert "You called no tool" in provider.last_words()
    assert len(provider.questions[1].turns) == 1  # no server takes an empty answer back


def test_words_without_a_call_are_remarked_on_and_end_it_at_the_third() -> None:
    provider, _, _ = ended(NoProgress, said("I think"), said("I shall"), said("I am done"))
    assert len(provider.questions) == 3
    played(said("I think"), said("I shall"), submit())


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (call("delete_everything"), "there is: read_file, write_file, run_command, submit_solution"),
        (call("write_file", pth=1), "pth: Extra inputs are not permitted"),
        (call("write_file", pth=1), "Its arguments are: path, text"),
        (call("write_file", path="tests/a"), "text: Field required"),
        (call("run_command", command="a\x00b"), "NUL or half a surrogate"),
        (call("run_command", command="a\ud800b"), "NUL or half a surrogate"),
        (call("run_command", command="x", seconds=float("inf")), "too large"),
        (call("read_file", path="../../etc/passwd"), "without '..'"),
        (call("submit_solution", script=" "), "the script is empty"),
    ],
)
def test_a_wrong_call_did_nothing_and_hears_what_there_is(bad: Any, told: str) -> None:
    provider, desk, line = played(called(bad), submit())
    (result,) = only(line).kept[0]
    assert result.error and told in result.text
    assert desk.files.changes() == {} and desk.bench.ran == []


def test_arguments_that_are_no_object_are_shown_as_they_were_written() -> None:
    broken = call("write_file").__class__("id", "write_file", None, '{"path": "tests/a", "te')
    provider, desk, line = played(called(broken), submit())
    assert '{"path": "tests/a", "te' in only(line).kept[0][0].text
    assert desk.files.changes() == {}


def test_a_long_result_keeps_head_and_tail_and_counts_the_rest() -> None:
    _, _, line = played(write("tests/a", "a" * 3_000), read("tests/a"), submit(), result_chars=1_000)
    (result,) = only(line).kept[1]
    assert f"{result.cut:,} characters were left out" in result.text
    assert result.cut > 2_000
    assert len(result.text) < 1_100


def test_many_results_of_one_answer_share_a_cap() -> None:
    calls = [call("read_file", path="tests/a") for _ in range(40)]
    _, _, line = played(write("tests/a", "a" * 3_000), called(*calls), submit(), result_chars=1_000)
    assert sum(len(result.text) for result in only(line).kept[1]) < 4_000 + 40 * 60


PRICED = SPEC.model_copy(update={"price": Price(input=Decimal(1_000_000), output=Decimal(0))})


@pytest.mark.parametrize(
    ("bounds", "spec", "requests", "told"),
    [
        ({"turns": 3}, SPEC, 3, "3 requests"),
        ({"tokens": 40}, SPEC, 2, "40 tokens"),
        ({"seconds": 2.5}, SPEC, 3, "3 seconds"),
        ({"cost": Decimal(25)}, PRICED, 3, "30 US dollars"),
        ({"cost": Decimal(0)}, SPEC.model_copy(update={"price": None}), 5, "5 requests"),
    ],
    ids=["turns", "tokens", "seconds", "money", "unknown price"],
)
def test_a_bound_is_looked_at_before_each_request(
    bounds: dict[str, Any], spec: ModelSpec, requests: int, told: str
) -> None:
    steps = [write(f"tests/{n}") for n in range(9)]
    if bounds == {"cost": Decimal(0)}:
        steps[0] = said("free so far", tokens=0)
        bounds = {"cost": Decimal(1), "turns": 5}
    provider, _, why = ended(OutOfBounds, *steps, spec=spec, **bounds)
    assert len(provider.questions) == requests
    assert told in why


class SlowBench(Bench):
    def run(self, *args: Any, **options: Any) -> ExecResult:
        time.sleep(0.05)
        return super().run(*args, **options)


def test_what_tools_take_counts_for_the_bound_of_seconds_too() -> None:
    provider = Scripted([called(call("run_command", command="slow")), submit()])
    line, desk = line_to(provider), Desk(SlowBench())
    with pytest.raises(OutOfBounds, match="seconds"):
        desk.talk(line, seconds=1.02)  # the one request took 1.0 of them
    assert desk.bench.ran == ["slow"]
    assert len(provider.questions) == 1


def test_calls_beyond_those_of_one_answer_are_not_made_nor_made_again() -> None:
    many = called(*(call("write_file", path=f"tests/{n}", text="x") for n in range(MOST_CALLS + 2)))
    provider, desk, line = played(many, submit())
    kept = only(line).kept[0]
    assert len(desk.files.changes()) == MOST_CALLS
    assert [each.error for each in kept] == [False] * MOST_CALLS + [True, True]
    assert f"may make {MOST_CALLS} calls" in provider.last_words()
    again = Desk()
    assert again.talk(line) == "done"
    assert again.files.files == desk.files.files


def test_arguments_that_are_nested_without_end_are_a_wrong_call_and_nothing_falls_over() -> None:
    deep: Any = "x"
    for _ in range(500):
        deep = [deep]
    provider, desk, _ = played(called(call("write_file", path="tests/a", text=deep)), submit())
    assert "nested far too deeply" in provider.last_words()
    assert not desk.files.changes()


def test_a_model_is_told_when_few_answers_are_left() -> None:
    provider, _, _ = ended(OutOfBounds, *(write(f"tests/{n}") for n in range(9)), turns=8)
    told = ["5 answers left" in provider.last_words(number) for number in range(8)]
    assert told == [False, False, False, True, False, False, False, False]


def test_a_fault_of_the_machine_and_of_the_provider_pass_through_and_leave_it_open() -> None:
    for steps, kind in (
        ([called(call("run_command", command="broken machine"))], MachineFault),
        ([ServerBroke("bad gateway")], ServerBroke),
        ([Waits("a budget is spent", seconds=9)], Waits),
    ):
        line = line_to(Scripted(steps))
        with pytest.raises(kind):
            Desk().talk(line)
        assert only(line).outcome == "open"
        assert only(line).kept == {}


KINDS = {
    "write": lambda n: write(f"tests/{n % 3}", "x" * 900),
    "read": lambda n: read(),
    "missing": lambda n: read(f"missing{n}"),
    "unknown": lambda n: called(call("nothing", n=n)),
    "several": lambda n: called(
        call("read_file", path="tests/0"), call("write_file", path="tests/4", text="y")
    ),
    "words": lambda n: said("words"),
    "both": lambda n: called(call("list_files"), text="words and a call"),
    "silent": lambda n: said(""),
    "cut": lambda n: cut("half", call("write_file", path="tests/cut", text="half")),
    "too long": lambda n: TooLong("too long"),
    "refused": lambda n: refused(),
    "submit": lambda n: submit(),
}


@settings(deadline=None)
@given(st.lists(st.sampled_from(sorted(KINDS)), max_size=30))
def test_whatever_a_model_does_it_ends_by_name_and_no_server_would_refuse_a_question(
    kinds: list[str],
) -> None:
    provider = Scripted([*(KINDS[kind](n) for n, kind in enumerate(kinds)), *(submit() for _ in range(25))])
    line, desk = line_to(provider, SMALL), Desk()
    try:
        assert desk.talk(line, spec=SMALL, turns=25) == "done"
    except ModelTrouble as trouble:
        assert only(line).outcome == trouble.outcome
    else:
        assert only(line).outcome == "answered"
    assert len(provider.questions) <= 25
    assert "tests/cut" not in desk.files.changes()
    assert all(tokens_of(question.turns) < SMALL.context_tokens for question in provider.questions)
