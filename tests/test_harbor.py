"""What we and Harbor say of the same tasks: digests, lint, and a task that Harbor itself scaffolds."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command

from lineages.library.importing import import_folders
from sandboxes.intake import find_tasks, read_folder
from tests import harbor
from tests.conftest import HARBOR

pytestmark = pytest.mark.harbor

SEEDS = find_tasks(settings.SEEDS)
PACKAGER = """
import sys
from pathlib import Path
from harbor.publisher.packager import Packager
for path in sys.argv[1:]:
    print(Packager.compute_content_hash(Path(path))[0])
"""


def test_harbors_lint_finds_nothing_in_a_bundled_seed() -> None:
    assert len(SEEDS) >= 6 and harbor.lint(*SEEDS) == []


def test_harbors_lint_finds_what_is_there(scaffolded: Path) -> None:
    config = scaffolded / "task.toml"
    config.write_text(config.read_text() + "\n[nonsense]\nkey = 1\n")

    assert "unknown-config-field" in str(harbor.lint(*SEEDS[:1], scaffolded))


def test_our_source_digest_is_the_one_that_harbor_computes() -> None:
    python = HARBOR.parent.parent / "var" / "tools" / "harbor" / "bin" / "python"
    command = [str(python), "-c", PACKAGER, *map(str, SEEDS)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert ran.returncode == 0, ran.stderr
    assert [read_folder(seed).source_digest for seed in SEEDS] == ran.stdout.split()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `harbor init` makes; nobody writes to it."""
    folder = tmp_path_factory.mktemp("scaffold")
    command = [str(HARBOR), "init", "--task", "--no-pytest", "envevo-tests/hello", "-o", str(folder)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return folder / "hello"


@pytest.fixture
def scaffolded(made: Path, tmp_path: Path) -> Path:
    """A task that `harbor init` made and its author filled in."""
    task = tmp_path / "hello"
    shutil.copytree(made, task)
    (task / "instruction.md").write_text("Write the word hello to /app/hello.txt.\n")
    (task / "environment" / "Dockerfile").write_text("FROM debian:bookworm-slim\nWORKDIR /app\n")
    (task / "tests" / "Dockerfile").write_text("FROM debian:bookworm-slim\nWORKDIR /app\nCOPY . /tests/\n")
    (task / "solution" / "solve.sh").write_text("#!/bin/bash\necho hello > /app/hello.txt\n")
    (task / "tests" / "test.sh").write_text(
        "#!/bin/bash\n"
        'if [ "$(cat /app/hello.txt 2>/dev/null)" = hello ]; then echo 1; else echo 0; fi'
        " > /logs/verifier/reward.txt\n"
    )
    config = task / "task.toml"
    config.write_text(config.read_text().replace("artifacts = []", 'artifacts = ["/app/hello.txt"]'))
    return task


@pytest.mark.django_db(transaction=True)
def test_a_task_that_harbor_init_made_is_imported_and_verifies(
    scaffolded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = import_folders([scaffolded])
    assert [str(refusal) for _, refusal in report.refused] == []
    (seed,) = report.imported
    assert seed.environment.reference == "hello/g0"

    call_command("verify", "hello/g0", "--json")

    told = json.loads(capsys.readouterr().out)
    assert told["verdict"] == "passed"
    rewards = {gate["gate"]: gate["reward"] for gate in told["gates"]}
    assert (rewards["oracle"], rewards["invalid_test"]) == (1.0, 0.0)
