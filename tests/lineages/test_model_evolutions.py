"""The whole `evolve` command with models as its author: three generations in Docker, every request a row.

The model is the recorded one on loopback, reached through the real SDKs; the children pass the gates of the
standard profile. The first candidate of the first generation is broken, so a repair is always among it.
"""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from django.db.models import F, Sum

from lineages.gates import profile
from lineages.growth.models import Candidate, Evolution
from lineages.library.calls import AgentCall, Conversation, ToolRun
from lineages.library.models import Audit, Environment, GateResult
from sandboxes.bundle import write_bundle
from tests.agents.tasks import SEPARATE, regions
from tests.lineages.commands import Said, in_a_shell
from tests.model_servers.recorded import KINDS, RecordedServer, models_file, recorded
from tests.workers import ROOT

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.docker,
    pytest.mark.timeout(600),
]

PATIENCE_SECONDS = 500


def planted(folder: Path) -> Path:
    """A small seed as a folder."""
    write_bundle(regions(SEPARATE), "regions", folder / "regions", "dir")
    return folder / "regions"


def manage(*words: object, models: Path) -> Said:
    """`python manage.py` in a process of its own that grows in Docker."""
    done = subprocess.run(
        [sys.executable, "manage.py", *map(str, words)],
        cwd=ROOT,
        env=in_a_shell(ENVEVO_SANDBOX="docker", ENVEVO_MODELS=str(models)),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    return Said(done.returncode, done.stdout, done.stderr)


def evolve(seed: Path, kind: str, server: RecordedServer, folder: Path, *words: object) -> Said:
    """What `evolve --author KIND` says of that seed; the models file is put into `folder`."""
    models = models_file(folder / "models.toml", server)
    assert manage("import_tasks", seed, models=models).code == 0
    return manage("evolve", f"{seed.name}/g0", "--author", kind, "--json", *words, models=models)


def test_three_generations_are_grown_by_a_model_and_every_request_has_its_row(tmp_path: Path) -> None:
    seed = planted(tmp_path)

    with recorded(overloaded=9) as server:
        said = evolve(seed, "anthropic", server, tmp_path, "--generations", 3)

    assert said.code == 0, said.err
    assert [each["generation"] for each in said.json["generations"]] == [1, 2, 3]
    assert {each["direction"] for each in said.json["generations"]} == {"length"}
    assert_all_gates_passed("standard", 3)
    assert_the_ledger_is_whole(server)
    repaired = Candidate.objects.filter(n=1)
    assert [each.attempt.evolution.parent.generation for each in repaired] == [0]


@pytest.mark.parametrize("kind", ["openai", pytest.param("openai-chat", marks=pytest.mark.soak)])
def test_a_generation_is_grown_through_the_other_apis_too(kind: str, tmp_path: Path) -> None:
    """The child is the same whoever carries the words, so the cheapest gates with a judge are enough."""
    seed = planted(tmp_path)

    with recorded() as server:
        said = evolve(seed, kind, server, tmp_path, "--profile", "paper")

    assert said.code == 0, said.err
    assert_all_gates_passed("paper", 1)
    assert_the_ledger_is_whole(server)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_three_generations_of_a_bundled_seed_are_grown_through_each_api(kind: str, tmp_path: Path) -> None:
    with recorded(overloaded=9) as server:
        said = evolve(ROOT / "seeds" / "log-forensics", kind, server, tmp_path, "--generations", 3)

    assert said.code == 0, said.err
    assert_all_gates_passed("standard", 3)
    assert_the_ledger_is_whole(server)


def assert_all_gates_passed(gates: str, generations: int) -> None:
    """Of that profile, in Docker, for each child."""
    wanted = {gate.name for gate in profile(gates)}
    children = Environment.objects.filter(generation__gte=1).order_by("generation")
    assert [child.generation for child in children] == list(range(1, generations + 1))
    for child in children:
        assert not child.provisional
        audit = Audit.objects.filter(snapshot=child.snapshot).latest("pk")
        results = GateResult.objects.filter(audit=audit)
        assert {each.gate for each in results} == wanted
        assert {each.outcome for each in results} <= {"passed", "not_applicable"}
    assert not Evolution.objects.exclude(status="accepted").exists()


def assert_the_ledger_is_whole(server: RecordedServer) -> None:
    """A row for each request that the server saw, with what it cost; nothing left open."""
    calls = AgentCall.objects.filter(conversation__isnull=False)
    assert calls.count() == server.count["requests"]
    assert calls.filter(outcome="answered").count() == server.count["answered"]
    assert calls.filter(outcome="overloaded").count() == server.count.get("overloaded", 0)
    assert not calls.filter(outcome="sent").exists()
    answered = calls.filter(outcome="answered")
    assert not answered.filter(cost=None).exists() and not answered.filter(tokens=None).exists()
    # Two dollars for a million tokens, whichever way they go.
    spent = answered.aggregate(cost=Sum("cost"), tokens=Sum("tokens"))
    assert abs(spent["cost"] - spent["tokens"] * Decimal("0.000002")) < Decimal("0.000001") * calls.count()
    assert not answered.exclude(tokens=F("input_tokens") + F("output_tokens")).exists()
    assert set(Conversation.objects.values_list("outcome", flat=True)) == {"answered"}
    assert {"read_file", "write_file", "replace_text", "run_command", "run_gates"} <= set(
        ToolRun.objects.filter(error=False).values_list("tool", flat=True)
    )
