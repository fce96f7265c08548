"""The doctor: one sentence for each thing that an installation needs, whatever state it is in."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agents.models import MANUAL, Book, ModelSpec, Price
from lineages.library.calls import AgentCall, ModelPause
from lineages.management.commands import doctor
from tests.lineages.commands import Said, shell
from tests.lineages.test_cli import run
from tests.model_servers.misbehaving import Misbehaving, serving

__all__ = ["run"]  # the fixture

pytestmark = pytest.mark.django_db(transaction=True)

SUBJECTS = ["python", "database", "broker", "sandbox", "docker", "disk"]
NOWHERE = "unix:///nowhere/docker.sock"


def states(said: Said) -> dict[str, str]:
    return {finding["subject"]: finding["state"] for finding in said.json["findings"]}


def says(said: Said, subject: str) -> str:
    return next(finding["says"] for finding in said.json["findings"] if finding["subject"] == subject)


def fresh(folder: Path, **environment: str) -> Said:
    """The doctor on a machine where nothing was set up, in the product's own settings."""
    return shell(
        "doctor",
        "--json",
        DJANGO_SETTINGS_MODULE="envevo_site.settings",
        **{
            "ENVEVO_VAR": str(folder),
            "ENVEVO_DATABASE_URL": f"sqlite:///{folder}/none.sqlite3",
            "ENVEVO_REDIS_URL": "",
            "ENVEVO_SANDBOX": "auto",
            "DOCKER_HOST": NOWHERE,
            **environment,
        },
    )


def test_every_part_is_looked_at_in_a_sentence(run: Any) -> None:
    said = run("doctor", "--json")

    assert [finding["subject"] for finding in said.json["findings"]] == SUBJECTS
    assert all(finding.keys() == {"subject", "state", "says"} for finding in said.json["findings"])
    assert all(finding["says"] for finding in said.json["findings"])
    assert said.code == (3 if "problem" in states(said).values() else 0)
    assert states(said)["database"] == "ok"


def test_people_read_a_line_for_each(run: Any) -> None:
    lines = run("doctor").out.splitlines()

    assert [line.split()[1] for line in lines] == SUBJECTS
    assert {line.split()[0] for line in lines} <= {"ok", "note", "problem"}


def test_bubblewrap_is_enough_but_its_evidence_is_provisional(run: Any) -> None:
    said = run("doctor", "--json")

    assert states(said)["sandbox"] == "note"
    assert "provisional" in says(said, "sandbox")


def test_a_fresh_machine_is_told_to_migrate_and_to_nothing_else(tmp_path: Path) -> None:
    said = fresh(tmp_path)

    assert "Traceback" not in said.err
    assert said.code == 3
    assert [subject for subject, state in states(said).items() if state == "problem"] == ["database"]
    assert states(said)["broker"] == states(said)["sandbox"] == states(said)["docker"] == "note"
    assert "manage.py migrate" in says(said, "database")
    assert "embedded Redis runs while" in says(said, "broker")


def test_a_machine_with_everything_broken_is_told_all_of_it_at_once(tmp_path: Path) -> None:
    said = fresh(
        tmp_path,
        ENVEVO_DATABASE_URL="postgresql://nobody:x@127.0.0.1:1/none",
        ENVEVO_REDIS_URL="redis://127.0.0.1:1/0",
        ENVEVO_SANDBOX="docker",
    )

    assert "Traceback" not in said.err
    assert said.code == 3
    assert {subject for subject, state in states(said).items() if state == "problem"} == {
        "database", "broker", "sandbox",
    }  # fmt: skip
    assert "ENVEVO_DATABASE_URL" in says(said, "database")
    assert "ENVEVO_REDIS_URL" in says(said, "broker")


def test_a_full_disk_is_a_problem_that_says_how_much_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")._replace(free=2**30)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)

    finding = doctor.disk()

    assert (finding.state, finding.says.split()[:2]) == ("problem", ["1.0", "GiB"])
    assert "ENVEVO_VAR" in finding.says


@pytest.mark.docker
def test_an_engine_that_answers_is_seen(run: Any) -> None:
    assert states(run("doctor", "--json"))["docker"] == "ok"


@pytest.fixture
def models(settings: Any) -> Iterator[Misbehaving]:
    """Four models of one server: one that answers, one whose key is refused, one without a key, a person."""
    with serving(good={"ready": True}) as server:
        asked = {"provider": "openai-chat", "base_url": f"{server.address}/v1"}
        settings.MODELS = Book(
            models={
                "fine": ModelSpec(
                    name="fine", model="good", price=Price(input=Decimal(1), output=Decimal(1)), **asked
                ),
                "locked": ModelSpec(name="locked", model="401", **asked),
                "keyless": ModelSpec(name="keyless", provider="openai", model="gpt", key_variable="NO_KEY"),
                MANUAL: ModelSpec(name=MANUAL, provider="manual", model="a person"),
            }
        )
        yield server


def test_each_model_is_asked_once_and_what_is_wrong_is_a_sentence(run: Any, models: Misbehaving) -> None:
    said = run("doctor", "--json")

    assert {name: state for name, state in states(said).items() if name.startswith("model ")} == {
        "model fine": "ok",
        "model keyless": "problem",
        "model locked": "problem",
    }
    assert "NO_KEY" in says(said, "model keyless")
    assert dict(models.asked) == {"good": 1, "401": 1}
    assert said.code == 3


def test_what_the_doctor_asks_stands_in_the_ledger_with_its_price(run: Any, models: Misbehaving) -> None:
    run("doctor")

    rows = {row.author: row for row in AgentCall.objects.all()}
    assert {name: row.outcome for name, row in rows.items()} == {
        "fine": "answered",
        "keyless": "key_refused",
        "locked": "key_refused",
    }
    assert rows["fine"].cost and rows["fine"].role == "doctor"
    assert not ModelPause.objects.exists(), "nobody waits for a model because the doctor looked at it"


def test_a_model_that_answers_the_doctor_is_asked_again_by_everybody(run: Any, models: Misbehaving) -> None:
    for name in ("fine", "locked"):
        ModelPause.objects.create(model=name, reason="its key was refused")

    run("doctor")

    assert [pause.model for pause in ModelPause.objects.all()] == ["locked"]


def test_models_whose_work_may_not_run_here_are_a_problem_said_before_any_is_used(
    run: Any, models: Misbehaving, settings: Any
) -> None:
    settings.UNTRUSTED_IN_BUBBLEWRAP = False
    assert "ENVEVO_UNTRUSTED_IN_BUBBLEWRAP=true" in says(run("doctor", "--json"), "models")

    settings.UNTRUSTED_IN_BUBBLEWRAP = True
    assert "models" not in states(run("doctor", "--json"))


def test_a_person_alone_is_no_model_whose_work_could_be_refused(run: Any, settings: Any) -> None:
    settings.UNTRUSTED_IN_BUBBLEWRAP = False
    person = ModelSpec(name=MANUAL, provider="manual", model="a person")
    settings.MODELS = Book(models={MANUAL: person})

    assert [finding["subject"] for finding in run("doctor", "--json").json["findings"]] == SUBJECTS
