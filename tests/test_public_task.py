"""A task that nobody wrote for this project, from its folder to three generations in Harbor.

`ENVEVO_PUBLIC_TASK` names the folder, fetched by hand: docs/how-to/grow-a-public-task.md says how.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docker import DockerClient

from tests import harbor
from tests.conftest import ROOT

FOLDER = os.environ.get("ENVEVO_PUBLIC_TASK", "")
GENERATIONS = 3
LIMIT_SECONDS = 1800

pytestmark = [
    pytest.mark.skipif(not FOLDER, reason="ENVEVO_PUBLIC_TASK names no folder of a task to try"),
    pytest.mark.docker,
    pytest.mark.harbor,
    pytest.mark.timeout(LIMIT_SECONDS),
]

Answer = dict[str, Any]


class Installation:
    """An installation of its own, used by its commands as anybody would."""

    def __init__(self, folder: Path, instance: str) -> None:
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ENVEVO_")},
            "ENVEVO_VAR": str(folder),
            "ENVEVO_INSTANCE": instance,
            "ENVEVO_SANDBOX": "docker",
            # As Harbor does it: public tasks install what their tests need when they are built.
            "ENVEVO_BUILD_NETWORK": "true",
        }

    def run(self, *words: str) -> str:
        """What the command prints. It fails the test unless all went well."""
        command = [sys.executable, str(ROOT / "manage.py"), *words]
        done = subprocess.run(
            command, env=self._environment, capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS
        )
        assert done.returncode == 0, f"{words[0]} ended with {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def answer(self, *words: str) -> Answer:
        return dict(json.loads(self.run(*words, "--json")))


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory, engine: DockerClient) -> Iterator[Installation]:
    instance = f"public-{secrets.token_hex(4)}"
    made = Installation(tmp_path_factory.mktemp("installation"), instance)
    made.run("migrate", "--verbosity", "0")
    yield made
    for image in engine.images.list(filters={"label": f"org.envevo.instance={instance}"}):
        engine.images.remove(str(image.id), force=True)


@pytest.fixture(scope="module")
def imported(installation: Installation) -> Answer:
    told = installation.answer("import_tasks", FOLDER)
    assert len(told["imported"]) == 1, f"{FOLDER} is more than one task"
    return dict(told["imported"][0])


@pytest.fixture(scope="module")
def verified(installation: Installation, imported: Answer) -> Answer:
    return installation.answer("verify", imported["reference"])


@pytest.fixture(scope="module")
def grown(installation: Installation, verified: Answer) -> Answer:
    return installation.answer("evolve", verified["target"], "--generations", str(GENERATIONS))


def test_the_gates_agree_with_the_task(verified: Answer) -> None:
    rewards = {gate["gate"]: gate["reward"] for gate in verified["gates"] if gate["reward"] is not None}

    assert (verified["verdict"], rewards) == ("passed", {"oracle": 1.0, "invalid_test": 0.0})


def test_three_generations_grow_from_it_each_another_task(grown: Answer, verified: Answer) -> None:
    numbers = [generation["generation"] for generation in grown["generations"]]
    digests = {generation["digest"] for generation in grown["generations"]}

    assert (grown["status"], numbers) == ("accepted", list(range(1, 1 + GENERATIONS)))
    assert len(digests | {verified["digest"]}) == 1 + GENERATIONS


@pytest.mark.parametrize("generation", range(1, 1 + GENERATIONS))
def test_a_generation_runs_in_harbor(
    generation: int, installation: Installation, grown: Answer, tmp_path: Path
) -> None:
    task = tmp_path / "task"
    reference = grown["generations"][generation - 1]["reference"]
    installation.run("export", reference, "--out", str(task))

    assert harbor.lint(task) == []
    assert harbor.reward(task, "oracle", tmp_path / "oracle") == 1.0
    assert harbor.reward(task, "nop", tmp_path / "nop") == 0.0
