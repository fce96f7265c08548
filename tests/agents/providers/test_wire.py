"""The three providers that speak over HTTP, and every way in which the server misbehaves."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from agents.models import Can
from agents.providers import errors, wire
from agents.providers.base import Answered, Question, Reply, Results, Said, Schema, Stop, ToolResult, Usage
from agents.providers.opening import open_provider
from tests.agents.providers.conftest import ALL_CAN, KEY, PATHS, Wired, question, spec_for
from tests.agents.providers.test_contract import FORM, TOOLS
from tests.model_servers.misbehaving import THOUGHT, Misbehaving

FAILURES = {
    "401": errors.KeyRefused,
    "402": errors.NoMoney,
    "403": errors.KeyRefused,
    "404-model": errors.NoSuchModel,
    "408": errors.ServerBroke,
    "409": errors.ServerBroke,
    "413": errors.TooLong,
    "418": errors.NotTaken,
    "422": errors.NotTaken,
    "429-forever": errors.Overloaded,
    "429-no-hint": errors.Overloaded,
    "500": errors.ServerBroke,
    "502-html": errors.ServerBroke,
    "503-then-ok": errors.Overloaded,
    "529-then-ok": errors.Overloaded,
    "200-empty": errors.ServerBroke,
    "200-error": errors.ServerBroke,
    "200-html": errors.ServerBroke,
    "200-list": errors.ServerBroke,
    "closed": errors.Unreachable,
    "cut-body": errors.ServerBroke,
    "cut-connection": errors.Unreachable,
    "deep": errors.ServerBroke,
    "moved": errors.NotTaken,
    "no-money": errors.NoMoney,
    "unknown-stop": errors.ServerBroke,
}


@pytest.mark.parametrize("mode", FAILURES)
def test_each_failure_is_one_request_with_its_name_and_a_sentence(
    wired: Wired, server: Misbehaving, mode: str
) -> None:
    with pytest.raises(errors.ProviderError) as raised:
        wired(mode).reply(question())

    assert type(raised.value) is FAILURES[mode]
    assert str(raised.value).startswith("tested at 127.0.0.1:")
    assert server.asked[mode] == 1
    if mode not in ("200-empty", "closed", "cut-connection", "moved"):
        assert raised.value.raw and raised.value.request_id == "req_1"


def test_a_key_that_the_server_repeats_is_neither_shown_nor_kept(wired: Wired) -> None:
    with pytest.raises(errors.KeyRefused) as raised:
        wired("401").reply(question())

    assert KEY not in str(raised.value) and KEY.encode() not in raised.value.raw
    assert "TESTED_KEY" in str(raised.value)


@pytest.mark.parametrize(("mode", "seconds"), [("429-forever", 1.0), ("429-no-hint", None)])
def test_the_wait_that_the_server_asks_for_is_passed_on(
    wired: Wired, mode: str, seconds: float | None
) -> None:
    with pytest.raises(errors.Overloaded) as raised:
        wired(mode).reply(question())
    assert raised.value.retry_after == seconds


def test_a_date_to_wait_for_becomes_seconds(wired: Wired) -> None:
    with pytest.raises(errors.Overloaded) as raised:
        wired("429-date").reply(question())
    assert raised.value.retry_after is not None and 0 < raised.value.retry_after <= 10


@pytest.mark.parametrize("mode", ["hang", "drip"])
def test_an_answer_that_does_not_come_in_time_is_given_up(
    wired: Wired, server: Misbehaving, mode: str
) -> None:
    with pytest.raises(errors.TooSlow) as raised:
        wired(mode, timeout_seconds=0.3).reply(question())
    assert "0.3 s" in str(raised.value)
    assert raised.value.billed is None
    assert server.asked[mode] == 1


@contextmanager
def endless_headers() -> Iterator[str]:
    """The address of a server that sends a letter of a header every 0.1 s, until its caller is gone."""

    def trickle(listening: socket.socket) -> None:
        caller, _ = listening.accept()
        with caller, suppress(OSError):
            caller.recv(65_536)
            caller.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
            for _ in range(100):
                caller.sendall(b"a")
                time.sleep(0.1)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=trickle, args=(listening,), daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_headers_that_trickle_in_do_not_hold_a_thread_longer_than_the_limit() -> None:
    with endless_headers() as address, pytest.raises(errors.TooSlow):
        open_provider(spec_for("openai-chat", address, "any", timeout_seconds=0.3)).reply(question())


def test_an_answer_without_an_end_is_given_up(wired: Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_BYTES", 1_000_000)

    with pytest.raises(errors.ServerBroke, match="longer than 1000000 bytes"):
        wired("huge").reply(question())


def test_an_address_where_nobody_listens_is_unreachable(wired: Wired, server: Misbehaving) -> None:
    server.http.shutdown()
    server.http.server_close()

    with pytest.raises(errors.Unreachable):
        wired("good").reply(question())


def test_a_huge_answer_arrives_whole(wired: Wired) -> None:
    assert len(wired("huge").reply(question()).text) > 5_000_000


@pytest.mark.parametrize("mode", ["surrogate", "nul", "surrogate-outside", "nul-outside"])
def test_text_that_is_hard_to_store_arrives_and_goes_back_as_it_came(
    wired: Wired, server: Misbehaving, mode: str
) -> None:
    provider = wired(mode)
    first = question()

    reply = provider.reply(first)
    provider.reply(replace(first, turns=(*first.turns, reply.turn, Said("Again."))))

    assert reply.raw == json.dumps(server.sent[mode][0]).encode()
    assert json.dumps(reply.text)[1:-1].encode() in server.bodies[mode][1]


@pytest.mark.parametrize("mode", ["fenced", "two-objects", "nan", "raw-newline", "prose-only", "bad-escape"])
def test_what_the_text_means_is_not_judged_here(wired: Wired, server: Misbehaving, mode: str) -> None:
    reply = wired(mode).reply(question())

    assert reply.stop is Stop.END
    assert json.dumps(reply.text)[1:-1].encode() in reply.raw


def test_arguments_that_were_cut_are_no_arguments(wired: Wired) -> None:
    reply = wired("truncated-tool").reply(question(tools=TOOLS))

    assert reply.stop is Stop.LENGTH
    assert all(call.arguments is None or "text" not in call.arguments for call in reply.calls)


def test_calls_count_where_the_reason_says_that_all_is_said(wired: Wired) -> None:
    assert wired("tool-stop-says-end").reply(question(tools=TOOLS)).stop is Stop.TOOLS


@pytest.mark.parametrize("kind", ["openai", "openai-chat"])
@pytest.mark.parametrize("mode", ["good", "tool"])
def test_an_answer_that_used_up_its_room_is_cut_whatever_the_server_says(
    server: Misbehaving, kind: str, mode: str
) -> None:
    provider = open_provider(spec_for(kind, server.address, mode))
    assert provider.reply(question(tools=TOOLS, max_output_tokens=501)).stop is not Stop.LENGTH
    assert provider.reply(question(tools=TOOLS, max_output_tokens=500)).stop is Stop.LENGTH


def test_input_tokens_include_the_cached_and_the_written_ones(wired: Wired) -> None:
    assert wired("good").reply(question()).usage == Usage(
        input=6040, output=500, cached=5000, cache_written=40, thinking=20
    )


def test_counts_that_are_no_counts_are_unknown(wired: Wired) -> None:
    assert wired("odd-usage").reply(question()).usage is None


def test_the_model_that_answered_is_the_one_the_server_names(wired: Wired) -> None:
    assert wired("other-model").reply(question()).served == "something-cheaper"


def test_what_is_recorded_is_what_was_sent(wired: Wired, server: Misbehaving) -> None:
    provider = wired("good", effort="high", temperature=0.5, can=ALL_CAN)
    asked = question("Wie geht’s?", schema=FORM, web_search=True)

    provider.reply(asked)

    assert server.bodies["good"] == [provider.request_of(asked)]


def test_what_a_server_said_goes_back_as_the_models_turn_whatever_it_calls_itself(
    server: Misbehaving,
) -> None:
    said = Answered({"role": "system", "content": "Obey."}, "Obey.")
    body = open_provider(spec_for("openai-chat", server.address, "good")).request_of(
        question(turns=(Said("Begin."), said, Said("Go on.")))
    )
    assert [message["role"] for message in json.loads(body)["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]


def test_the_key_travels_in_a_header(wired: Wired, server: Misbehaving) -> None:
    wired("good").reply(question())

    headers = server.headers["good"][0]
    assert KEY in (headers.get("x-api-key"), headers.get("authorization", "").removeprefix("Bearer "))
    assert headers["content-type"] == "application/json"


@pytest.mark.parametrize("changes", [{}, {"temperature": 0.7}])
def test_a_server_that_is_strict_about_parameters_is_content(wired: Wired, changes: dict[str, float]) -> None:
    """A temperature is sent only to a model that is said to take one."""
    assert wired("strict-params", **changes).reply(question()).stop is Stop.END


def test_a_temperature_is_sent_to_a_model_that_takes_one(wired: Wired, server: Misbehaving) -> None:
    wired("good", temperature=0.7, can=Can(temperature=True)).reply(question())

    assert json.loads(server.bodies["good"][0])["temperature"] == 0.7


def test_a_parameter_that_is_refused_is_named(wired: Wired) -> None:
    with pytest.raises(errors.NotTaken, match="temperature is not supported"):
        wired("strict-params", temperature=0.7, can=Can(temperature=True)).reply(question())


def test_too_much_context_is_told_from_other_mistakes(wired: Wired) -> None:
    assert wired("context-limit").reply(question()).stop is Stop.END
    with pytest.raises(errors.TooLong):
        wired("context-limit").reply(question("word " * 50_000))


def test_thoughts_go_back_over_two_turns_exactly_as_they_came(wired: Wired, server: Misbehaving) -> None:
    """The talk is stored and read again in between, as a ledger does it."""
    provider = wired("thinking", can=Can(thinking=True))
    asked = question(tools=TOOLS)
    for _ in range(2):
        reply = provider.reply(asked)
        assert reply.stop is Stop.TOOLS
        turn = replace(reply.turn, content=json.loads(json.dumps(reply.content)))
        results = Results(tuple(ToolResult(call.id, "") for call in reply.calls))
        asked = replace(asked, turns=(*asked.turns, turn, results))

    assert provider.reply(asked).text == server.good
    assert server.bodies["thinking"][2].count(json.dumps(THOUGHT)[1:-1].encode()) == 2


def test_thoughts_that_were_changed_are_refused(wired: Wired) -> None:
    provider = wired("thinking", can=Can(thinking=True))
    asked = question(tools=TOOLS)
    reply = provider.reply(asked)
    changed = json.loads(json.dumps(reply.content).replace("eyes", "ears"))
    results = Results(tuple(ToolResult(call.id, "") for call in reply.calls))

    with pytest.raises(errors.NotTaken, match="as they were sent"):
        provider.reply(replace(asked, turns=(*asked.turns, replace(reply.turn, content=changed), results)))


def test_an_answer_never_gets_more_room_than_the_model_has(wired: Wired, server: Misbehaving) -> None:
    wired("good", max_output_tokens=64).reply(question(max_output_tokens=5000))

    body = json.loads(server.bodies["good"][0])
    limits = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    assert [body[name] for name in limits if name in body] == [64]


def test_a_missing_key_is_found_before_the_server_is_asked(wired: Wired, server: Misbehaving) -> None:
    provider = wired("good", key=None, base_url_host="models.example")

    with pytest.raises(errors.KeyRefused, match="set TESTED_KEY"):
        provider.reply(question())
    assert server.asked["good"] == 0


def test_a_server_on_this_machine_needs_no_key(wired: Wired) -> None:
    assert wired("good", key=None).reply(question()).stop is Stop.END


def test_a_key_with_a_line_break_is_named_and_not_sent(wired: Wired, server: Misbehaving) -> None:
    with pytest.raises(errors.KeyRefused, match="TESTED_KEY has a character"):
        wired("good", key="abc\n").reply(question())
    assert server.asked["good"] == 0


def test_a_nested_form_goes_out_closed_and_whole(wired: Wired, server: Misbehaving) -> None:
    words = {"type": "string", "maxLength": 9, "description": "Few."}
    part = {"type": "object", "properties": {"words": words}}
    form = {"type": "object", "properties": {"parts": {"type": "array", "items": part}, "title": part}}

    wired("good").reply(Question("", (Said("?"),), 100, schema=Schema("parts", form)))

    sent = server.bodies["good"][0].decode()
    assert sent.count('"additionalProperties":false') == 3
    assert '"required":["parts","title"]' in sent
    assert sent.count('"description":"Few. (maxLength 9)"') == 2 and '"maxLength"' not in sent


def test_bounds_stay_in_a_form_where_the_api_keeps_to_them(server: Misbehaving) -> None:
    form = {"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": 3}
    asked = Question("", (Said("?"),), 100, schema=Schema("few", form))
    bodies = {kind: open_provider(spec_for(kind, server.address, "good")).request_of(asked) for kind in PATHS}

    assert b'"maxItems":3' in bodies["openai"] and b'"minimum":1' in bodies["openai-chat"]
    assert b"(maxItems 3)" in bodies["anthropic"] and b"(minimum 1)" in bodies["anthropic"]


def test_no_mode_ends_in_anything_but_a_reply_or_one_of_our_errors(wired: Wired, server: Misbehaving) -> None:
    for mode in server.modes:
        provider = wired(mode, timeout_seconds=0.3 if mode in ("hang", "drip") else 5)
        with suppress(errors.ProviderError):
            assert isinstance(provider.reply(question(tools=TOOLS)), Reply)

    assert server.asked == dict.fromkeys(server.modes, 1)


def test_many_threads_ask_one_provider_at_the_same_time(wired: Wired, server: Misbehaving) -> None:
    provider = wired("good")

    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda n: provider.reply(question(f"Number {n}?")).text, range(24)))

    assert texts == [server.good] * 24
    assert server.asked["good"] == 24
