"""A question with one structured answer: what is taken, what is asked again, how it ends."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from agents.answers import structured
from agents.line import CutOff, ModelTrouble, NotUsable, Refused, Waits
from agents.models import Role
from agents.providers.base import Answered, Reply, Stop
from agents.providers.errors import Overloaded
from tests.agents.scripted_models import (
    PROMPT,
    SPEC,
    VALUES,
    WITHOUT_SCHEMA,
    Scripted,
    Step,
    call,
    called,
    cut,
    line_to,
    only,
    refused,
    said,
)


class Plan(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    steps: tuple[str, ...]
    score: float = 0.0
    verdict: Literal["pass", "fail"] = "pass"


GOOD = {"title": "harder", "steps": ["add a file"]}
TEXT = json.dumps(GOOD)
PLAN = Plan(title="harder", steps=("add a file",))


def ask(provider: Scripted, **more: Any) -> Plan:
    spec = more.pop("spec", SPEC)
    line = more.pop("line", None) or line_to(provider, spec)
    return structured(
        line,
        Role.PLAN_REVIEWER,
        spec,
        subject="round 0",
        prompt=PROMPT,
        values=VALUES,
        form=Plan,
        name="plan",
        **more,
    )


def ended(*steps: Step, **more: Any) -> tuple[ModelTrouble, Scripted, str]:
    """The trouble it ends in, who was asked, and the outcome of the conversation."""
    provider = Scripted(steps)
    line = line_to(provider)
    with pytest.raises(ModelTrouble) as caught:
        ask(provider, line=line, **more)
    return caught.value, provider, only(line).outcome


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"  \n{TEXT}\n",
        f"Sure!\n```json\n{TEXT}\n```\nHope it helps",
        f"I use {{braces}} and {{}} first. {TEXT}",
        f"<think>Perhaps {json.dumps({**GOOD, 'title': 'a draft'})}?</think>\n{TEXT}",
        f"{TEXT}\n{json.dumps({**GOOD, 'title': 'second'})}",
    ],
    ids=["bare", "spaced", "fenced", "braces in prose", "thoughts", "two objects"],
)
@pytest.mark.parametrize("spec", [SPEC, WITHOUT_SCHEMA], ids=["schema", "no schema"])
def test_the_first_object_is_taken_at_once(text: str, spec: Any) -> None:
    provider = Scripted([said(text)])
    assert ask(provider, spec=spec) == PLAN
    assert len(provider.questions) == 1


def test_backticks_inside_a_value_survive() -> None:
    plan = ask(Scripted([said(f"```json\n{json.dumps({**GOOD, 'title': 'use ```x``` here'})}\n```")]))
    assert plan.title == "use ```x``` here"


def test_half_surrogates_and_nul_become_a_mark() -> None:
    plan = ask(Scripted([said('{"title": "bad \\ud800 half \\u0000 nul", "steps": []}')]))
    assert plan.title == "bad \ufffd half \ufffd nul"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the answer is empty"),
        ("I think the plan is fine as it is.", "holds no JSON object"),
        (TEXT[:-1] + ",}", "not well-formed JSON"),
        ('{"title": "a\nb", "steps": []}', "Invalid control character"),
        ('{"title": "regex \\d+", "steps": []}', "Invalid \\escape"),
        ('{"title": "t", "steps": [], "score": NaN}', "NaN is not JSON"),
        ('{"title": "t", "steps": [], "score": -Infinity}', "-Infinity is not JSON"),
        ('{"title": "t", "steps": [], "score": 1e999}', "too large"),
        ('{"title": 3, "steps": "none"}', "title: Input should be a valid string"),
        ('{"title": "t", "steps": [], "score": "0.5"}', "score: Input should be a valid number"),
        ('{"title": "t", "steps": [], "verdict": "APPROVE"}', "verdict: Input should be 'pass' or 'fail'"),
        ('{"title": "t", "steps": [], "status": "published"}', "status: Extra inputs are not permitted"),
        (TEXT[: len(TEXT) // 2], "not well-formed JSON"),
        ("[1, 2]", "holds no JSON object"),
        ('{"title": "t", "steps": [' + "[" * 100_000, "nested"),
        ('{"title": "t", "steps": ' + "[" * 500 + "]" * 500 + "}", "nested"),
        ('{"title": "t", "steps": [], "score": ' + "9" * 5_000 + "}", "cannot be read"),
    ],
)
def test_what_is_wrong_is_told_and_a_good_second_answer_taken(text: str, told: str) -> None:
    provider = Scripted([said(text), said(TEXT)])
    assert ask(provider) == PLAN
    assert told in provider.last_words()


def test_an_object_inside_a_broken_one_is_never_taken_for_it() -> None:
    class Loose(BaseModel):
        inner: dict[str, Any] = {}
        title: str = ""

    provider = Scripted([said('{"inner": {"title": "not this"},, }'), said('{"title": "this"}')])
    answer = structured(
        line_to(provider),
        Role.PROPOSER,
        SPEC,
        subject="s",
        prompt=PROMPT,
        values=VALUES,
        form=Loose,
        name="loose",
    )
    assert answer.title == "this"


def test_after_two_repairs_it_is_not_usable_and_names_the_last_fault() -> None:
    trouble, provider, outcome = ended(said("no"), said('{"a": NaN}'), said("prose again"))
    assert isinstance(trouble, NotUsable)
    assert "3 tries" in str(trouble) and "no JSON object" in str(trouble)
    assert outcome == "not_usable"
    assert len(provider.questions) == 3


def test_a_cut_answer_and_all_repairs_are_four_requests_and_no_more() -> None:
    trouble, provider, _ = ended(said("no"), cut(TEXT), said("no"), said("no"), said(TEXT))
    assert isinstance(trouble, NotUsable)
    assert len(provider.questions) == 4


def test_what_the_check_complains_of_is_repaired_too() -> None:
    provider = Scripted([said(json.dumps({**GOOD, "title": "wrong"})), said(TEXT)])
    plan = ask(provider, check=lambda plan: ["the title is wrong"] if plan.title == "wrong" else [])
    assert plan == PLAN
    assert "- the title is wrong" in provider.last_words()


def test_the_model_sees_its_answer_beside_the_complaint() -> None:
    provider = Scripted([said("prose"), said(TEXT)])
    ask(provider)
    opening, answer, _ = provider.questions[1].turns
    assert opening == provider.questions[0].turns[0]
    assert isinstance(answer, Answered) and answer.text == "prose"


@pytest.mark.parametrize("bad", [said(""), called(call("read_file", path="x"))], ids=["empty", "a call"])
def test_an_answer_that_no_server_takes_back_is_not_sent_back(bad: Reply) -> None:
    provider = Scripted([bad, said(TEXT)])  # which refuses a call without its result
    assert ask(provider) == PLAN
    assert len(provider.questions[1].turns) == 1


def test_a_cut_answer_is_not_used_although_it_parses() -> None:
    provider = Scripted([cut(json.dumps({**GOOD, "title": "cut"})), said(TEXT)])
    assert ask(provider) == PLAN
    assert "much shorter" in provider.last_words()


def test_two_cut_answers_end_it_with_nothing_used() -> None:
    trouble, provider, outcome = ended(cut(TEXT), cut(TEXT))
    assert isinstance(trouble, CutOff)
    assert outcome == "cut_off"
    assert len(provider.questions) == 2


def test_a_refusal_ends_it_at_once_even_with_a_good_object_in_it() -> None:
    trouble, provider, outcome = ended(refused(TEXT))
    assert isinstance(trouble, Refused)
    assert outcome == "refused"
    assert len(provider.questions) == 1


def test_a_conversation_ends_as_answered() -> None:
    provider = Scripted([said(TEXT)])
    line = line_to(provider)
    ask(provider, line=line)
    assert only(line).outcome == "answered"


@pytest.mark.parametrize("fault", [Overloaded("busy"), Waits("a budget is spent", seconds=60)])
def test_a_fault_leaves_it_open_and_the_next_run_pays_nothing_twice(fault: Exception) -> None:
    provider = Scripted([said("prose"), fault, said(TEXT)])
    line = line_to(provider)
    with pytest.raises(type(fault)):
        ask(provider, line=line)
    assert only(line).outcome == "open"
    assert ask(provider, line=line) == PLAN
    assert [number for number, _ in only(line).asked] == [0, 1, 1]
    assert provider.questions[1] == provider.questions[2]


def test_the_schema_goes_on_the_wire_only_where_the_model_takes_one() -> None:
    with_schema, without = Scripted([said(TEXT)]), Scripted([said(TEXT)])
    ask(with_schema)
    ask(without, spec=WITHOUT_SCHEMA)
    schema = with_schema.questions[0].schema
    assert schema is not None and schema.name == "plan" and schema.form["required"] == ["title", "steps"]
    assert without.questions[0].schema is None
    assert '"steps"' in without.questions[0].system


def test_a_search_is_asked_for_only_where_the_model_can() -> None:
    can = SPEC.model_copy(update={"can": SPEC.can.model_copy(update={"web_search": True})})
    for spec, searches in ((SPEC, False), (can, True)):
        provider = Scripted([said(TEXT)])
        ask(provider, spec=spec, web_search=True)
        assert provider.questions[0].web_search is searches


def test_an_answer_of_five_million_characters_is_not_read() -> None:
    _, provider, _ = ended(said("x" * 5_000_000), repairs=0)
    assert len(provider.questions) == 1


def test_a_field_with_an_endless_name_is_complained_of_in_few_words() -> None:
    provider = Scripted([said(json.dumps({**GOOD, "x" * 100_000: 1})), said(TEXT)])
    assert ask(provider) == PLAN
    assert len(provider.last_words()) < 2_000


def test_a_list_of_complaints_is_short() -> None:
    class Many(BaseModel):
        numbers: list[int] = Field(max_length=1_000)

    provider = Scripted([said(json.dumps({"numbers": ["x"] * 500})), said('{"numbers": []}', stop=Stop.END)])
    structured(
        line_to(provider),
        Role.ESTIMATOR,
        SPEC,
        subject="s",
        prompt=PROMPT,
        values=VALUES,
        form=Many,
        name="m",
    )
    assert "and 488 more" in provider.last_words()
    assert len(provider.last_words()) < 2_000
