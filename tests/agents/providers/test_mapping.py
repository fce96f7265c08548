"""No exception of an SDK goes by without a rule of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from types import ModuleType
from typing import get_args

import anthropic  # noqa: TID251 - its exceptions are what is tested
import httpx2
import openai  # noqa: TID251
import pytest
from pydantic import SecretStr

from agents.models import ModelSpec
from agents.providers import errors
from agents.providers.mapping import ADVICE, CODES, RULES, failure, retry_after

SPEC = ModelSpec(name="tested", provider="openai", model="m", key=SecretStr("secret"), key_variable="KEY")
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
CLASS = re.compile(r"^[ ]*class (\w+)\(([^)]*)\):", re.MULTILINE)
REQUEST = httpx2.Request("POST", "http://127.0.0.1/v1")


def _exceptions(package: ModuleType) -> set[str]:
    """The names of all classes in the package's source that are an exception of its own by descent.

    By source, since many modules load only with packages that are not installed here. `types` is left out:
    it has forms of data that are called as an exception is, and its exceptions are loaded in any case.
    """
    folder = Path(str(package.__file__)).parent
    bases: dict[str, set[str]] = {}
    for file in folder.rglob("*.py"):
        if "types" in file.relative_to(folder).parts:
            continue
        for name, parents in CLASS.findall(file.read_text(encoding="utf-8")):
            bases.setdefault(name, set()).update(re.findall(r"\w+", parents))
    found = {"AnthropicError", "OpenAIError"} & bases.keys()
    while more := {name for name, parents in bases.items() if parents & found} - found:
        found |= more
    return found


@pytest.fixture(scope="module")
def names() -> set[str]:
    return _exceptions(anthropic) | _exceptions(openai)


def _below(root: type[Exception]) -> Iterator[type[Exception]]:
    yield root
    for child in root.__subclasses__():
        yield from _below(child)


CODED = {
    one: code
    for one in _below(anthropic.APIStatusError)
    for code in get_args(vars(one).get("__annotations__", {}).get("error_code"))
}
"""Anthropic's exceptions of one cause each: a status with a code in it."""


def test_every_exception_of_both_sdks_has_a_rule(names: set[str]) -> None:
    loaded = {*_below(anthropic.AnthropicError), *_below(openai.OpenAIError)} - CODED.keys()

    assert len(CODED) > 100 and len(loaded) > 50
    assert sorted(names - RULES.keys()) == []
    assert sorted({one.__name__ for one in loaded} - RULES.keys()) == []


def test_no_rule_is_for_an_exception_that_there_is_not(names: set[str]) -> None:
    assert sorted(RULES.keys() - names) == []


def test_an_exception_of_one_cause_goes_by_its_code_or_else_by_its_status() -> None:
    for one, code in CODED.items():
        status = one.__mro__[1].status_code  # type: ignore[attr-defined]
        said = {"error": {"type": "some_error", "message": "no", "details": {"error_code": code}}}
        response = httpx2.Response(status, json=said, request=REQUEST)
        expected = CODES.get(code, RULES[one.__mro__[1].__name__])
        assert type(failure(one("no", response=response, body=said), SPEC)) is expected, one


def test_a_new_reason_to_wait_or_to_pay_wants_a_rule_of_its_own() -> None:
    """Whether waiting helps is not to be seen from a status of 402, 429 or 5xx alone."""
    unclear = (anthropic.RateLimitError, anthropic.PaymentRequiredError, anthropic.InternalServerError)

    assert {code for one, code in CODED.items() if issubclass(one, unclear)} <= CODES.keys()


def test_each_of_our_errors_has_its_advice() -> None:
    def leaves(kind: type[errors.ProviderError]) -> Iterator[type[errors.ProviderError]]:
        for child in kind.__subclasses__():
            yield child
            yield from leaves(child)

    groups = {errors.Passing, errors.Closed}
    assert set(leaves(errors.ProviderError)) - groups == set(ADVICE)


@pytest.mark.parametrize("package", [anthropic, openai])
def test_exceptions_without_an_answer_become_ours(package: ModuleType) -> None:
    slow, gone = package.APITimeoutError(REQUEST), package.APIConnectionError(request=REQUEST)

    assert type(failure(slow, SPEC)) is errors.TooSlow
    assert type(failure(gone, SPEC)) is errors.Unreachable


def _answered(status: int, body: str, package: ModuleType = openai) -> errors.ProviderError:
    response = httpx2.Response(status, text=body, request=REQUEST)
    return failure(package.APIStatusError("it said no", response=response, body=None), SPEC, now=NOW)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, '{"error": {"message": "max_tokens: too big"}}', errors.NotTaken),
        (400, '{"error": {"code": "context_length_exceeded"}}', errors.TooLong),
        (400, '{"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}', errors.TooLong),
        (400, '{"error": "input length and `max_tokens` exceed context limit: 9 > 8"}', errors.TooLong),
        (400, '{"error": {"details": {"error_code": "organization_on_hold"}}}', errors.KeyRefused),
        (400, '{"message": "This model\'s maximum context length is 8 tokens"}', errors.TooLong),
        (400, '{"error": {"type": "exceed_context_size_error"}}', errors.TooLong),
        (400, '{"error": {"message": "Your credit balance is too low"}}', errors.NoMoney),
        (401, "", errors.KeyRefused),
        (402, "", errors.NoMoney),
        (403, "<html>", errors.KeyRefused),
        (404, "", errors.NoSuchModel),
        (405, "", errors.NotTaken),
        (413, "", errors.TooLong),
        (429, '{"error": {"code": "insufficient_quota"}}', errors.NoMoney),
        (429, '{"error": {"code": "rate_limit_exceeded"}}', errors.Overloaded),
        (429, '{"error": {"details": {"error_code": "contract_spend_limit_reached"}}}', errors.NoMoney),
        (429, '{"error": {"details": {"error_code": "ramp_limit_exceeded"}}}', errors.Overloaded),
        (499, "", errors.Unreachable),
        (500, "", errors.ServerBroke),
        (501, "", errors.ServerBroke),
        (503, "", errors.Overloaded),
        (504, "", errors.ServerBroke),
        (520, "", errors.ServerBroke),
        (529, "", errors.Overloaded),
    ],
)
@pytest.mark.parametrize("package", [anthropic, openai])
def test_the_status_and_the_servers_words_decide(
    package: ModuleType, status: int, body: str, kind: type[errors.ProviderError]
) -> None:
    assert type(_answered(status, body, package)) is kind


def test_the_sentence_says_who_what_and_what_to_do() -> None:
    assert str(_answered(401, '{"error": {"message": "bad secret"}}')) == (
        "tested refuses the key: 401, bad [key]. Set KEY to one that may use m."
    )


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        (
            httpx2.RemoteProtocolError("Server disconnected without sending a response."),
            "gave no whole answer: Server disconnected without sending a response. See whether it runs, and",
        ),
        (
            httpx2.ConnectError("[Errno 111] Connection refused"),
            "does not answer: [Errno 111] Connection refused. See whether it runs, and",
        ),
    ],
)
def test_a_refused_connection_is_told_from_a_broken_answer_and_a_full_stop_stands_once(
    cause: Exception, said: str
) -> None:
    gone = openai.APIConnectionError(request=REQUEST)
    gone.__cause__ = cause

    found = failure(gone, SPEC)
    assert str(found) == f"tested {said} whether base_url is right."
    assert found.billed is (False if isinstance(cause, httpx2.ConnectError) else None)


def test_a_server_that_took_no_connection_in_time_did_not_answer_half() -> None:
    late = openai.APITimeoutError(request=REQUEST)
    late.__cause__ = httpx2.ConnectTimeout("timed out")

    assert type(failure(late, SPEC)) is errors.TooSlow
    assert "does not answer: timed out. See" in str(failure(late, SPEC))


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("2", 2.0),  # seconds
        ("0.5", 0.5),
        ("-3", 0.0),  # never below 0
        ("inf", None),
        ("nan", None),
        ("soon", None),
        ("", None),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90.0),  # a date, from NOW
        (format_datetime(NOW - timedelta(seconds=90), usegmt=True), 0.0),  # one that has passed
        ("Mon, 30 Nov 2026 12:00:30 -0000", 30.0),  # a date without a zone is UTC
        ("Mon, 99 Nov 2026 12:00:30 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(written: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": written}, NOW) == seconds
