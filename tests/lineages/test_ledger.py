"""The ledger behind every request to a model: stored, paid once, within budgets and limits."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from agents.line import Conversation, Waits
from agents.models import MANUAL, Book, ModelSpec, Price, Role
from agents.providers.base import (
    Provider,
    Question,
    Reply,
    Results,
    Said,
    Schema,
    Stop,
    ToolResult,
    ToolSpec,
    Usage,
)
from agents.providers.errors import NotTaken, ServerBroke
from agents.providers.opening import open_provider
from lineages.desk import attended, beating
from lineages.growth.models import Evolution
from lineages.library import asked, blobs, budgets, by_hand, pauses, reserving, retrying
from lineages.library.calls import AgentCall, CommandRun, ModelPause, ToolRun
from lineages.library.calls import Conversation as ConversationRow
from lineages.library.ledger import Directly, LedgerLine, Scope, provider_of
from lineages.library.models import Audit
from lineages.library.pauses import Hold
from lineages.library.reserving import Request
from lineages.lifecycle import LeaseLost, Stale, cancel, claim
from sandboxes.base import ExecResult
from tests import factories
from tests.lineages.test_lifecycle import at_once

pytestmark = pytest.mark.django_db

beside = pytest.mark.django_db(transaction=True)
"""For a test with threads that look into the database themselves."""

PROMPT = {"name": "proposer", "digest": "a" * 64}
QUESTION = Question("You are careful.", (Said("What is harder?"),), max_output_tokens=100)
SEARCH = ToolSpec("search", "Looks for it.", {"type": "object", "required": ["word"]})
RAN = ExecResult(("wc", "-l"), 0, b"3\n", b"", 0, 0.1, datetime.now(UTC))
CALLS = [{"id": "c-1", "type": "function", "function": {"name": "search", "arguments": '{"word": "lock"}'}}]


def said(text: str = "Ordered parts.", *, finish: str = "stop", usage: bool = True, **message: Any) -> bytes:
    """An answer of the server: 10 tokens in, 5 out."""
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "small-2026",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": finish,
                    "message": {"role": "assistant", "content": text, **message},
                }
            ],
            **({"usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}} if usage else {}),
        }
    ).encode()


class Server:
    """Speaks Chat Completions: what `answers` holds, one after the other, then always the same."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Mapping[str, str], bytes]] = []
        self.asked: list[Any] = []
        self.meanwhile: Callable[[], object] = lambda: None
        self.httpd = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.httpd.server_port}/v1"

    def will(self, status: int, body: bytes = b"{}", **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers.append((status, {"content-type": "application/json", **named}, body))

    def _handler(server) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                server.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                answers = server.answers
                status, headers, body = (
                    answers.pop(0) if answers else (200, {"content-type": "application/json"}, said())
                )
                server.meanwhile()
                self.send_response(status)
                for name, value in {**headers, "content-length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(retrying, "FIRST", 0.05)
    server = Server()
    thread = threading.Thread(target=server.httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.httpd.shutdown()
    thread.join()
    server.httpd.server_close()


@pytest.fixture
def spec(server: Server) -> ModelSpec:
    """A dollar for a million tokens in, two for a million out."""
    return ModelSpec(
        name="small",
        provider="openai-chat",
        model="small",
        base_url=server.address,
        patience_seconds=5,
        price=Price(input=Decimal(1), output=Decimal(2)),
    )


@pytest.fixture
def evolution() -> Evolution:
    return factories.attempt(factories.evolution()).evolution


def scope(of: Evolution) -> Scope:
    attempt = of.attempts.get()
    return Scope("team", "d" * 64, attempt=attempt.pk, evolution=of.pk, lineage=of.lineage_id)


def line(
    of: Evolution, spec: ModelSpec, providers: Callable[[ModelSpec], Provider] = provider_of
) -> LedgerLine:
    """For a test that holds no lease itself."""
    person = ModelSpec(name=MANUAL, provider="manual")
    return LedgerLine(Directly(), Book(models={spec.name: spec, MANUAL: person}), scope(of), providers)


def talk(
    over: LedgerLine, question: Question = QUESTION, *, model: str = "small", subject: str = "round 0"
) -> Conversation:
    return over.open(Role.PROPOSER, model, subject=subject, prompt=PROMPT, opening=question)


def under_a_lease(of: Evolution, spec: ModelSpec, play: Callable[[LedgerLine], Any]) -> Any:
    """As a step does it: the role in a thread without a database, its errands in the lease's."""
    lease, running = claim(of), set[Future[Any]]()
    assert lease is not None
    with ThreadPoolExecutor(1) as pool, attended(lease, running) as desk:
        running.add(pool.submit(play, replace(line(of, spec), desk=desk)))
        (done,) = beating(running, lease, desk=desk)
    lease.release()
    return done.result()


class Breaks:
    """A provider whose process dies when the answer is there, as far as anybody sees."""

    def __init__(self, spec: ModelSpec) -> None:
        self._real = open_provider(spec)
        self.request_of = self._real.request_of

    def reply(self, question: Question) -> Reply:
        self._real.reply(question)
        raise RuntimeError("killed")


@pytest.mark.lifecycle
def test_an_answer_is_stored_with_what_it_cost_and_given_back_as_it_was_at_no_cost(
    server: Server, spec: ModelSpec, evolution: Evolution
) -> None:
    server.will(200, said("", finish="tool_calls", tool_calls=CALLS), x_request_id="req-7")
    question = replace(QUESTION, tools=(SEARCH,))

    first = under_a_lease(evolution, spec, lambda over: talk(over, question).ask(0, question))
    again = under_a_lease(evolution, spec, lambda over: talk(over, question).ask(0, question))

    assert len(server.asked) == 1
    assert again == first and first.stop is Stop.TOOLS and first.calls[0].arguments == {"word": "lock"}
    call = AgentCall.objects.get()
    assert (call.author, call.provider, call.role, call.served) == (
        "small",
        "openai-chat",
        "proposer",
        "small-2026",
    )
    assert (call.outcome, call.stop, call.billed, call.request_id) == ("answered", "tools", True, "req-7")
    assert (call.tokens, call.input_tokens, call.output_tokens, call.cached_tokens) == (15, 10, 5, 0)
    assert call.cost == Decimal("0.000020") and call.priced_by
    assert call.reserved > call.cost and call.reserved_tokens > 100
    assert json.loads(blobs.read(call.sent_body_id)) == server.asked[0]
    assert reserving.received(call) == first.raw
    assert (call.evolution, call.lineage) == (evolution, evolution.lineage)


@pytest.mark.lifecycle
@beside
def test_the_row_is_there_as_sent_with_the_most_it_costs_while_the_request_is_under_way(
    server: Server, spec: ModelSpec, evolution: Evolution
) -> None:
    seen: list[Any] = []

    def look() -> None:
        seen.extend(AgentCall.objects.values_list("outcome", "cost", "reserved"))
        connection.close()

    server.meanwhile = look

    under_a_lease(evolution, spec, lambda over: talk(over).ask(0, QUESTION))

    [(outcome, cost, reserved)] = seen
    assert outcome == "sent" and cost is None and reserved > 0


@pytest.mark.lifecycle
def test_a_crash_leaves_the_request_sent_at_an_unknown_cost_and_it_is_made_again(
    server: Server, spec: ModelSpec, evolution: Evolution
) -> None:
    with pytest.raises(RuntimeError):
        talk(line(evolution, spec, Breaks)).ask(0, QUESTION)

    again = talk(line(evolution, spec))
    reply = again.ask(0, QUESTION)

    lost, made = AgentCall.objects.all()
    assert (lost.outcome, lost.cost, lost.again) == ("sent", None, 0) and lost.unsettled
    assert (made.outcome, made.again) == ("answered", 1) and reply.text == "Ordered parts."
    assert list(budgets.unknown_costs()) == [lost]
    assert again.spent().cost == lost.reserved + made.cost
    money = budgets.spent_on(evolution=evolution)
    assert (money.requests, money.sent, money.cost, money.reserved) == (2, 1, made.cost, lost.reserved)


def test_an_answer_without_usage_has_an_unknown_price_and_not_none(
    server: Server, spec: ModelSpec, evolution: Evolution
) -> None:
    server.will(200, said(usage=False))

    talk(line(evolution, spec)).ask(0, QUESTION)

    call = AgentCall.objects.get()
    assert (call.outcome, call.cost, call.tokens, call.billed) == ("answered", None, None, True)
    assert list(budgets.unknown_costs()) == [call]


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 10**30, "completion_tokens": 5},
        {"prompt_tokens": 2**31, "completion_tokens": 5},
        {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 10**12}},
    ],
)
@pytest.mark.lifecycle
def test_more_tokens_than_a_request_can_use_are_not_believed_and_the_answer_is_kept(
    usage: dict[str, Any], server: Server, spec: ModelSpec, evolution: Evolution
) -> None:
    server.will(200, json.dumps({**json.loads(said()), "usage": usage}).encode())

    first, again = (talk(line(evolution, spec)).ask(0, QUESTION) for _ in range(2))

    assert first == again and len(server.asked) == 1
    call = AgentCall.objects.get()
    assert (call.outcome, call.cost, call.tokens, call.billed) == ("answered", None, None, True)
    assert call.priced_by == "the server's token counts cannot be right"


@pytest.mark.parametrize(
    ("body", "stop", "outcome"),
    [
        (said("I will not.", refusal="I will not."), Stop.REFUSAL, "refused"),
        (said("Ordered pa", finish="length"), Stop.LENGTH, "cut_off"),
        (said("a\x00b \ud800 c"), Stop.END, "answered"),
    ],
)
@pytest.mark.lifecycle
def test_refused_cut_off_and_unstorable_answers_are_paid_stored_and_given_back_too(
    body: bytes, stop: Stop, outcome: str, server: Server, spec: ModelSpec, evolution: Evolution
) -> None:
    server.will(200, body)

    first, again = (talk(line(evolution, spec)).ask(0, QUESTION) for _ in range(2))

    assert first == again and first.stop is stop and len(server.asked) == 1
    call = AgentCall.objects.get()
    assert (call.outcome, call.cost) == (outcome, Decimal("0.000020"))


@pytest.mark.lifecycle
def test_an_overloaded_server_is_asked_again_later_and_each_try_is_a_row(
    server: Server, spec: ModelSpec, evolution: Evolution
) -> None:
    server.will(429, retry_after="1")
    server.will(500)

    reply = talk(line(evolution, spec)).ask(0, QUESTION)

    assert reply.text == "Ordered parts."
    rows = list(AgentCall.objects.values_list("number", "again", "outcome", "cost", "billed"))
    assert rows == [
        (0, 0, "overloaded", Decimal(0), False),
        (0, 1, "server_broke", None, None),
        (0, 2, "answered", Decimal("0.000020"), True),
    ]
    pause = ModelPause.objects.get()
    assert pause.until - pause.at >= timedelta(seconds=1)
    refused, retried = AgentCall.objects.all()[:2]
    assert retried.started_at - refused.started_at >= timedelta(seconds=1)


def test_while_a_server_is_overloaded_the_other_workers_leave_it_alone(
    server: Server, spec: ModelSpec, evolution: Evolution
) -> None:
    server.will(529, retry_after="40")
    impatient = spec.model_copy(update={"patience_seconds": 2})
    with pytest.raises(Exception, match="small"):
        talk(line(evolution, impatient)).ask(0, QUESTION)

    with pytest.raises(Waits) as waits:
        talk(line(evolution, impatient), subject="round 1").ask(0, QUESTION)

    assert len(server.asked) == 1
    assert 30 < waits.value.seconds <= 40 and not waits.value.forever


def test_no_server_keeps_a_model_from_being_asked_for_longer_than_a_day() -> None:
    pauses.slow_down("small", 1e12, "busy")

    pause = ModelPause.objects.get()
    assert pause.until - pause.at <= timedelta(days=1)


def test_an_error_is_raised_when_the_patience_is_at_its_end(
    server: Server, spec: ModelSpec, evolution: Evolution
) -> None:
    server.will(500, b"<html>busy</html>")

    with pytest.raises(ServerBroke):
        talk(line(evolution, spec.model_copy(update={"patience_seconds": 0}))).ask(0, QUESTION)

    call = AgentCall.objects.get()
    assert (call.outcome, call.cost, call.billed) == ("server_broke", None, None)
    assert call.error and reserving.received(call) == b"<html>busy</html>"


def test_a_request_that_is_not_taken_is_not_made_again(
    server: Server, spec: ModelSpec, evolution: Evolution
) -> None:
    server.will(400, b'{"error": {"message": "no such field"}}')

    with pytest.raises(NotTaken):
        talk(line(evolution, spec)).ask(0, QUESTION)

    call = AgentCall.objects.get()
    assert (call.outcome, call.cost, call.billed, len(server.asked)) == ("not_taken", Decimal(0), False, 1)


@pytest.mark.lifecycle
def test_a_refused_key_pauses_the_model_for_everybody_until_a_person_goes_on(
    server: Server, spec: ModelSpec, evolution: Evolution
) -> None:
    server.will(401, b'{"error": {"message": "bad key"}}')
    other = factories.attempt(factories.evolution()).evolution

    for each in (evolution, other):
        with pytest.raises(Waits, match="small is paused until somebody resumes it on") as waits:
            talk(line(each, spec)).ask(0, QUESTION)
        assert waits.value.forever
    assert len(server.asked) == 1

    pauses.resume_model("small", factories.user())

    assert talk(line(other, spec)).ask(0, QUESTION).text == "Ordered parts."
    with pytest.raises(Stale, match="small is not paused"):
        pauses.resume_model("small")


@pytest.mark.lifecycle
def test_a_short_pause_never_ends_one_that_waits_for_a_person() -> None:
    pauses.close("small", "no money")
    pauses.slow_down("small", 3, "busy")

    assert ModelPause.objects.get().until is None


@pytest.mark.lifecycle
@beside
def test_requests_reserved_at_the_same_time_never_pass_the_budget(
    server: Server, spec: ModelSpec, evolution: Evolution, settings: Any
) -> None:
    most = most_of(evolution, spec)
    settings.BUDGET_LINEAGE = most * 2
    server.asked.clear()
    all_held, held = threading.Event(), []
    server.meanwhile = lambda: all_held.wait(20)
    impatient = spec.model_copy(update={"patience_seconds": 0})

    def ask(number: int) -> object:
        try:
            return talk(line(evolution, impatient), subject=f"round {number}").ask(0, QUESTION)
        except Waits as waits:
            held.append(waits)
            if len(held) == 4:
                all_held.set()
            return waits

    answers = at_once(*(partial(ask, number) for number in range(6)))

    assert sum(isinstance(each, Reply) for each in answers) == 2 == len(server.asked)
    assert len(held) == 4
    assert all("under way" in waits.reason and not waits.forever for waits in held)
    assert budgets.spent_on(lineage=evolution.lineage).cost <= settings.BUDGET_LINEAGE


@pytest.mark.lifecycle
@beside
def test_a_reservation_waits_for_the_one_that_was_begun_before_and_sees_it(
    spec: ModelSpec, evolution: Evolution, settings: Any
) -> None:
    settings.BUDGET_EVOLUTION = Decimal("0.03")
    begun = threading.Event()

    def reserve() -> object:
        row = factories.conversation(evolution.attempts.get())
        request = Request(row.pk, 0, "proposer", spec, scope(evolution), b"{}", 100, Decimal("0.02"))
        return reserving.reserve(request)

    def first() -> object:
        with transaction.atomic():
            call = reserve()
            begun.set()
            threading.Event().wait(0.3)
            return call

    def second() -> object:
        begun.wait(10)
        with transaction.atomic():
            return reserve()

    call, held = at_once(first, second)

    assert isinstance(call, AgentCall) and isinstance(held, Hold)
    assert "0.0200 are reserved for requests under way" in held.reason


def most_of(of: Evolution, spec: ModelSpec) -> Decimal:
    """What a request of the tests may cost at most."""
    asked = talk(line(of, spec), subject="to see its price")
    asked.ask(0, QUESTION)
    most = AgentCall.objects.get().reserved
    ConversationRow.objects.all().delete()
    return most


@pytest.mark.parametrize("name", ["EVOLUTION", "LINEAGE"])
def test_a_spent_budget_holds_every_further_request_until_a_person_allows_more(
    name: str, server: Server, spec: ModelSpec, evolution: Evolution, settings: Any
) -> None:
    setattr(settings, f"BUDGET_{name}", Decimal("0.0003"))
    spent = talk(line(evolution, spec), subject="round 0")
    spent.ask(0, QUESTION)
    AgentCall.objects.update(cost=Decimal("0.0002"))

    says = f"0.0002 of 0.0003 US dollars .*allow more in ENVEVO_BUDGET_{name}"
    with pytest.raises(Waits, match=says) as waits:
        talk(line(evolution, spec), subject="round 1").ask(0, QUESTION)

    assert waits.value.forever and len(server.asked) == 1
    assert spent.ask(0, QUESTION).text == "Ordered parts.", "what was answered is given back all the same"


@pytest.mark.lifecycle
def test_the_budget_of_a_day_goes_on_tomorrow(
    server: Server, spec: ModelSpec, evolution: Evolution, settings: Any
) -> None:
    settings.BUDGET_DAY = Decimal("0.0003")
    talk(line(evolution, spec)).ask(0, QUESTION)
    AgentCall.objects.update(cost=Decimal("0.0002"))

    with pytest.raises(Waits, match="goes on tomorrow") as waits:
        talk(line(evolution, spec), subject="round 1").ask(0, QUESTION)
    assert waits.value.forever and 0 < waits.value.seconds <= pauses.ASK_AGAIN, "a person may allow more"

    AgentCall.objects.update(started_at=Now() - timedelta(days=1))
    assert talk(line(evolution, spec), subject="round 1").ask(0, QUESTION).text == "Ordered parts."
    assert budgets.spent_today().cost == Decimal("0.000020")


def test_a_request_whose_worker_died_counts_with_the_most_that_it_may_have_cost(
    server: Server, spec: ModelSpec, evolution: Evolution, settings: Any
) -> None:
    with pytest.raises(RuntimeError):
        talk(line(evolution, spec, Breaks)).ask(0, QUESTION)
    lost = AgentCall.objects.get()
    AgentCall.objects.update(started_at=Now() - timedelta(hours=2))
    settings.BUDGET_EVOLUTION = lost.reserved * 2 - Decimal("0.000001")

    with pytest.raises(Waits, match="ENVEVO_BUDGET_EVOLUTION") as waits:
        talk(line(evolution, spec)).ask(0, QUESTION)

    assert waits.value.forever and AgentCall.objects.count() == 1


def test_what_was_spent_is_told_for_an_evolution_for_a_lineage_and_for_today() -> None:
    first = factories.evolution()
    second = factories.evolution(first.parent, status=Evolution.Status.FAILED)
    for each in (first, second, factories.evolution()):
        factories.model_call(factories.conversation(factories.attempt(each)))
    factories.call(first.attempts.get())
    unknown = factories.model_call(factories.conversation(), cost=None)
    AgentCall.objects.filter(evolution=second).update(started_at=Now() - timedelta(days=1))

    assert budgets.spent_on(evolution=first).cost == Decimal("0.03")
    assert budgets.spent_on(lineage=first.lineage).cost == Decimal("0.06")
    today = budgets.spent_today()
    assert (today.cost, today.unknown, today.whole) == (Decimal("0.06"), 1, False)
    assert list(budgets.unknown_costs()) == [unknown]


def test_where_a_budget_binds_a_model_of_unknown_price_is_not_asked(
    server: Server, spec: ModelSpec, evolution: Evolution, settings: Any
) -> None:
    unpriced = spec.model_copy(update={"price": None, "model": "nobody-sells-this"})
    talk(line(evolution, unpriced)).ask(0, QUESTION)
    assert AgentCall.objects.get().cost is None

    settings.BUDGET_DAY = Decimal(100)
    with pytest.raises(
        Waits, match=r"a price: nobody knows that of small, .*write models\.small\.price"
    ) as waits:
        talk(line(evolution, unpriced)).ask(1, QUESTION)

    assert waits.value.forever and len(server.asked) == 1

    settings.BUDGET_DAY = Decimal("0.000001")
    with pytest.raises(Waits, match=r"are spent \(not in it: requests whose cost nobody knows, 1\)"):
        talk(line(evolution, spec)).ask(1, QUESTION)


def test_a_budget_of_nothing_lets_only_models_leave_that_cost_nothing(
    server: Server, spec: ModelSpec, evolution: Evolution, settings: Any
) -> None:
    settings.BUDGET_EVOLUTION = settings.BUDGET_LINEAGE = settings.BUDGET_DAY = Decimal(0)
    with pytest.raises(Waits, match="0.0000 of 0 US dollars for this evolution are spent") as waits:
        talk(line(evolution, spec)).ask(0, QUESTION)
    assert waits.value.forever and not server.asked

    free = spec.model_copy(update={"price": Price(input=Decimal(0), output=Decimal(0))})
    assert talk(line(evolution, free)).ask(0, QUESTION).text == "Ordered parts."
    assert AgentCall.objects.get().cost == 0


def test_a_day_begins_at_midnight_where_the_installation_is(settings: Any) -> None:
    settings.TIME_ZONE = "Pacific/Kiritimati"
    now = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)  # there 23:30 of the same day

    assert budgets._midnight(now) == datetime(2026, 2, 28, 10, 0, tzinfo=UTC)
    assert (budgets._midnight(now, days=1) - now).total_seconds() == 1800
    settings.TIME_ZONE = "Europe/Berlin"
    spring = datetime(2026, 3, 29, 12, 0, tzinfo=UTC)  # a day of 23 hours
    day = budgets._midnight(spring, days=1).astimezone(UTC) - budgets._midnight(spring).astimezone(UTC)
    assert day == timedelta(hours=23)


@pytest.mark.lifecycle
def test_a_limit_on_requests_holds_for_all_lines_together(
    server: Server, spec: ModelSpec, evolution: Evolution
) -> None:
    slow = spec.model_copy(update={"requests_per_minute": 1})
    other = factories.attempt(factories.evolution()).evolution
    talk(line(evolution, slow)).ask(0, QUESTION)

    with pytest.raises(Waits) as waits:
        talk(line(other, slow)).ask(0, QUESTION)
    assert 5 < waits.value.seconds <= 60 and not waits.value.forever and len(server.asked) == 1

    AgentCall.objects.update(started_at=Now() - timedelta(seconds=59.5))
    assert talk(line(other, slow)).ask(0, QUESTION).text == "Ordered parts.", "it waits within its patience"


@pytest.mark.lifecycle
@beside
def test_no_more_requests_than_allowed_are_under_way(
    server: Server, spec: ModelSpec, evolution: Evolution
) -> None:
    inside, most = [0], [0]
    guard = threading.Lock()

    def count() -> None:
        with guard:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        threading.Event().wait(0.05)
        with guard:
            inside[0] -= 1

    server.meanwhile = count
    one = spec.model_copy(update={"at_once": 1, "patience_seconds": 30})

    def ask(number: int) -> Reply:
        return talk(line(evolution, one), subject=f"round {number}").ask(0, QUESTION)

    answers = at_once(*(partial(ask, number) for number in range(3)))

    assert all(isinstance(each, Reply) for each in answers) and len(server.asked) == 3
    assert most[0] == 1


@pytest.mark.lifecycle
def test_a_request_that_lost_its_worker_is_made_again_at_once_and_holds_others_for_its_time_limit(
    server: Server, spec: ModelSpec, evolution: Evolution
) -> None:
    one = spec.model_copy(update={"at_once": 1, "patience_seconds": 0})
    with pytest.raises(RuntimeError):
        talk(line(evolution, one, Breaks)).ask(0, QUESTION)

    with pytest.raises(Waits, match="as many requests"):
        talk(line(evolution, one), subject="round 1").ask(0, QUESTION)
    assert talk(line(evolution, one)).ask(0, QUESTION).text == "Ordered parts."

    AgentCall.objects.filter(outcome="sent").update(started_at=Now() - timedelta(seconds=601))
    assert talk(line(evolution, one), subject="round 1").ask(0, QUESTION).text == "Ordered parts."


@pytest.mark.lifecycle
@beside
@pytest.mark.timeout(30)
def test_who_waits_for_a_server_learns_soon_that_its_lease_is_lost(
    server: Server, spec: ModelSpec, evolution: Evolution, settings: Any
) -> None:
    settings.LEASE_BEAT_SECONDS = 0.05
    server.will(429, retry_after="90")

    def cancelled() -> None:
        cancel(Evolution.objects.get(pk=evolution.pk), Evolution.Status.CANCELLED, reason="enough")
        connection.close()

    server.meanwhile = cancelled

    with pytest.raises(LeaseLost):
        under_a_lease(
            evolution,
            spec.model_copy(update={"patience_seconds": 100}),
            lambda over: talk(over).ask(0, QUESTION),
        )

    assert AgentCall.objects.get().outcome == "overloaded" and len(server.asked) == 1
    assert ModelPause.objects.exists(), "the others leave it alone all the same"


@pytest.mark.lifecycle
@beside
def test_a_lost_lease_lets_nothing_leave_but_what_was_paid_is_stored(
    server: Server, spec: ModelSpec, evolution: Evolution, settings: Any
) -> None:
    settings.LEASE_BEAT_SECONDS = 0.05

    def take_away() -> None:
        cancel(Evolution.objects.get(pk=evolution.pk), Evolution.Status.CANCELLED, reason="enough")
        connection.close()

    server.meanwhile = take_away
    outcome: list[BaseException] = []

    def play(over: LedgerLine) -> None:
        asked = talk(over)
        asked.ask(0, QUESTION)
        try:
            asked.ask(1, QUESTION)
        except LeaseLost as lost:
            outcome.append(lost)

    with pytest.raises(LeaseLost):
        under_a_lease(evolution, spec, play)

    call = AgentCall.objects.get()
    assert (call.outcome, call.cost) == ("answered", Decimal("0.000020"))
    assert outcome and len(server.asked) == 1


@pytest.mark.lifecycle
def test_results_of_tools_are_kept_once_with_their_commands_and_given_back(
    server: Server, spec: ModelSpec, evolution: Evolution
) -> None:
    server.will(200, said("", finish="tool_calls", tool_calls=CALLS))
    question = replace(QUESTION, tools=(SEARCH,))
    asked = talk(line(evolution, spec), question)
    reply = asked.ask(0, question)
    assert asked.results(0) is None

    results = (ToolResult("c-1", "found é\nit", error=True, cut=12),)
    for _ in range(2):
        asked.keep_results(0, results, [RAN])

    assert talk(line(evolution, spec), question).results(0) == results
    (run,) = ToolRun.objects.all()
    assert (run.tool, run.written, run.call_id) == ("search", '{"word": "lock"}', "c-1")
    assert CommandRun.objects.get().call == AgentCall.objects.get()

    following = replace(question, turns=(*question.turns, reply.turn, Results(results)))
    assert asked.ask(1, following).text == "Ordered parts."
    assert [message["role"] for message in server.asked[1]["messages"]][-2:] == ["assistant", "tool"]


@pytest.mark.lifecycle
def test_a_call_with_a_very_long_id_gets_its_result_back_under_that_id(
    server: Server, spec: ModelSpec, evolution: Evolution
) -> None:
    name = "c\0" + "-" * 400
    server.will(200, said("", finish="tool_calls", tool_calls=[{**CALLS[0], "id": name}]))
    question = replace(QUESTION, tools=(SEARCH,))
    asked = talk(line(evolution, spec), question)
    (call,) = asked.ask(0, question).calls

    asked.keep_results(0, [ToolResult(call.id, "found")])

    assert asked.results(0) == (ToolResult(call.id, "found"),) and len(call.id) > 400
    assert len(ToolRun.objects.get().call_id) == 200


def test_results_for_calls_that_nobody_made_are_refused(
    server: Server, spec: ModelSpec, evolution: Evolution
) -> None:
    asked = talk(line(evolution, spec))
    asked.ask(0, QUESTION)

    with pytest.raises(ValueError, match="asked for no such calls"):
        asked.keep_results(0, [ToolResult("c-9", "")])
    assert not ToolRun.objects.exists()


@pytest.mark.lifecycle
def test_text_that_no_database_takes_is_kept_without_it(
    server: Server, spec: ModelSpec, evolution: Evolution
) -> None:
    server.will(200, said("", finish="tool_calls", tool_calls=CALLS))
    asked = talk(line(evolution, spec), subject="a\x00b")
    asked.ask(0, QUESTION)

    asked.keep_results(0, [ToolResult("c-1", "a\x00b\ud800")])
    asked.end("not_usable", note="it said \x00 and \udfff")

    assert asked.results(0) == (ToolResult("c-1", "a\ufffdb\ufffd"),)
    row = ConversationRow.objects.get()
    assert (row.subject, row.outcome, row.note) == ("a\ufffdb", "not_usable", "it said \ufffd and \ufffd")
    assert row.ended_at is not None


def test_the_same_opening_is_the_same_conversation_and_another_is_another(
    spec: ModelSpec, evolution: Evolution
) -> None:
    over = line(evolution, spec)
    for question in (QUESTION, replace(QUESTION, max_output_tokens=7), replace(QUESTION, system="Be quick.")):
        talk(over, question)
    talk(over, subject="round 1")

    first, *_ = rows = list(ConversationRow.objects.all())
    assert len(rows) == 3
    assert (first.scope, first.attempt) == (
        f"attempt:{evolution.attempts.get().pk}",
        evolution.attempts.get(),
    )
    assert (first.prompt_name, first.prompt_digest, first.outcome) == ("proposer", "a" * 64, "open")


def test_what_a_conversation_used_is_added_up(server: Server, spec: ModelSpec, evolution: Evolution) -> None:
    asked = talk(line(evolution, spec))
    for number in range(2):
        asked.ask(number, QUESTION)

    spent = asked.spent()

    assert (spent.tokens, spent.cost) == (30, Decimal("0.000040")) and spent.seconds > 0


@pytest.mark.lifecycle
def test_a_person_answers_in_a_models_place_and_only_once(evolution: Evolution, spec: ModelSpec) -> None:
    form = {
        "type": "object",
        "required": ["verdict"],
        "properties": {"verdict": {}},
        "additionalProperties": False,
    }
    question = replace(QUESTION, schema=Schema("plan_review", form))
    over, ada = line(evolution, spec), factories.user()

    for _ in range(2):
        with pytest.raises(Waits, match="an answer by a person") as waits:
            talk(over, question, model=MANUAL).ask(0, question)
        assert waits.value.forever
    (call,) = by_hand.waiting()
    assert (call.outcome, call.author) == ("sent", MANUAL)
    assert by_hand.question(call)["turns"] == [{"said": "What is harder?"}]
    assert by_hand.question(call)["schema"]["name"] == "plan_review"

    for wrong, says in (("yes", "is no JSON"), ("[]", "no object"), ("{}", "lacks verdict")):
        with pytest.raises(by_hand.NotAnAnswer, match=says):
            by_hand.answer(call, user=ada, text=wrong)
    with pytest.raises(by_hand.NotAnAnswer, match="has mood, which nobody asked for"):
        by_hand.answer(call, user=ada, text='{"verdict": 1, "mood": 2}')

    assert by_hand.answer(call, user=ada, text='{"verdict": "pass"}') == evolution
    with pytest.raises(Stale):
        by_hand.answer(call, user=ada, text='{"verdict": "fail"}')

    reply = talk(over, question, model=MANUAL).ask(0, question)
    assert (reply.text, reply.stop, reply.usage) == ('{"verdict": "pass"}', Stop.END, Usage(0, 0))
    call.refresh_from_db()
    assert (call.outcome, call.cost, call.billed, call.served) == ("answered", Decimal(0), False, "ada")
    assert not by_hand.waiting().exists() and not budgets.unknown_costs().exists()


def test_a_person_calls_tools_too(evolution: Evolution, spec: ModelSpec) -> None:
    question = replace(QUESTION, tools=(SEARCH,))
    asked = talk(line(evolution, spec), question, model=MANUAL)
    with pytest.raises(Waits):
        asked.ask(0, question)
    (call,) = by_hand.waiting()

    for wrong, says in (
        ([by_hand.Called("look", "{}")], "no tool 'look'; there is: search"),
        ([by_hand.Called("search", "{}")], "the call of search lacks word"),
        ([], "the answer is empty"),
    ):
        with pytest.raises(by_hand.NotAnAnswer, match=says):
            by_hand.answer(call, user=factories.user(), calls=wrong)
    by_hand.answer(call, user=factories.user(), calls=[by_hand.Called("search", '{"word": "lock"}')])

    reply = asked.ask(0, question)
    assert reply.stop is Stop.TOOLS
    assert [(each.name, each.arguments) for each in reply.calls] == [("search", {"word": "lock"})]
    with pytest.raises(Waits):
        asked.ask(1, replace(question, turns=(*question.turns, reply.turn, Results((ToolResult("c", ""),)))))


def test_a_question_that_was_answered_a_moment_ago_is_not_put_again(
    evolution: Evolution, spec: ModelSpec
) -> None:
    asked = talk(line(evolution, spec), model=MANUAL)
    with pytest.raises(Waits):
        asked.ask(0, QUESTION)
    (call,) = by_hand.waiting()
    by_hand.answer(call, user=factories.user(), text="Ordered parts.")

    by_hand.put(Request(call.conversation_id, 0, "proposer", asked.model, scope(evolution), b"{}", 0, None))

    assert AgentCall.objects.get() == call and asked.ask(0, QUESTION).text == "Ordered parts."


def test_an_answer_that_is_nested_without_end_is_refused_with_a_sentence(
    evolution: Evolution, spec: ModelSpec
) -> None:
    question = replace(QUESTION, schema=Schema("plan_review", {"type": "object"}))
    with pytest.raises(Waits):
        talk(line(evolution, spec), question, model=MANUAL).ask(0, question)

    with pytest.raises(by_hand.NotAnAnswer, match="the answer is nested too deeply"):
        by_hand.answer(by_hand.waiting().get(), user=factories.user(), text='{"a": ' + "[" * 100_000)


def test_a_question_of_an_audit_that_ended_waits_for_nobody(evolution: Evolution, spec: ModelSpec) -> None:
    audit = factories.audit(evolution.parent.snapshot, status="queued")
    over = line(evolution, spec)
    with pytest.raises(Waits):
        talk(replace(over, scope=Scope("team", "d" * 64, audit=audit.pk)), model=MANUAL).ask(0, QUESTION)
    assert by_hand.waiting().exists()

    Audit.objects.update(status="abandoned")

    assert not by_hand.waiting().exists()


def test_a_question_of_an_attempt_that_ended_waits_for_nobody(evolution: Evolution, spec: ModelSpec) -> None:
    with pytest.raises(Waits):
        talk(line(evolution, spec), model=MANUAL).ask(0, QUESTION)
    evolution.attempts.update(outcome="abandoned")

    assert not by_hand.waiting().exists()


def test_a_conversation_is_one_line_of_which_one_row_is_read_however_many_requests_it_has(
    evolution: Evolution, django_assert_num_queries: Any
) -> None:
    attempt = evolution.attempts.get()
    one = factories.conversation(attempt)
    first, *_ = (factories.model_call(one, seconds=2.0) for _ in range(3))
    alone = factories.call(attempt, seconds=0.5)
    twice = AgentCall.objects.filter(attempt=attempt) | AgentCall.objects.filter(conversation=one)
    every = AgentCall.objects.filter(pk__in=[*twice.values_list("pk", flat=True)])

    with django_assert_num_queries(2):
        talk_line, other = asked.lines(every)
        assert talk_line.conversation == one and talk_line.author == "opus"

    assert (talk_line.first, talk_line.seconds, talk_line.money.requests) == (first, 6.0, 3)
    assert (other.first, other.seconds, other.money) == (alone, 0.5, None)


@pytest.mark.parametrize(
    ("model", "by"),
    [
        ("qwen3.6", "no published price at 127.0.0.1:8080 of qwen3.6"),
        ("qwen3.6 of a long name here", "no published price at 127.0.0.1:8080 of qwen3.6 of a long…"),
        ("m" * 100, "no published price at 127.0.0.1:8080 of…"),
    ],
)
def test_why_a_price_is_unknown_is_shortened_after_a_whole_word_and_says_that_it_was(
    model: str, by: str
) -> None:
    own = ModelSpec(name="own", provider="openai-chat", model="m", base_url="http://127.0.0.1:8080/v1")
    call = factories.call(None, outcome="sent", billed=None, cost=None)

    reserving.settle(call, own, Reply("Yes.", (), Stop.END, [], Usage(10, 5), b"{}", served=model))

    call.refresh_from_db()
    assert (call.cost, call.priced_by) == (None, by)
