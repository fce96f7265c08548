"""What one request costs, in US dollars: by the model's own line in `models.toml`, else by genai-prices.

genai-prices carries its table in the package; nothing is fetched. Prices are tiered by the size of a request,
so each request is priced alone and never a sum. What is not known is None, never 0. Web searches are billed
apart from the tokens and are not in here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from urllib.parse import urlsplit

import genai_prices

from agents.models import MANUAL, ModelSpec, Price
from agents.providers.base import Usage

MILLION = Decimal(1_000_000)
BYTES_A_TOKEN = 3


@dataclass(frozen=True, slots=True)
class Priced:
    """`cost` is None where it cannot be known; `by` says where the price is from, or why there is none."""

    cost: Decimal | None
    by: str


def price(spec: ModelSpec, usage: Usage | None, served: str, at: datetime) -> Priced:
    """Of one request that was made at `at` and answered by the model that calls itself `served`."""
    if spec.provider == MANUAL:
        return Priced(Decimal(0), "a person")
    if usage is None:
        return Priced(None, "the server did not say how many tokens")
    if spec.price is not None:
        return Priced(_own(spec.price, usage), "models.toml")
    return _published(spec, usage, served or spec.model, at)


def most(
    spec: ModelSpec, input_tokens: int, output_tokens: int, at: datetime | None = None
) -> Decimal | None:
    """The most that a request with so many tokens can cost; None where no price is known.

    Nothing is taken to be read from a cache, and all to be written to one where that is the dearer.
    """
    plain = Usage(input=input_tokens, output=output_tokens)
    written = Usage(input=input_tokens, output=output_tokens, cache_written=input_tokens)
    moment = at or datetime.now().astimezone()
    costs = [price(spec, usage, "", moment).cost for usage in (plain, written)]
    known = [cost for cost in costs if cost is not None]
    return max(known) if known else None


def estimate_tokens(body: bytes) -> int:
    """An estimate of the tokens in a request's body: a third of its bytes, rounded up.

    English and code have three to four bytes a token, so this is more often too much than too little.
    """
    return math.ceil(len(body) / BYTES_A_TOKEN)


def _own(own: Price, usage: Usage) -> Decimal:
    fresh = max(0, usage.input - usage.cached - usage.cache_written)
    cached = own.input if own.cached is None else own.cached
    written = own.input if own.cache_written is None else own.cache_written
    total = (
        fresh * own.input + usage.cached * cached + usage.cache_written * written + usage.output * own.output
    )
    return total / MILLION


def _published(spec: ModelSpec, usage: Usage, model: str, at: datetime) -> Priced:
    """By address where there is one, so that a server of one's own is not priced as OpenAI is."""
    tokens = genai_prices.Usage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cached or None,
        cache_write_tokens=usage.cache_written or None,
    )
    host = urlsplit(spec.base_url).netloc.rsplit("@")[-1]
    unknown = Priced(None, f"no published price {f'at {host} ' if host else ''}of {model}")
    try:
        found = (
            genai_prices.calc_price(tokens, model, provider_api_url=spec.base_url, genai_request_timestamp=at)
            if spec.base_url
            else genai_prices.calc_price(tokens, model, provider_id=spec.provider, genai_request_timestamp=at)
        )
    except LookupError:
        return unknown
    except ValueError as problem:
        return Priced(None, f"the server's token counts cannot be right: {problem}")
    if found.model_price.input_mtok is None or found.model_price.output_mtok is None:
        return unknown
    return Priced(
        found.total_price, f"genai-prices {genai_prices.__version__}: {found.provider.id}/{found.model.id}"
    )
