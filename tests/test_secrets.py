"""scripts/secrets: made once, never changed, nobody else's."""

from __future__ import annotations

import re
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

NAMES = ["django_secret_key", "flower_login", "postgres_password", "redis_password"]


@pytest.fixture
def engine() -> Iterator[str]:
    """The address of a socket, as an engine has one. Its path is short, as those of sockets must be."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{folder}/docker.sock")
        yield f"unix://{folder}/docker.sock"


def run(folder: Path, engine: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "scripts" / "secrets", folder],
        check=False,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "DOCKER_HOST": engine},
    )


def make(folder: Path, engine: str) -> dict[str, str]:
    """The secrets' files after a run of the script."""
    done = run(folder, engine)
    assert done.returncode == 0, done.stderr
    return {path.name: path.read_text() for path in folder.iterdir() if not path.name.startswith(".")}


def test_each_secret_is_of_chance_in_a_folder_that_only_its_owner_enters(tmp_path: Path, engine: str) -> None:
    folder = tmp_path / "of" / "ours"

    made = make(folder, engine)

    assert sorted(made) == NAMES
    assert len({text.strip().removeprefix("envevo:") for text in made.values()}) == len(NAMES)
    assert all(re.fullmatch(r"(envevo:)?[0-9a-f]{64}\n", text) for text in made.values())
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / ".env").stat().st_mode & 0o777 == 0o600
    assert not [path for path in folder.iterdir() if "unfinished" in path.name]


def test_a_second_run_makes_what_is_missing_and_changes_nothing_else(tmp_path: Path, engine: str) -> None:
    before = make(tmp_path, engine)
    (tmp_path / "redis_password").unlink()
    settings = (tmp_path / ".env").read_text()

    after = make(tmp_path, engine)

    assert {name for name in NAMES if after[name] != before[name]} == {"redis_password"}
    assert (tmp_path / ".env").read_text() == settings


def test_an_engine_on_another_machine_leaves_no_socket_to_mount(tmp_path: Path) -> None:
    make(tmp_path, "tcp://engine.internal:2375")

    assert (tmp_path / ".env").read_text().splitlines() == [
        f"ENVEVO_SECRETS={tmp_path}", "ENVEVO_DOCKER_GID=0", "ENVEVO_DOCKER_SOCKET=/dev/null",
    ]  # fmt: skip


def test_an_engine_that_is_not_started_yet_is_asked_for_and_found_by_the_next_run(
    tmp_path: Path, engine: str
) -> None:
    refused = run(tmp_path, f"{engine}.not-yet")

    assert refused.returncode == 1
    assert f"no engine listens at {engine.removeprefix('unix://')}.not-yet; start Docker" in refused.stderr
    assert "ENVEVO_DOCKER" not in (tmp_path / ".env").read_text(), "a wrong address would stay"

    before = {name: (tmp_path / name).read_text() for name in NAMES}
    assert make(tmp_path, engine) == before
    assert f"ENVEVO_DOCKER_SOCKET={engine.removeprefix('unix://')}" in (tmp_path / ".env").read_text()


def test_a_setting_of_ones_own_stays_although_its_line_was_left_open(tmp_path: Path, engine: str) -> None:
    (tmp_path / ".env").write_text("ENVEVO_BIND=0.0.0.0:80")

    make(tmp_path, engine)

    assert (tmp_path / ".env").read_text().splitlines()[:2] == [
        "ENVEVO_BIND=0.0.0.0:80", f"ENVEVO_SECRETS={tmp_path}",
    ]  # fmt: skip
