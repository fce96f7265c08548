"""A real model behind each API: a plan review in its form, through both SDKs.

What it says means nothing. That a real server takes each of our requests, and that we read what it
answers, is what is shown.
"""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.modelled.forms import RubricAnswer
from agents.models import Can
from agents.providers.base import Said, Schema, Stop
from agents.providers.opening import open_provider
from tests.agents.providers.conftest import PATHS, question, spec_for

pytestmark = pytest.mark.localmodel

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "localmodel"
PLAN = "The plan inserts one pair: a second input file, joined by its key.\nIs it in one direction?"


def _short() -> dict[str, Any]:
    """The form of a plan review, with one verdict of few words, so that the model is soon done."""
    form = RubricAnswer.model_json_schema()
    form["properties"]["verdicts"] |= {"minItems": 1, "maxItems": 1}
    words = form["$defs"]["GivenVerdict"]["properties"]
    words["criterion"] = {"const": "one-direction"}
    words["explanation"] = {"enum": ["one direction", "more than one"]}
    words["quote"] = {"enum": ["inserts one pair", "a second input file"]}
    return form


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    schema = tmp_path_factory.mktemp("localmodel") / "schema.json"
    schema.write_text(json.dumps(_short()), encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [SCRIPT, str(port), schema], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert server.stdout is not None
        # Whatever the library prints before it; the end of the output is the end of the server.
        said = next((line for line in server.stdout if line.startswith("ready at ")), "")
        assert said, "the local model ended before it was ready"
        yield said.removeprefix("ready at ").strip()
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize("kind", PATHS)
def test_a_real_model_reviews_a_plan_in_its_form(kind: str, address: str) -> None:
    can = Can(temperature=True, cache=False)
    spec = spec_for(kind, address, "smollm2", key=None, timeout_seconds=280, temperature=0, can=can)
    asked = question(
        system="You review plans.",
        turns=(Said(PLAN),),
        max_output_tokens=200,
        schema=Schema("plan_review", _short()),
    )

    reply = open_provider(spec).reply(asked)

    assert reply.stop is Stop.END
    verdicts = RubricAnswer.model_validate_json(reply.text).verdicts
    assert {verdict.criterion for verdict in verdicts} == {"one-direction"}
    assert reply.usage is not None and reply.usage.input > 10 and reply.usage.output > 10
    assert reply.served == "smollm2"


def test_an_answer_that_was_cut_is_known_as_cut_by_each_api(address: str) -> None:
    for kind in PATHS:
        spec = spec_for(kind, address, "smollm2", key=None, timeout_seconds=280)
        assert open_provider(spec).reply(question(max_output_tokens=16)).stop is Stop.LENGTH
