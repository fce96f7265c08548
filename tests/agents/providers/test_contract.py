"""What every provider does, the scripted one included."""

from __future__ import annotations

import json

import pytest

from agents.providers import errors
from agents.providers.base import Results, Said, Schema, Stop, ToolResult, ToolSpec
from tests.agents.providers.conftest import Subject, question
from tests.model_servers.misbehaving import Misbehaving

FORM = Schema("plan", {"type": "object", "properties": {"summary": {"type": "string"}}})
TOOLS = (
    ToolSpec("read_file", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}}),
    ToolSpec("list_files", "List the files.", {"type": "object", "properties": {}}),
)


def test_text_comes_back_as_it_was_said(subject: Subject, server: Misbehaving) -> None:
    reply = subject.opened("good").reply(question())

    assert (reply.text, reply.calls, reply.stop) == (server.good, (), Stop.END)
    assert reply.usage is not None and reply.usage.output > 0
    assert reply.raw and reply.served
    assert subject.asked("good") == 1


def test_a_schema_gives_text_that_parses(subject: Subject, server: Misbehaving) -> None:
    reply = subject.opened("good").reply(question(schema=FORM))

    assert json.loads(reply.text) == json.loads(server.good)


def test_calls_are_answered_in_their_order_and_the_talk_goes_on(
    subject: Subject, server: Misbehaving
) -> None:
    first = question(tools=TOOLS)
    provider = subject.opened("tool")

    reply = provider.reply(first)

    assert reply.stop is Stop.TOOLS
    assert reply.text == "Looking."
    assert [(call.name, call.arguments) for call in reply.calls] == [
        ("read_file", {"path": "a.md"}),
        ("list_files", {}),
    ]
    results = Results(tuple(ToolResult(call.id, "words", error=True) for call in reply.calls), "Go on.")
    second = question(tools=TOOLS, turns=(*first.turns, reply.turn, results))
    assert provider.reply(second).text == server.good
    assert subject.asked("tool") == 2


def test_a_refusal_is_a_reply_and_says_so(subject: Subject) -> None:
    reply = subject.opened("refusal").reply(question())

    assert (reply.stop, reply.calls) == (Stop.REFUSAL, ())
    assert subject.asked("refusal") == 1


def test_a_cut_answer_is_a_reply_and_says_so(subject: Subject) -> None:
    assert subject.opened("truncated").reply(question()).stop is Stop.LENGTH


def test_a_cut_tool_call_is_cut_before_it_is_a_call(subject: Subject) -> None:
    assert subject.opened("truncated-tool").reply(question(tools=TOOLS)).stop is Stop.LENGTH


def test_tokens_that_are_not_said_are_unknown(subject: Subject) -> None:
    assert subject.opened("no-usage").reply(question()).usage is None


def test_an_empty_answer_is_an_answer(subject: Subject) -> None:
    reply = subject.opened("empty").reply(question())

    assert (reply.text, reply.calls, reply.stop) == ("", (), Stop.END)


def test_nothing_is_asked_again_by_itself(subject: Subject, server: Misbehaving) -> None:
    provider = subject.opened("429-then-ok")

    for number in (1, 2):
        with pytest.raises(errors.Overloaded) as raised:
            provider.reply(question())
        assert raised.value.retry_after == 2.0
        assert raised.value.billed is False
        assert subject.asked("429-then-ok") == number
    assert provider.reply(question()).text == server.good


def test_a_refused_key_is_one_request_and_no_more(subject: Subject) -> None:
    with pytest.raises(errors.KeyRefused):
        subject.opened("401").reply(question())
    assert subject.asked("401") == 1


def test_a_request_is_recorded_as_json_without_the_key(subject: Subject) -> None:
    body = subject.opened("good").request_of(question("What is new?", turns=(Said("What is new?"),)))

    assert "What is new?" in json.dumps(json.loads(body))
    assert b"key-for-tests" not in body
