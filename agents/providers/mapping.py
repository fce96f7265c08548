"""Which of our errors an exception of an SDK is. The only place that knows.

The rules go by the class's name, so that no SDK is imported here and one table serves both; a test walks
all exception classes of the two packages and fails for one without a rule. Where an exception carries a
status, the status and the server's own code say more than the class does.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import httpx2

from agents.models import ModelSpec
from agents.providers.base import Json
from agents.providers.errors import (
    KeyRefused,
    NoMoney,
    NoSuchModel,
    NotTaken,
    Overloaded,
    ProviderError,
    ServerBroke,
    TooLong,
    TooSlow,
    Unreachable,
)

SHOWN = 300
"""Characters of the server's words that a message repeats; all of them are kept in `raw`."""

RULES: Mapping[str, type[ProviderError]] = {
    # No answer.
    "APIConnectionError": Unreachable,
    "APITimeoutError": TooSlow,
    # An answer with a status.
    "APIStatusError": NotTaken,
    "BadRequestError": NotTaken,
    "AuthenticationError": KeyRefused,
    "OAuthError": KeyRefused,
    "PaymentRequiredError": NoMoney,
    "PermissionDeniedError": KeyRefused,
    "NotFoundError": NoSuchModel,
    "RequestTimeoutError": ServerBroke,
    "ConflictError": ServerBroke,
    "PreconditionFailedError": NotTaken,
    "ContentTooLargeError": TooLong,
    "UnprocessableEntityError": NotTaken,
    "RateLimitError": Overloaded,
    "RequestHeaderFieldsTooLargeError": NotTaken,
    "ClientClosedRequestError": Unreachable,
    "InternalServerError": ServerBroke,
    "HTTPNotImplementedError": ServerBroke,
    "ServiceUnavailableError": Overloaded,
    "GatewayTimeoutError": ServerBroke,
    "OverloadedError": Overloaded,
    # An answer that is not the API's.
    "APIResponseValidationError": ServerBroke,
    "APIError": ServerBroke,
    "StreamAlreadyConsumed": ServerBroke,
    "RetryableError": ServerBroke,
    # Of the SDKs' other ways to find a key, none of which we take.
    "CredentialsError": KeyRefused,
    "IdentityTokenFileError": KeyRefused,
    "WorkloadIdentityError": KeyRefused,
    "SubjectTokenProviderError": KeyRefused,
    "MutuallyExclusiveAuthError": KeyRefused,
    # Of their helpers, none of which we use: were one to come, the request would be ours to mend.
    "APIWebhookValidationError": NotTaken,
    "APIRemovedInV1": NotTaken,
    "AgentFilePreparationError": NotTaken,
    "AgentFileStagingError": NotTaken,
    "AgentOutputParseError": NotTaken,
    "AgentTurnResultError": NotTaken,
    "ContentFilterFinishReasonError": NotTaken,
    "LengthFinishReasonError": NotTaken,
    "MissingDependencyError": NotTaken,
    "AsyncOnSyncToolsetError": NotTaken,
    "BrowserStateError": NotTaken,
    "NestedCallError": NotTaken,
    "SyncOnAsyncToolsetError": NotTaken,
    "ToolsetClosedError": NotTaken,
    "ToolsetConfigError": NotTaken,
    "ToolsetContractError": NotTaken,
    "ToolsetUsageError": NotTaken,
    "ToolsetsFixedError": NotTaken,
    "WebSocketConnectionClosedError": NotTaken,
    "WebSocketQueueFullError": NotTaken,
    "_AmbiguousModuleClientUsageError": NotTaken,
    # The roots.
    "AnthropicError": NotTaken,
    "OpenAIError": NotTaken,
}

STATUS: Mapping[int, type[ProviderError]] = {
    401: KeyRefused,
    402: NoMoney,
    403: KeyRefused,
    404: NoSuchModel,
    408: ServerBroke,
    409: ServerBroke,
    413: TooLong,
    429: Overloaded,
    499: Unreachable,
    503: Overloaded,
    529: Overloaded,
}
"""Any other 5xx is `ServerBroke`, any other status `NotTaken`."""

CODES: Mapping[str, type[ProviderError]] = {
    # A 429 that no waiting cures.
    "insufficient_quota": NoMoney,
    "billing_hard_limit_reached": NoMoney,
    "billing_not_active": NoMoney,
    "contract_spend_limit_reached": NoMoney,
    "enforced_spend_limit_reached": NoMoney,
    "linked_organization_billing_unavailable": NoMoney,
    "linked_organization_spend_limit_reached": NoMoney,
    "billing_error": NoMoney,
    # One that it does.
    "ramp_limit_exceeded": Overloaded,
    "compaction_unavailable": Overloaded,
    "authorization_check_unavailable": Overloaded,
    "cmek_context_unavailable": Overloaded,
    "cmek_key_unreachable": Overloaded,
    "change_outcome_unknown": ServerBroke,
    "registration_pending": ServerBroke,
    "workspace_created_incomplete": ServerBroke,
    # A 400 that holds for every request of this key until a person acts.
    "organization_on_hold": KeyRefused,
    "claude_code_key_creator_not_member": KeyRefused,
    "cmek_key_disabled": KeyRefused,
    "cmek_key_network_blocked": KeyRefused,
    # A 400 that says nothing about the request.
    "request_body_timeout": Unreachable,
    "context_length_exceeded": TooLong,
    "exceed_context_size_error": TooLong,
}
"""By `code`, `type` or `details.error_code` of the server's error; what is not here goes by the status."""

NO_MONEY = ("credit balance is too low",)
TOO_LONG = (
    "prompt is too long",  # Anthropic
    "exceed context limit",  # Anthropic, with the room for the answer
    "maximum context length",  # OpenAI, vLLM, SGLang
    "available context size",  # llama.cpp
)
"""Said in words only, in a 400."""

ADVICE: Mapping[type[ProviderError], str] = {
    Unreachable: "gave no whole answer: {words}. See whether it runs, and whether base_url is right",
    TooSlow: "gave no whole answer within {spec.timeout_seconds:g} s; timeout_seconds in models.{spec.name} "
    "allows more",
    Overloaded: "takes no more requests for now: {words}",
    ServerBroke: "answered with a fault of its own: {words}",
    KeyRefused: "refuses the key: {words}. Set {key} to one that may use {spec.model}",
    NoSuchModel: "does not know what was asked for: {words}. Correct model ({spec.model}) or base_url in "
    "models.{spec.name}",
    NoMoney: "says that there is no money or quota left: {words}. Top it up, or use another model",
    NotTaken: "does not take the request: {words}. See what models.{spec.name}.can and its limits say",
    TooLong: "says that the request is too long: {words}. context_tokens in models.{spec.name} is "
    "{spec.context_tokens}; lower it if the model takes less",
}


NOT_REACHED = "does not answer: {words}. See whether it runs, and whether base_url is right"
"""Where there was no connection at all, in place of the advice."""


def failure(error: Exception, spec: ModelSpec, *, now: datetime | None = None) -> ProviderError:
    """The error of ours that an SDK's exception is, with what to do. `now` is when it came."""
    response = getattr(error, "response", None)
    if not isinstance(response, httpx2.Response):
        kind = _by_class(error)
        if type(error.__cause__).__name__ == "EndlessBody":
            kind = ServerBroke
        if _not_reached(error):
            never_left = kind(_sentence(NOT_REACHED, spec, _reason(error)))
            never_left.billed = False  # nobody can have charged for what nobody was given
            return never_left
        return kind(_sentence(ADVICE[kind], spec, _reason(error)))
    raw = _without_key(response.content, spec)
    said = _error_of(raw)
    kind = _by_status(response.status_code, said, _by_class(error))
    words = _message(said).encode("utf-8", "replace") or raw
    sentence = _sentence(ADVICE[kind], spec, f"{response.status_code}, {show(words)}")
    request_id = response.headers.get("request-id") or response.headers.get("x-request-id") or ""
    if issubclass(kind, Overloaded):
        wait = retry_after(response.headers, now or datetime.now(UTC))
        return kind(sentence, raw=raw, request_id=request_id, retry_after=wait)
    return kind(sentence, raw=raw, request_id=request_id)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait, at least 0; None where the server names neither seconds nor a date."""
    written = headers.get("retry-after", "").strip()
    try:
        seconds = float(written)
    except ValueError:
        try:
            seconds = (_aware(parsedate_to_datetime(written)) - now).total_seconds()
        except ValueError:
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def place(spec: ModelSpec) -> str:
    """How a message begins: the model's name here and the host that was asked."""
    host = urlsplit(spec.base_url).netloc.rsplit("@")[-1]
    return f"{spec.name or spec.model}{f' at {host}' if host else ''}"


def show(raw: bytes) -> str:
    """The beginning of a body, for a message."""
    text = " ".join(raw.decode("utf-8", "replace").split())
    return (text[:SHOWN] + " …" if len(text) > SHOWN else text) or "nothing"


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _by_class(error: Exception) -> type[ProviderError]:
    for ancestor in type(error).__mro__:
        if ancestor.__name__ in RULES:
            return RULES[ancestor.__name__]
    return NotTaken


def _by_status(status: int, error: Json, by_class: type[ProviderError]) -> type[ProviderError]:
    for code in _codes(error):
        if code in CODES:
            return CODES[code]
    kind = STATUS.get(status)
    if kind is None:
        kind = ServerBroke if status >= 500 or by_class is ServerBroke else NotTaken
    if kind is NotTaken:
        words = _message(error).lower()
        if any(sign in words for sign in NO_MONEY):
            return NoMoney
        if any(sign in words for sign in TOO_LONG):
            return TooLong
    return kind


def _error_of(raw: bytes) -> Json:
    """The error in the body: an object, a text, or None."""
    try:
        body: Json = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return body.get("error", body) if isinstance(body, dict) else None


def _codes(error: Json) -> list[str]:
    if not isinstance(error, dict):
        return []
    details = error.get("details")
    finest = details.get("error_code") if isinstance(details, dict) else None
    return [code for code in (finest, error.get("code"), error.get("type")) if isinstance(code, str)]


def _message(error: Json) -> str:
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else ""


def _sentence(advice: str, spec: ModelSpec, words: str) -> str:
    """One full stop ends each sentence, whether the words come with their own or not."""
    key = spec.key_variable or "the key variable"
    return f"{place(spec)} {advice.format(spec=spec, words=words.rstrip('. '), key=key)}."


def _not_reached(error: Exception) -> bool:
    return isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError)


def _reason(error: Exception) -> str:
    cause = error.__cause__
    return str(cause) or type(cause).__name__ if cause else str(error)


def _without_key(raw: bytes, spec: ModelSpec) -> bytes:
    """Some servers repeat the key that they refuse; what is stored must not."""
    return raw.replace(spec.key.get_secret_value().encode(), b"[key]") if spec.key else raw
