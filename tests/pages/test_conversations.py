"""A conversation with a model as a page, its requests one by one, and as one line of a list."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from lineages.growth import overview
from lineages.growth.models import Attempt
from lineages.library import asked, blobs, transcript
from lineages.library.calls import AgentCall, Conversation
from tests import factories, talks

pytestmark = pytest.mark.django_db


@pytest.fixture
def attempt(db: None) -> Attempt:
    return factories.attempt(factories.evolution())


def test_the_whole_talk_is_read_in_order_with_what_it_has_cost(web: Client, attempt: Attempt) -> None:
    conversation = talks.built(attempt)

    page = web.get(f"/conversations/{conversation.pk}/").content.decode()

    order = ["You build.", "Build the plan.", "First the test.", "I write a test.", "has 15 bytes now."]
    order += ["try 2: answered", "the server is overloaded", "Two left.", "Done."]
    places = [page.index(each) for each in order]
    assert places == sorted(places)
    assert "$0.2500 and 1 call of unknown cost" in page
    assert "bbbbbbbbbbbb" in page, "the prompt is named by its digest"


def test_what_a_model_wrote_is_data(web: Client, attempt: Attempt) -> None:
    conversation = talks.built(attempt, first="<script>alert(1)</script>\x1b]0;\u202e")
    conversation.note = "ended <b>badly</b>"
    conversation.save()

    page = web.get(f"/conversations/{conversation.pk}/").content.decode()

    assert "&lt;script&gt;alert(1)" in page and "<script>alert" not in page
    assert "\u202e" not in page and "\x1b" not in page
    assert "ended &lt;b&gt;badly&lt;/b&gt;" in page


def test_a_long_talk_has_pages(web: Client, attempt: Attempt) -> None:
    conversation = talks.talk(of=attempt)
    for number in range(21):
        talks.request(attempt, "0.01", conversation=conversation, number=number)

    first, second = (web.get(f"/conversations/{conversation.pk}/?page={n}").content.decode() for n in (1, 2))

    assert "Request 20\n" in first and "Request 21\n" not in first and ">Later<" in first
    assert "Request 21\n" in second and "$0.2100 so far" in second and ">Later<" not in second


def test_a_request_shows_what_it_took_and_how_it_ended(web: Client, attempt: Attempt) -> None:
    talks.built(attempt)
    call = AgentCall.objects.get(request_id="req_1")
    AgentCall.objects.filter(pk=call.pk).update(
        cached_tokens=800, thinking_tokens=40, reserved=Decimal("0.9"), priced_by="genai-prices 0.0.30"
    )

    page = web.get(f"/calls/{call.pk}/").content.decode()

    for said in ("claude-opus-5-0", "req_1", "800 of it cached", "40 of it hidden reasoning", "genai-prices"):
        assert said in page
    assert "$0.2500" in page and "$0.9000" in page
    assert "&quot;as&quot;: &quot;received&quot;" in page


def test_a_cost_that_nobody_knows_is_called_unknown(web: Client, attempt: Attempt) -> None:
    call = talks.request(attempt, None, billed=None)
    page = web.get(f"/calls/{call.pk}/").content.decode()
    assert "unknown" in page and "$0" not in page


def test_a_request_that_stayed_sent_says_what_it_may_have_cost(web: Client, attempt: Attempt) -> None:
    call = talks.request(attempt, None, outcome="sent", billed=None, reserved=Decimal("0.7"))
    page = web.get(f"/calls/{call.pk}/").content.decode()
    assert "its worker died" in page and "at most $0.7000" in page


@pytest.mark.parametrize(
    ("body", "holds"), [("sent", b'"Build the plan."'), ("received", b'{"as": "received"}')]
)
def test_a_body_is_downloaded_as_it_went_over_the_wire_and_opens_nowhere(
    web: Client, attempt: Attempt, body: str, holds: bytes
) -> None:
    talks.built(attempt)
    call = AgentCall.objects.get(request_id="req_1")

    response = web.get(f"/calls/{call.pk}/{body}/")

    content = b"".join(response.streaming_content)  # type: ignore[arg-type]
    assert holds in content
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Disposition"] == f'attachment; filename="call-{call.pk}-{body}.json"'
    assert response["Content-Type"] == "application/octet-stream"


def test_a_body_that_there_is_none_of_is_not_found(web: Client, attempt: Attempt) -> None:
    call = talks.request(attempt, "0.1")
    assert web.get(f"/calls/{call.pk}/sent/").status_code == 404
    assert web.get(f"/calls/{call.pk}/received/").status_code == 404


def test_the_body_of_an_error_is_shown_as_it_is(web: Client, attempt: Attempt) -> None:
    body = blobs.keep_one(b"<html>bad gateway")
    call = talks.request(attempt, None, outcome="overloaded", received_body_id=body)
    assert "&lt;html&gt;bad gateway" in web.get(f"/calls/{call.pk}/").content.decode()
    assert web.get(f"/conversations/{call.conversation_id}/").status_code == 200


def test_a_list_has_one_line_for_a_conversation_with_its_sum(web: Client, attempt: Attempt) -> None:
    conversation = talks.built(attempt)
    offline = factories.call(attempt, error="no input is left")
    page = web.get(f"/evolutions/{attempt.evolution_id}/").content.decode()

    lines = asked.lines(overview.calls(attempt.evolution))

    assert [(line.conversation, line.money and line.money.requests) for line in lines] == [
        (conversation, 3),
        (None, None),
    ]
    assert page.count(f'href="/conversations/{conversation.pk}/"') == 1
    assert "$0.2500" in page and "+ 1 unknown" in page
    assert f'href="/calls/{offline.pk}/"' in page and "no input is left" in page


def test_the_lines_take_as_many_queries_for_many_conversations(
    attempt: Attempt, django_assert_num_queries: Any
) -> None:
    for _ in range(5):
        talks.built(attempt)
    with django_assert_num_queries(2):
        assert len(asked.lines(overview.calls(attempt.evolution))) == 5


def test_a_page_that_is_open_hears_of_a_request_that_was_settled(web: Client, attempt: Attempt) -> None:
    call = talks.request(attempt, None, outcome="sent", billed=None)
    before = overview.progress(attempt.evolution_id)

    AgentCall.objects.filter(pk=call.pk).update(outcome="answered", cost=Decimal("0.1"))

    assert overview.progress(attempt.evolution_id) != before


RESPONSES = {
    "instructions": "Be brief.",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "One."}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "output": "not ours"},
        {"role": "user", "content": "Two."},
    ],
}
CHAT = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "One."},
        {"role": "assistant", "content": "No.", "tool_calls": []},
        {"role": "tool", "content": "not ours"},
        {"role": "user", "content": "Two."},
    ]
}


@pytest.mark.parametrize("body", [RESPONSES, CHAT])
def test_what_is_new_in_a_request_is_found_in_every_api(body: Any) -> None:
    found = transcript.asked(json.dumps(body).encode())
    assert found == transcript.Asked("Be brief.", ("Two.",))


@pytest.mark.parametrize("body", [b"", b"\xff", b"[1]", b'{"model": "m"}', b"[" * 100_000])
def test_a_body_of_no_known_form_is_no_request_and_no_answer(body: bytes) -> None:
    assert transcript.asked(body) is None
    assert transcript.answered(body) is None
    assert transcript.readable(body)[:1] == body[:1]


@pytest.mark.parametrize(
    ("content", "thought"),
    [
        ([{"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}], "Hm."),
        ({"role": "assistant", "reasoning_content": "Hm."}, "Hm."),
        ("text", ""),
    ],
)
def test_reasoning_shows_as_far_as_the_api_shows_it(content: Any, thought: str) -> None:
    digest = talks.packed("x", content=content)
    found = transcript.answered(blobs.read(digest))
    assert found and found.thought == thought


def test_a_conversation_that_has_asked_nothing_says_so(web: Client, attempt: Attempt) -> None:
    made: Conversation = talks.talk(of=attempt)
    assert "Nothing has been asked yet." in web.get(f"/conversations/{made.pk}/").content.decode()


def test_a_sum_with_an_unknown_cost_in_it_is_never_called_whole(web: Client, attempt: Attempt) -> None:
    conversation = talks.talk(of=attempt)
    for number, cost in enumerate((None, "0.5", "0.25")):
        talks.request(
            attempt, cost, conversation=conversation, number=number, billed=None if not cost else True
        )

    page = web.get(f"/conversations/{conversation.pk}/").content.decode()

    assert "cost unknown so far" in page and "≥ $0.5000 so far" in page and "≥ $0.7500 so far" in page
    assert "$0.00 so far" not in page
