"""From a line of `models.toml` to the provider that speaks with it."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping

import httpx2

from agents.models import ModelsError, ModelSpec
from agents.providers.base import Provider

KINDS: Mapping[str, str] = {
    "anthropic": "agents.providers.anthropic_messages:AnthropicMessages",
    "openai": "agents.providers.openai_responses:OpenAIResponses",
    "openai-chat": "agents.providers.openai_chat:OpenAIChat",
}
"""Loaded when the first model of the kind is opened: an SDK takes a second or two to load."""


def open_provider(spec: ModelSpec) -> Provider:
    """The provider of a model that is reached over HTTP; makes no request, and a missing key is found later.

    Raises `ModelsError` for a model that is not reached so, and for an address that is none.
    """
    if spec.provider not in KINDS:
        raise ModelsError(f"models.{spec.name}: {spec.provider} is no server that can be asked")
    kind = pkgutil.resolve_name(KINDS[spec.provider])
    try:
        provider: Provider = kind(spec)
    except (httpx2.InvalidURL, ValueError) as problem:
        where = f"models.{spec.name}.base_url"
        raise ModelsError(f"{where}: {spec.base_url!r} is no address: {problem}") from problem
    return provider
