"""scripts/secrets: made once, never changed, nobody else's."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.conftest import ROOT

NAMES = ["django_secret_key", "flower_login", "postgres_password", "redis_password"]


def make(folder: Path, **environment: str) -> dict[str, str]:
    """The secrets' files after a run of the script."""
    subprocess.run(
        [ROOT / "scripts" / "secrets", folder],
        check=True,
        capture_output=True,
        env={"PATH": "/usr/bin:/bin", **environment},
    )
    return {path.name: path.read_text() for path in folder.iterdir() if not path.name.startswith(".")}


def test_each_secret_is_of_chance_in_a_folder_that_only_its_owner_enters(tmp_path: Path) -> None:
    folder = tmp_path / "of" / "ours"

    made = make(folder)

    assert sorted(made) == NAMES
    assert len({text.strip().removeprefix("envevo:") for text in made.values()}) == len(NAMES)
    assert all(re.fullmatch(r"(envevo:)?[0-9a-f]{64}\n", text) for text in made.values())
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / ".env").stat().st_mode & 0o777 == 0o600
    assert not [path for path in folder.iterdir() if "unfinished" in path.name]


def test_a_second_run_makes_what_is_missing_and_changes_nothing_else(tmp_path: Path) -> None:
    before = make(tmp_path)
    (tmp_path / "redis_password").unlink()
    settings = (tmp_path / ".env").read_text()

    after = make(tmp_path)

    assert {name for name in NAMES if after[name] != before[name]} == {"redis_password"}
    assert (tmp_path / ".env").read_text() == settings


def test_an_engine_on_another_machine_leaves_no_socket_to_mount(tmp_path: Path) -> None:
    make(tmp_path, DOCKER_HOST="tcp://engine.internal:2375")

    assert (tmp_path / ".env").read_text().splitlines() == [
        f"ENVEVO_SECRETS={tmp_path}", "ENVEVO_DOCKER_GID=0", "ENVEVO_DOCKER_SOCKET=/dev/null",
    ]  # fmt: skip
