"""The models file: what is wrong with one is said with its place, before anything is asked."""

from __future__ import annotations

import pytest

from agents.models import ModelsError, book_of

GOOD = '[models.opus]\nprovider = "anthropic"\nmodel = "o"\n'
LOCAL = '[models.local]\nprovider = "openai-chat"\nmodel = "l"\nbase_url = "http://127.0.0.1:1/v1/"\n'

WRONG = {
    "no toml": ("[models", "models.toml: "),
    "no provider": ('[models.a]\nmodel = "x"\n', "models.a.provider: Field required"),
    "another provider": ('[models.a]\nprovider = "gemini"\n', "models.a.provider: Input should be"),
    "no model": ('[models.a]\nprovider = "openai"\n', "models.a.model is missing"),
    "no address": ('[models.a]\nprovider = "openai-chat"\nmodel = "x"\n', "models.a.base_url is missing"),
    "an address that is none": (GOOD + 'base_url = "ftp://x"\n', "must begin with http:// or https://"),
    "a word too many": (GOOD + "temprature = 1\n", "models.opus.temprature: Extra inputs"),
    "a key in the file": (GOOD + "[models.opus.can]\njson = true\n", "models.opus.can.json"),
    "a key beside its variable": (GOOD + 'key = "sk-1"\n', "models.opus.key: a key never stands in the file"),
    "another name than its table's": (GOOD + 'name = "big"\n', "models.opus.name: a model has the name of"),
    "a person as a table": ('[models.manual]\nprovider = "manual"\n', "models.manual is the person who"),
    "no room for a question": (GOOD + "context_tokens = 32_000\n", "leaves no room for a question"),
    "patience without an end": (GOOD + "patience_seconds = inf\n", "models.opus.patience_seconds"),
    "a temperature that is no number": (GOOD + "temperature = nan\n", "models.opus.temperature"),
    "a price below nothing": (GOOD + "price = { input = -1, output = 1 }\n", "models.opus.price.input"),
    "a price without an end": (GOOD + "price = { input = inf, output = 1 }\n", "models.opus.price.input"),
    "a reserved name": (GOOD.replace("opus", "offline"), "offline is the author without a model"),
    "a name for two": (GOOD + '[teams.opus]\ndefault = "opus"\n', "opus is a model and a team"),
    "a player who is not there": (
        GOOD + '[teams.t]\ndefault = "opus"\nsolver = "gpt"\n',
        "teams.t.solver is 'gpt', which is no model here",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_models_file_is_said_with_its_place(name: str) -> None:
    text, told = WRONG[name]
    with pytest.raises(ModelsError) as raised:
        book_of(text, lambda _: None)
    assert str(raised.value).startswith("models.toml: ")
    assert told in str(raised.value)
    assert "sk-1" not in str(raised.value)


def test_a_book_has_its_models_a_person_and_a_team_of_each_single_model() -> None:
    book = book_of(GOOD + LOCAL, lambda _: None)
    assert set(book.models) == {"opus", "local", "manual"}
    assert book.model("local").base_url == "http://127.0.0.1:1/v1"
    team = book.team("local")
    assert team is not None and team.default == "local"
    assert book.team("nobody") is None


def test_a_key_is_in_no_text_of_its_model() -> None:
    text = GOOD + 'key_variable = "K"\n'
    spec = book_of(text, {"K": "sk-secret"}.get).model("opus")
    assert spec.key is not None and spec.key.get_secret_value() == "sk-secret"
    assert "sk-secret" not in f"{spec!r} {spec} {spec.model_dump_json()}"
