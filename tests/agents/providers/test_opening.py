from __future__ import annotations

import pytest

from agents.models import Can, ModelsError, ModelSpec
from agents.providers import errors
from agents.providers.base import Stop
from agents.providers.opening import open_provider
from agents.providers.scripted import Scripted, ScriptEnded, called, said
from agents.providers.tiny import tiny_call
from tests.agents.providers.conftest import Wired, question, spec_for
from tests.model_servers.misbehaving import serving

SPEC = ModelSpec(name="tested", provider="openai", model="m")
TOOLS_ONLY = SPEC.model_copy(update={"can": Can(schema=False)})
READY = '{"ready": true}'


def test_a_person_is_no_server() -> None:
    with pytest.raises(ModelsError, match="manual is no server"):
        open_provider(ModelSpec(name="manual", provider="manual"))


@pytest.mark.parametrize("kind", ["anthropic", "openai", "openai-chat"])
def test_an_address_that_is_none_is_named(kind: str) -> None:
    spec = ModelSpec(name="tested", provider=kind, model="m", base_url="http://[half")

    with pytest.raises(ModelsError, match=r"models.tested.base_url: 'http://\[half' is no address"):
        open_provider(spec)


def test_an_anthropic_address_may_end_in_its_version() -> None:
    with serving() as server:
        provider = open_provider(spec_for("anthropic", f"{server.address}/v1", "good"))

        assert provider.reply(question()).text == server.good


def test_a_home_without_a_key_says_which_variable_to_set() -> None:
    spec = ModelSpec(name="opus", provider="anthropic", model="m", key_variable="ANTHROPIC_API_KEY")
    with pytest.raises(errors.KeyRefused, match="opus wants a key, and there is none: set ANTHROPIC_API_KEY"):
        open_provider(spec).reply(question())

    with pytest.raises(errors.KeyRefused, match=r"models\.opus\.key_variable"):
        open_provider(spec.model_copy(update={"key_variable": ""})).reply(question())


def test_a_script_ends() -> None:
    provider = Scripted([said("one")])
    provider.reply(question())

    with pytest.raises(ScriptEnded):
        provider.reply(question())


def test_a_model_that_answers_as_it_should_is_well() -> None:
    assert tiny_call(Scripted([said(READY)]), SPEC) == ""
    assert tiny_call(Scripted([called(("ready", {"ready": True}))]), TOOLS_ONLY) == ""


def test_the_tiny_call_is_one_and_asks_for_what_the_model_can() -> None:
    with_schema, with_tools = Scripted([said(READY)]), Scripted([said("yes")])
    tiny_call(with_schema, SPEC)
    tiny_call(with_tools, TOOLS_ONLY)

    assert [(bool(one.schema), bool(one.tools)) for one in with_schema.asked] == [(True, False)]
    assert [(bool(one.schema), bool(one.tools)) for one in with_tools.asked] == [(False, True)]


@pytest.mark.parametrize(
    ("reply", "spec", "words"),
    [
        (said("yes"), SPEC, "set models.tested.can.schema = false"),
        (said("yes"), TOOLS_ONLY, "set models.tested.can.tools = false"),
        (said(READY, stop=Stop.LENGTH), SPEC, "lower models.tested.effort"),
        (said("", stop=Stop.REFUSAL), SPEC, "use another model"),
        (errors.KeyRefused("set KEY"), SPEC, "set KEY"),
        (errors.NotTaken("temperature is not supported"), SPEC, "can.temperature = false"),
        (errors.NotTaken("Unknown field: response_format"), SPEC, "can.schema = false"),
    ],
)
def test_what_is_wrong_with_a_model_is_a_sentence(reply: object, spec: ModelSpec, words: str) -> None:
    assert words in tiny_call(Scripted([reply]), spec)  # type: ignore[list-item]


def test_a_server_that_refuses_a_parameter_says_which_line_to_change(wired: Wired) -> None:
    can = Can(temperature=True)
    spec = SPEC.model_copy(update={"can": can})

    said_wrong = tiny_call(wired("strict-params", temperature=0.7, can=can), spec)

    assert "temperature is not supported with this model" in said_wrong
    assert said_wrong.endswith("Perhaps can.temperature = false.")
