"""Settings: values in files, and what refuses to start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from envevo_site.config import Config
from envevo_site.value_files import UnusableFile
from tests.conftest import ROOT


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text("hu/sh 1\n")
    return path


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("ENVEVO_")]:
        monkeypatch.delenv(name)


def test_a_value_may_stand_in_a_file_and_the_line_break_at_its_end_does_not_count(
    monkeypatch: pytest.MonkeyPatch, secret: Path
) -> None:
    monkeypatch.setenv("ENVEVO_SECRET_KEY_FILE", str(secret))

    assert Config().signing_key() == "hu/sh 1"


def test_any_setting_may_stand_in_a_file_and_is_checked_as_ever(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hosts, slots = tmp_path / "hosts", tmp_path / "slots"
    hosts.write_text("a.example.org, b.example.org")
    slots.write_text("0")
    monkeypatch.setenv("ENVEVO_ALLOWED_HOSTS_FILE", str(hosts))
    assert Config().allowed_hosts == ["a.example.org", "b.example.org"]

    monkeypatch.setenv("ENVEVO_SLOTS_FILE", str(slots))
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        Config()


def test_passwords_join_their_addresses_escaped(monkeypatch: pytest.MonkeyPatch, secret: Path) -> None:
    monkeypatch.setenv("ENVEVO_DATABASE_URL", "postgresql://envevo@postgres:5432/envevo")
    monkeypatch.setenv("ENVEVO_DATABASE_PASSWORD_FILE", str(secret))
    monkeypatch.setenv("ENVEVO_REDIS_URL", "redis://redis:6379/0")
    monkeypatch.setenv("ENVEVO_REDIS_PASSWORD_FILE", str(secret))

    config = Config()

    assert config.database() == "postgresql://envevo:hu%2Fsh%201@postgres:5432/envevo"
    assert config.broker() == "redis://:hu%2Fsh%201@redis:6379/0"
    assert "hu/sh" not in repr(config)


@pytest.mark.parametrize(
    "address", ["", "postgresql://envevo:known@postgres/envevo", "sqlite:////tmp/envevo.sqlite3"]
)
def test_a_password_beside_an_address_that_takes_none_is_refused(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("ENVEVO_DATABASE_URL", address)
    monkeypatch.setenv("ENVEVO_DATABASE_PASSWORD", "given")

    with pytest.raises(ValueError, match="DATABASE_PASSWORD is for a DATABASE_URL with a host and without"):
        Config()


@pytest.mark.parametrize(
    ("variable", "content", "says"),
    [
        ("ENVEVO_SECRET_KEY_FILE", None, "cannot be read"),
        ("ENVEVO_SECRET_KEY_FILE", b" \n", "is empty; write the value into it"),
        ("ENVEVO_SECRET_KEY_FILE", b"\xff\xfe", "cannot be read"),
        ("ENVEVO_SECRET_KEYS_FILE", b"key", "there is no setting ENVEVO_SECRET_KEYS"),
    ],
)
def test_a_file_that_gives_no_value_is_refused_by_its_variable(
    variable: str, content: bytes | None, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "secret"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv(variable, str(path))

    with pytest.raises(UnusableFile, match=f"^{variable}: .*{says}"):
        Config()


def test_an_empty_name_of_a_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENVEVO_SECRET_KEY_FILE", "")

    with pytest.raises(UnusableFile, match="an empty name cannot be read"):
        Config()


def test_a_setting_given_both_ways_is_refused(monkeypatch: pytest.MonkeyPatch, secret: Path) -> None:
    monkeypatch.setenv("ENVEVO_SECRET_KEY_FILE", str(secret))
    monkeypatch.setenv("ENVEVO_SECRET_KEY", "another")

    with pytest.raises(UnusableFile, match="ENVEVO_SECRET_KEY is set too; keep one of them"):
        Config()


def test_without_its_secret_nothing_starts_and_one_sentence_says_why(tmp_path: Path) -> None:
    told = {**os.environ, "ENVEVO_VAR": str(tmp_path), "ENVEVO_SECRET_KEY_FILE": "/nowhere/key"}
    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env=told,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "envevo does not start, its settings are wrong:"
    assert "ENVEVO_SECRET_KEY_FILE: /nowhere/key cannot be read" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "secret_key").exists(), "no other key is made instead"
