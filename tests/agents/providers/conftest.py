"""The three real providers against the misbehaving server, and the scripted one beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import SecretStr

from agents.models import Can, ModelSpec
from agents.providers import errors
from agents.providers.base import Provider, Question, Reply, Said, Stop
from agents.providers.opening import open_provider
from agents.providers.scripted import Scripted, called, said
from tests.model_servers.misbehaving import Misbehaving, serving

PATHS = {"anthropic": "", "openai": "/v1", "openai-chat": "/v1"}
KEY = "key-for-tests"


@pytest.fixture
def server() -> Iterator[Misbehaving]:
    with serving() as running:
        yield running


def spec_for(kind: str, address: str, mode: str, **changes: Any) -> ModelSpec:
    if host := changes.pop("base_url_host", ""):
        address = f"https://{host}"
    fields = {"timeout_seconds": 5, "key": SecretStr(KEY), "key_variable": "TESTED_KEY"} | changes
    return ModelSpec(name="tested", provider=kind, model=mode, base_url=f"{address}{PATHS[kind]}", **fields)


def question(text: str = "What is to be done?", **changes: Any) -> Question:
    return Question(**({"system": "Be brief.", "turns": (Said(text),), "max_output_tokens": 1000} | changes))


Wired = Callable[..., Provider]


@pytest.fixture(params=list(PATHS))
def wired(request: pytest.FixtureRequest, server: Misbehaving) -> Wired:
    """Each of the three, on a mode of the server."""

    def opened(mode: str, **changes: Any) -> Provider:
        return open_provider(spec_for(request.param, server.address, mode, **changes))

    return opened


@dataclass(frozen=True)
class Subject:
    """A provider on a mode, and how many requests that mode had."""

    kind: str
    opened: Callable[[str], Provider]
    asked: Callable[[str], int]


def _scripts(good: str) -> Mapping[str, Sequence[Reply | errors.ProviderError]]:
    tools = (("read_file", {"path": "a.md"}), ("list_files", {}))
    return {
        "good": [said(good)],
        "tool": [called(*tools, text="Looking."), said(good)],
        "refusal": [said("I cannot help with that.", stop=Stop.REFUSAL)],
        "truncated": [said(good[: len(good) // 2], stop=Stop.LENGTH)],
        "truncated-tool": [called(("write_file", {}), stop=Stop.LENGTH)],
        "no-usage": [said(good, usage=None)],
        "empty": [said("")],
        "429-then-ok": [
            *[errors.Overloaded("slow down", raw=b"{}", retry_after=2.0)] * 2,
            said(good),
        ],
        "401": [errors.KeyRefused("no", raw=b"{}")],
    }


@pytest.fixture(params=[*PATHS, "scripted"])
def subject(request: pytest.FixtureRequest, server: Misbehaving) -> Subject:
    if request.param != "scripted":
        return Subject(
            request.param,
            lambda mode: open_provider(spec_for(request.param, server.address, mode)),
            lambda mode: server.asked[mode],
        )
    scripts = _scripts(server.good)
    playing: dict[str, Scripted] = {}

    def opened(mode: str) -> Provider:
        return playing.setdefault(mode, Scripted(scripts[mode]))

    return Subject("scripted", opened, lambda mode: len(playing[mode].asked))


ALL_CAN = Can(temperature=True, schema=True, tools=True, thinking=True, web_search=True, cache=True)
