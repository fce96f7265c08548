"""What can go wrong between us and a model's server, whatever SDK it was said by.

    ProviderError            the request brought no answer; the message says what to do
      ├─ Passing             may pass by itself: asked again after a wait, within the model's patience
      │    ├─ Unreachable    no connection, or it broke before the answer was whole
      │    ├─ TooSlow        no answer within the model's time limit
      │    ├─ Overloaded     429, 503, 529: `retry_after` seconds where the server said so
      │    └─ ServerBroke    any other 5xx, or an answer that is not the API's, a proxy's HTML page say
      ├─ Closed              stays so until a person acts: the model is paused for everybody
      │    ├─ KeyRefused     401, 403, or no key at all
      │    ├─ NoSuchModel    404
      │    └─ NoMoney        402, or a quota that is used up
      └─ NotTaken            the request itself is wrong: 400, 413, 422
           └─ TooLong        more context than the model takes

`billed` says whether the server may have charged for the request: None where that cannot be known.
"""

from __future__ import annotations


class ProviderError(Exception):
    outcome = "failed"
    billed: bool | None = False

    def __init__(self, message: str, *, raw: bytes = b"", request_id: str = "") -> None:
        super().__init__(message)
        self.raw = raw
        self.request_id = request_id


class Passing(ProviderError):
    """`retry_after` is in seconds; None where the server did not say."""

    retry_after: float | None = None


class Unreachable(Passing):
    outcome = "unreachable"
    billed = None


class TooSlow(Passing):
    outcome = "too_slow"
    billed = None


class Overloaded(Passing):
    outcome = "overloaded"

    def __init__(
        self, message: str, *, raw: bytes = b"", request_id: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message, raw=raw, request_id=request_id)
        self.retry_after = retry_after


class ServerBroke(Passing):
    outcome = "server_broke"
    billed = None


class Closed(ProviderError):
    outcome = "closed"


class KeyRefused(Closed):
    outcome = "key_refused"


class NoSuchModel(Closed):
    outcome = "no_such_model"


class NoMoney(Closed):
    outcome = "no_money"


class NotTaken(ProviderError):
    outcome = "not_taken"


class TooLong(NotTaken):
    outcome = "too_long"
