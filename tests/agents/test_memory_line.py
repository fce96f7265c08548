"""The line without storage: what is the same conversation, what it costs, what is given back."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from agents.models import Price, Role
from agents.providers.base import Question, Said, ToolResult
from agents.providers.errors import Overloaded
from tests.agents.scripted_models import PROMPT, SPEC, Scripted, line_to, said

OPENING = Question("You work.", (Said("Do it."),), 1_000)
PRICED = SPEC.model_copy(update={"price": Price(input=Decimal(2), output=Decimal(10))})


def opened(line, *, subject="round 0", role=Role.PROPOSER, opening=OPENING):
    return line.open(role, "small", subject=subject, prompt=PROMPT.named, opening=opening)


def test_the_same_question_about_the_same_thing_is_one_conversation() -> None:
    line = line_to(Scripted([]))
    first = opened(line)
    assert opened(line) is first
    others = [
        opened(line, subject="round 1"),
        opened(line, role=Role.SOLVER),
        opened(line, opening=replace(OPENING, system="You rest.")),
        opened(line, opening=replace(OPENING, turns=(Said("Do that."),))),
    ]
    assert len({id(each) for each in (first, *others)}) == 5
    with pytest.raises(KeyError):
        line.open(Role.SOLVER, "another", subject="", prompt=PROMPT.named, opening=OPENING)


def test_an_answer_is_given_back_and_a_fault_is_asked_again() -> None:
    provider = Scripted([Overloaded("busy"), said("yes")])
    talk = opened(line_to(provider))
    with pytest.raises(Overloaded):
        talk.ask(0, OPENING)
    assert talk.ask(0, OPENING) == talk.ask(0, OPENING)
    assert len(provider.questions) == 2


def test_results_are_given_back_as_they_were_kept() -> None:
    talk = opened(line_to(Scripted([])))
    assert talk.results(0) is None
    talk.keep_results(0, [ToolResult("a", "text", cut=3)])
    assert talk.results(0) == (ToolResult("a", "text", cut=3),)


def test_what_was_spent_counts_up_to_the_request_that_was_asked_last() -> None:
    line = line_to(Scripted([said("a", tokens=100), said("b", tokens=1_000)]), PRICED)
    talk = opened(line)
    talk.ask(0, OPENING)
    talk.ask(1, OPENING)
    assert (talk.spent().tokens, talk.spent().seconds) == (2_200, 2.0)
    assert talk.spent().cost == Decimal("0.0132")
    again = opened(line)
    assert again.spent().tokens == 0
    again.ask(0, OPENING)
    assert again.spent().tokens == 200


def test_a_cost_with_an_unknown_part_is_unknown() -> None:
    talk = opened(line_to(Scripted([replace(said("a"), usage=None)]), PRICED))
    assert talk.spent().cost == 0
    talk.ask(0, OPENING)
    assert talk.spent().cost is None
