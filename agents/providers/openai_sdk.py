"""The OpenAI SDK: address, key, exceptions. The bodies are those of the two APIs beside this file."""

from __future__ import annotations

import httpx2
from openai import OpenAI, OpenAIError

from agents.models import ModelSpec
from agents.providers.wire import HEADERS, Received, exchange, http_client, key_of

HOME = "https://api.openai.com/v1"


class OpenAIServer:
    """OpenAI, or a server that speaks its APIs."""

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._client = OpenAI(
            api_key=key_of(spec),
            base_url=spec.base_url or HOME,
            timeout=spec.timeout_seconds,
            max_retries=0,
            default_headers=HEADERS,
            http_client=http_client(spec),
        )

    def post(self, path: str, content: bytes) -> Received:
        """Raises `ProviderError`."""
        return exchange(
            lambda: self._client.post(path, cast_to=httpx2.Response, content=content),
            self._spec,
            foreign=OpenAIError,
            id_header="x-request-id",
        )
