"""A person answers in a model's place, with the model's schema and its tools."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agents.modelled.forms import Proposal, RubricAnswer
from agents.providers.base import Question, Said, ToolCall
from agents.rubrics import PLAN_RUBRIC
from lineages.library import blobs, by_hand, replies
from lineages.library.calls import AgentCall
from tests import factories, talks
from tests.pages.conftest import _signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def rita(db: None) -> Client:
    return _signed_in(factories.user("rita", role="reviewer"))


def verdicts(**changes: str) -> dict[str, str]:
    """A whole plan review as its form sends it."""
    typed = {"form": "fields"}
    for key in PLAN_RUBRIC.keys:
        typed |= {f"verdict-{key}": "pass", f"explanation-{key}": "It is.", f"quote-{key}": ""}
    return typed | changes


def stored(call: AgentCall) -> Any:
    """The reply that the role will be given."""
    call.refresh_from_db()
    return replies.unpacked(blobs.read(str(call.received_body_id)))


def test_the_list_and_the_home_page_say_what_waits(rita: Client) -> None:
    call = talks.asked(talks.review_question(), role="plan_reviewer")
    talks.asked(talks.proposal_question(), factories.attempt(factories.evolution(), outcome="no_plan"))

    listed, home = (rita.get(page).content.decode() for page in ("/answers/", "/"))

    assert f'href="/calls/{call.pk}/answer/"' in listed
    assert listed.count("waits for an answer</span>") == 1, "nobody waits for an attempt that has ended"
    assert "<strong>1 question</strong>" in home


def test_with_nothing_to_answer_the_pages_say_so(rita: Client) -> None:
    assert "No question waits for an answer." in rita.get("/answers/").content.decode()
    assert "No decision waits for you." in rita.get("/").content.decode()


def test_a_review_has_a_row_for_each_criterion_and_becomes_what_a_model_would_say(rita: Client) -> None:
    call = talks.asked(talks.review_question(), role="plan_reviewer")
    page = rita.get(f"/calls/{call.pk}/answer/").content.decode()
    assert all(f'name="verdict-{key}"' in page for key in PLAN_RUBRIC.keys)
    assert "The text arrives in shuffled parts." in page

    sent = verdicts(**{"verdict-harder": "fail", "quote-harder": "shuffled parts"})
    response = rita.post(f"/calls/{call.pk}/answer/", sent)

    assert response["Location"] == "/answers/"
    said = RubricAnswer.model_validate_json(stored(call).text, strict=True)
    assert [each.criterion for each in said.verdicts] == list(PLAN_RUBRIC.keys)
    failed = [(each.criterion, each.quote) for each in said.verdicts if each.verdict == "fail"]
    assert failed == [("harder", "shuffled parts")]
    assert (call.outcome, call.served, call.cost) == ("answered", "rita", 0)


def test_the_evolution_is_due_at_once(rita: Client) -> None:
    attempt = factories.attempt(
        factories.evolution(status="plan_review", retry_at=timezone.now() + timedelta(hours=1))
    )
    call = talks.asked(talks.review_question(), attempt, role="plan_reviewer")

    rita.post(f"/calls/{call.pk}/answer/", verdicts())

    attempt.evolution.refresh_from_db()
    assert attempt.evolution.retry_at is None


def test_what_is_left_out_is_said_beside_it_and_nothing_typed_is_lost(rita: Client) -> None:
    call = talks.asked(talks.review_question(), role="plan_reviewer")
    sent = verdicts(**{"explanation-harder": "", "explanation-solvable": "Every tool is there: <awk>"})
    del sent["verdict-harder"]

    response = rita.post(f"/calls/{call.pk}/answer/", sent)

    page = response.content.decode()
    assert response.status_code == 422
    assert "Say why, in a sentence." in page and "This field is required." in page
    assert "Every tool is there: &lt;awk&gt;" in page
    call.refresh_from_db()
    assert call.unsettled and call.received_body_id is None


def test_a_proposal_is_fields_and_rows_of_which_blank_ones_do_not_count(rita: Client) -> None:
    call = talks.asked(talks.proposal_question())
    edit = {"kind": "replace", "key": "read-text", "scenario": "parts", "skill": "join", "tool": "cat"}
    sent = {"form": "fields", "summary": "In parts", "rationale": "Line one\r\nline two", "nothing": ""}
    sent |= {f"edits-2-{name}": value for name, value in {**edit, "after": "", "target": "/app"}.items()}

    response = rita.post(f"/calls/{call.pk}/answer/", sent)

    assert response.status_code == 302
    said = Proposal.model_validate_json(stored(call).text, strict=True)
    assert [each.key for each in said.edits] == ["read-text"]
    assert (said.observed, said.rationale) == ((), "Line one\nline two")


def test_a_row_without_its_kind_is_pointed_at(rita: Client) -> None:
    call = talks.asked(talks.proposal_question())
    sent = {"form": "fields", "summary": "s", "edits-1-key": "read-text"}

    response = rita.post(f"/calls/{call.pk}/answer/", sent)

    assert response.status_code == 422
    (offer,) = (each for each in response.context["offers"] if each.key == "fields")
    assert list(offer.form.errors) == ["edits-1-kind"]
    assert 'value="read-text"' in response.content.decode()


@pytest.mark.parametrize(
    ("typed", "wrong"),
    [
        ("{", "This is no JSON that can be read"),
        pytest.param("[" * 100_000, "This is no JSON that can be read", id="too deep"),
        (
            '{"observed": [], "edits": [], "summary": "\\ud800", "rationale": "", "nothing": ""}',
            "Invalid JSON",
        ),
        ("[]", "begin it with {"),
        ('{"edits": []}', "observed: Field required"),
        ('{"observed": 1, "edits": [], "summary": "", "rationale": "", "nothing": ""}', "observed: "),
    ],
)
def test_an_answer_as_json_is_held_to_the_schema(rita: Client, typed: str, wrong: str) -> None:
    call = talks.asked(talks.proposal_question())

    response = rita.post(f"/calls/{call.pk}/answer/", {"form": "json", "json-answer": typed})

    assert response.status_code == 422
    assert wrong in response.content.decode()
    assert typed.replace('"', "&quot;") in response.content.decode()


def test_an_answer_as_json_that_fits_is_taken(rita: Client) -> None:
    call = talks.asked(talks.proposal_question())
    typed = '{"observed": [], "edits": [], "summary": "", "rationale": "", "nothing": "no input is left"}'

    rita.post(f"/calls/{call.pk}/answer/", {"form": "json", "json-answer": typed})

    assert json.loads(stored(call).text)["nothing"] == "no input is left"


def test_a_tool_is_called_with_its_arguments_and_the_lines_of_a_file_end_as_files_do(rita: Client) -> None:
    call = talks.asked(talks.build_question(), role="modifier")
    tool = "tool-write_file"
    sent = {"form": tool, f"{tool}-path": "tests/units/01", f"{tool}-text": "#!/bin/sh\r\ntrue\r\n"}

    response = rita.post(f"/calls/{call.pk}/answer/", sent)

    assert response.status_code == 302
    (called,) = stored(call).calls
    assert isinstance(called, ToolCall) and called.name == "write_file"
    assert called.arguments == {"path": "tests/units/01", "text": "#!/bin/sh\ntrue\n"}


def test_work_is_handed_in_with_its_lists(rita: Client) -> None:
    call = talks.asked(talks.build_question(), role="modifier")
    cells = {"key": "k", "solution_block": "solution/steps/01", "requirement": "Do.", "environment_paths": ""}
    cells["test_units"] = "tests/units/01\r\n\r\ntests/units/02"
    sent = {"form": "tool-submit", "tool-submit-artifacts": "/app/count.txt"}
    sent |= {f"tool-submit-bindings-0-{name}": value for name, value in cells.items()}

    rita.post(f"/calls/{call.pk}/answer/", sent)

    (called,) = stored(call).calls
    assert called.arguments == {
        "bindings": [{**cells, "test_units": ["tests/units/01", "tests/units/02"], "environment_paths": []}],
        "artifacts": ["/app/count.txt"],
    }


def test_the_results_of_tools_called_before_are_shown_as_data(rita: Client) -> None:
    call = talks.asked(talks.build_question(), role="modifier", number=1)
    assert call.conversation
    first = talks.request(
        call.attempt, "0", "manual", conversation=call.conversation, provider="manual", role="modifier",
        received_body_id=talks.packed("", [ToolCall("c", "list_files", {})]),
    )  # fmt: skip
    talks.tool_run(call.conversation, 0, "list_files", "<script>x</script>\x1b[2J\u202e")

    page = rita.get(f"/calls/{call.pk}/answer/").content.decode()

    assert first.pk != call.pk
    assert "&lt;script&gt;x&lt;/script&gt;\\x1b[2J⟨U+202E⟩" in page
    assert "<script>x" not in page


def test_somebody_who_was_faster_is_named_and_the_slower_one_keeps_the_words(
    rita: Client, web: Client
) -> None:
    call = talks.asked(talks.review_question(), role="plan_reviewer")
    rita.post(f"/calls/{call.pk}/answer/", verdicts())
    before = AgentCall.objects.filter(pk=call.pk).values().get()

    response = web.post(f"/calls/{call.pk}/answer/", verdicts(**{"explanation-harder": "My own words."}))

    page = response.content.decode()
    assert response.status_code == 409
    assert "rita answered this question before; your answer was not stored." in page
    assert "My own words." in page and 'name="verdict-harder"' not in page
    assert AgentCall.objects.filter(pk=call.pk).values().get() == before


def test_a_question_without_a_schema_or_tools_is_answered_in_words(rita: Client) -> None:
    call = talks.asked(Question("", (Said("How are you?"),), 100))

    assert rita.post(f"/calls/{call.pk}/answer/", {"form": "words", "words-words": ""}).status_code == 422
    rita.post(f"/calls/{call.pk}/answer/", {"form": "words", "words-words": "Well."})

    assert stored(call).text == "Well."


def test_a_form_that_is_none_of_those_offered_is_refused(rita: Client) -> None:
    call = talks.asked(talks.proposal_question())

    response = rita.post(f"/calls/{call.pk}/answer/", {"form": "tool-rm"})

    assert (response.status_code, "Choose one of the forms" in response.content.decode()) == (422, True)


def test_a_rubric_that_is_another_one_than_asked_about_is_answered_in_plain_rows(rita: Client) -> None:
    question = talks.review_question()
    other = Question(question.system, (Said("Judge. - mine (Other): is it?"),), 100, schema=question.schema)
    call = talks.asked(other, role="plan_reviewer")

    page = rita.get(f"/calls/{call.pk}/answer/").content.decode()

    assert 'name="verdicts-0-criterion"' in page and 'name="verdict-harder"' not in page


def test_a_viewer_reads_a_question_and_is_offered_no_form(db: None) -> None:
    call = talks.asked(talks.proposal_question())
    vera = _signed_in(factories.user("vera", role="viewer"))

    page = vera.get(f"/calls/{call.pk}/answer/").content.decode()

    assert "waits for a reviewer" in page and "<textarea" not in page
    assert vera.post(f"/calls/{call.pk}/answer/", {"form": "json"}).status_code == 403


def test_a_models_request_is_no_question_for_a_person(rita: Client) -> None:
    call = talks.request(factories.attempt(factories.evolution()), None, outcome="sent")
    assert rita.get(f"/calls/{call.pk}/answer/").status_code == 404


def test_the_list_shows_the_next_question_by_itself(rita: Client, htmx: Client) -> None:
    stamp = rita.get("/answers/").context["stamp"]
    assert htmx.get("/answers/", {"seen": stamp}).status_code == 204

    call = talks.asked(talks.proposal_question())

    response = htmx.get("/answers/", {"seen": stamp})
    assert f'href="/calls/{call.pk}/answer/"' in response.content.decode()
    assert "<html" not in response.content.decode()


def asked_again(question: Question, answer: str, role: str) -> AgentCall:
    """The second request of a conversation whose first was answered so."""
    call = talks.asked(question, role=role, number=1)
    talks.request(
        call.attempt, "0", "manual", conversation=call.conversation, provider="manual", role=role,
        sent_body_id=talks.kept(question), received_body_id=talks.packed(answer, []),
    )  # fmt: skip
    return call


def test_a_plan_that_was_not_taken_is_there_to_be_mended(rita: Client) -> None:
    edits = [{"kind": "insert", "tool": "sha512sum"}] * 6
    call = asked_again(talks.proposal_question(), json.dumps({"edits": edits, "summary": "Sums"}), "proposer")

    page = rita.get(f"/calls/{call.pk}/answer/").content.decode()

    assert page.count('value="sha512sum"') == 6 and 'name="edits-7-tool"' in page
    assert ">\nSums</textarea>" in page and "&quot;summary&quot;: &quot;Sums&quot;" in page


def test_verdicts_that_were_not_taken_are_there_to_be_mended(rita: Client) -> None:
    verdict = {"criterion": "harder", "verdict": "fail", "explanation": "It is not.", "quote": "nowhere"}
    call = asked_again(talks.review_question(), json.dumps({"verdicts": [verdict]}), "plan_reviewer")

    page = rita.get(f"/calls/{call.pk}/answer/").content.decode()

    assert ">\nIt is not.</textarea>" in page and ">\nnowhere</textarea>" in page
    assert page.count("checked") == 1


@pytest.mark.parametrize("answer", ["not JSON", "[1]", '{"edits": [1, {"kind": 2}], "summary": null}'])
def test_an_answer_that_fits_no_field_leaves_the_form_usable(rita: Client, answer: str) -> None:
    call = asked_again(talks.proposal_question(), answer, "proposer")

    assert rita.get(f"/calls/{call.pk}/answer/").status_code == 200


def test_an_evolution_that_waits_for_a_person_leads_to_the_questions(rita: Client) -> None:
    evolution = factories.evolution(status="drafting", waiting_for=by_hand.WAITS_FOR_A_PERSON)

    page = rita.get(f"/evolutions/{evolution.pk}/").content.decode()

    assert '<a id="questions" href="/answers/">' in page
    assert "look whether one runs" not in page


def test_the_newest_question_is_open_and_what_was_asked_before_it_is_folded(rita: Client) -> None:
    question = talks.review_question()
    first = talks.asked(question, role="plan_reviewer")
    fresh = rita.get(f"/calls/{first.pk}/answer/").content.decode()
    call = asked_again(question, '{"verdicts": []}', "plan_reviewer")

    page = rita.get(f"/calls/{call.pk}/answer/").content.decode()

    before, _, now = page.partition("Request 2")
    assert '<details class="said-by">' not in fresh
    assert '<details class="said-by">' in before and '<details class="said-by">' not in now
