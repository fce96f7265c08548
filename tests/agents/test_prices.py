from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from agents.models import ModelSpec, Price
from agents.prices import Priced, estimate_tokens, most, price
from agents.providers.base import Usage

AT = datetime(2026, 11, 30, tzinfo=UTC)
SONNET = ModelSpec(name="sonnet", provider="anthropic", model="claude-sonnet-4-5")
LOCAL = ModelSpec(name="local", provider="openai-chat", model="gpt-5", base_url="http://127.0.0.1:8080/v1")
OWN = Price(input=Decimal(2), output=Decimal(8), cached=Decimal("0.5"), cache_written=Decimal(3))


def _with(spec: ModelSpec, own: Price) -> ModelSpec:
    return spec.model_copy(update={"price": own})


def test_ones_own_price_comes_first_and_prices_each_kind_of_token() -> None:
    usage = Usage(input=1_000_000, output=100_000, cached=600_000, cache_written=200_000)

    # 0.2 M fresh at 2, 0.6 M cached at 0.5, 0.2 M written at 3, 0.1 M answered at 8
    assert price(_with(SONNET, OWN), usage, "x", AT) == Priced(Decimal("2.1"), "models.toml")


def test_cached_input_costs_as_input_unless_said_otherwise() -> None:
    own = Price(input=Decimal(2), output=Decimal(8))

    assert price(_with(LOCAL, own), Usage(1_000_000, 0, cached=500_000), "", AT).cost == Decimal(2)


def test_a_price_of_nothing_is_a_price() -> None:
    free = Price(input=Decimal(0), output=Decimal(0))

    assert price(_with(LOCAL, free), Usage(1000, 10), "", AT).cost == 0


def test_a_published_price_is_of_the_model_that_answered() -> None:
    priced = price(SONNET, Usage(1000, 10), "claude-haiku-4-5", AT)

    # $1 and $5 a million
    assert priced.cost == Decimal("0.00105")
    assert priced.by.endswith("anthropic/claude-haiku-4-5")


def test_cached_tokens_are_cheaper_and_written_ones_dearer() -> None:
    plain, cached, written = (
        price(SONNET, usage, "", AT).cost
        for usage in (Usage(1000, 0), Usage(1000, 0, cached=1000), Usage(1000, 0, cache_written=1000))
    )

    # $3, $0.3 and $3.75 a million
    assert (plain, cached, written) == (Decimal("0.003"), Decimal("0.0003"), Decimal("0.00375"))


def test_each_request_is_in_its_own_tier() -> None:
    one, sum_of_two = (price(SONNET, Usage(tokens, 0), "", AT).cost for tokens in (150_000, 300_000))

    # above 200,000 tokens all of them cost $6 a million, below it $3
    assert one == Decimal("0.45")
    assert sum_of_two == Decimal("1.8")


@pytest.mark.parametrize(
    ("spec", "usage", "served", "why"),
    [
        (SONNET, None, "", "how many tokens"),
        (SONNET, Usage(1, 1), "qwen3.6", "no published price of qwen3.6"),
        (LOCAL, Usage(1, 1), "gpt-5", "no published price at 127.0.0.1:8080 of gpt-5"),
        (SONNET, Usage(10, 1, cached=20), "", "cannot be right"),
    ],
)
def test_what_cannot_be_known_is_unknown_and_never_nothing(
    spec: ModelSpec, usage: Usage | None, served: str, why: str
) -> None:
    priced = price(spec, usage, served, AT)

    assert priced.cost is None
    assert why in priced.by


def test_a_person_costs_nothing_here() -> None:
    person = ModelSpec(name="manual", provider="manual", model="a person")

    assert price(person, None, "", AT) == Priced(Decimal(0), "a person")


def test_a_reservation_takes_the_dearest_way_to_read_the_input() -> None:
    # 1000 tokens written to the cache at $3.75 a million, 100 answered at $15
    assert most(SONNET, 1000, 100, AT) == Decimal("0.00525")
    assert most(_with(SONNET, OWN), 1000, 100, AT) == Decimal("0.0038")
    assert most(LOCAL, 1000, 100, AT) is None


@pytest.mark.parametrize(("size", "tokens"), [(0, 0), (1, 1), (3, 1), (4, 2)])
def test_tokens_are_estimated_as_a_third_of_the_bytes_rounded_up(size: int, tokens: int) -> None:
    assert estimate_tokens(b"x" * size) == tokens
