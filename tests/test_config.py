"""Settings: values in files, and what refuses to start."""

from __future__ import annotations

import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from envevo_site.config import Config, load, load_book
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

    says = "ENVEVO_DATABASE_PASSWORD: it is for an ENVEVO_DATABASE_URL with a host and without"
    with pytest.raises(ValueError, match=says):
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


def test_a_setting_that_has_two_names_may_stand_in_a_file_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    address = tmp_path / "address"
    address.write_text("tcp://engine.internal:2375\n")
    monkeypatch.setenv("ENVEVO_DOCKER_HOST_FILE", str(address))

    for other in ("", "unix:///elsewhere"):
        monkeypatch.setenv("DOCKER_HOST", other)
        assert Config().docker_host == "tcp://engine.internal:2375"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("VAR", "{file}", "cannot be made a folder"),
        ("VAR", "/proc/none", "cannot be made a folder"),
        ("BLOBS", "{file}/below", "cannot be made a folder"),
        ("DATABASE_URL", "mysql://h/x", "write postgresql://"),
        ("DATABASE_URL", "postgresql://u:secret@h:abc/x", "write postgresql://"),
        ("DATABASE_URL", "postgresql://u:secret@h:99999/x", "write postgresql://"),
        ("DATABASE_URL", "postgresql://u:secret@[h/x", "write postgresql://"),
        ("DATABASE_URL", "postgresql://", "it names no database"),
        ("DATABASE_URL", "sqlite:///", "it names no database"),
        ("REDIS_URL", "h:6379", "write redis://"),
        ("REDIS_URL", "http://h", "write redis://"),
        ("REDIS_URL", "redis://u:secret@h:99999/0", "write redis://"),
        ("REDIS_URL", "redis://u:secret@[h/0", "write redis://"),
        ("REDIS_URL", "redis://h/abc", "write redis://"),
        ("REDIS_URL", "redis:///0", "write redis://"),
        ("ALLOWED_HOSTS", "a.example,https://b.example", "'https://b.example' is no host name"),
        ("ALLOWED_HOSTS", "a.example:8000", "is no host name"),
        ("ALLOWED_HOSTS", "*.example.org", "is no host name"),
        ("CSRF_TRUSTED_ORIGINS", "envevo.example.org", "is no origin"),
        ("CSRF_TRUSTED_ORIGINS", "https://envevo.example.org/", "is no origin"),
        ("PROXY_HEADER", "X Forwarded For", "is no header's name"),
        ("INSTANCE", "Night Shift", "cannot be in an image's name"),
        ("INSTANCE", "night-", "cannot be in an image's name"),
        ("DOCKER_HOST", "engine.internal:2375", "write unix://"),
        ("TIME_ZONE", "Mars", "'Mars' is no time zone"),
        ("PULSE", "/nowhere/pulse", "name one in a folder that is there"),
        ("SLOTS", "0", "greater than or equal to 1"),
        ("SLOTS", "two", "valid integer"),
        ("SESSION_HOURS", "inf", "less than or equal to 8760"),
        ("SESSION_HOURS", "1e-9", "greater than or equal to 0.01"),
        ("LOGIN_LOCK_MINUTES", "nan", "less than or equal to 525600"),
        ("LOGIN_LOCK_MINUTES", "1e300", "less than or equal to 525600"),
        ("FAULT_BACKOFF_SECONDS", "inf", "less than or equal to 86400"),
        ("COLLECT_HOURS", "inf", "less than or equal to"),
        ("ORPHAN_HOURS", "inf", "less than or equal to"),
        ("SANDBOX_CPUS", "inf", "less than or equal to"),
        ("SANDBOX", "podman", "'auto', 'docker' or 'bubblewrap'"),
        ("DEBUG", "maybe", "valid boolean"),
        ("MODELS", "/nowhere/models.toml", "/nowhere/models.toml is no file that this user may read"),
        ("BUDGET_DAY", "-1", "greater than or equal to 0"),
        ("BUDGET_EVOLUTION", "NaN", "finite number"),
        ("BUDGET_LINEAGE", "ten", "valid decimal"),
    ],
)
def test_a_wrong_value_ends_the_start_with_one_line_that_names_the_variable_and_no_secret(
    name: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(f"ENVEVO_{name}", value.format(file=tmp_path / "file"))

    with pytest.raises(SystemExit) as left:
        load()

    head, *lines = str(left.value).splitlines()
    assert head == "envevo does not start, its settings are wrong:"
    assert len(lines) == 1 and lines[0].startswith(f"  ENVEVO_{name}: ") and says in lines[0]
    assert "secret" not in lines[0] and "Value error" not in lines[0]


def test_two_settings_that_do_not_fit_each_other_are_both_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENVEVO_LEASE_SECONDS", "15")

    with pytest.raises(SystemExit) as left:
        load()

    [line] = str(left.value).splitlines()[1:]
    assert line.startswith("  ENVEVO_LEASE_BEAT_SECONDS: it must be at most half of ENVEVO_LEASE_SECONDS, or")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "postgresql://u:p%2F@[::1]:5432/x?sslmode=require"),
        ("DATABASE_URL", "sqlite:////somewhere/x.sqlite3"),
        ("REDIS_URL", "rediss://:p@h:6379/1"),
        ("REDIS_URL", "redis://h"),
        ("DOCKER_HOST", "ssh://me@engine.internal"),
        ("INSTANCE", "envevo-test_1.b"),
        ("PROXY_HEADER", "X-Forwarded-For"),
    ],
)
def test_a_right_value_stays_as_it_was_written(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"ENVEVO_{name}", value)

    assert getattr(load(), name.lower()) == value


def test_lists_take_what_django_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENVEVO_ALLOWED_HOSTS", "*, .example.org, localhost,[::1], 10.0.0.7")
    monkeypatch.setenv("ENVEVO_CSRF_TRUSTED_ORIGINS", "https://*.example.org,http://a:8000")

    config = load()

    assert config.allowed_hosts == ["*", ".example.org", "localhost", "[::1]", "10.0.0.7"]
    assert config.csrf_trusted_origins == ["https://*.example.org", "http://a:8000"]


def test_folders_are_taken_from_where_the_process_started_and_do_not_move_with_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENVEVO_VAR", "here")
    monkeypatch.setenv("ENVEVO_BLOBS", "shared/blobs")

    config = load()

    assert (config.var, config.blobs) == (tmp_path / "here", tmp_path / "shared" / "blobs")


MODELS = """
[models.opus]
provider = "anthropic"
model = "claude-opus-5"
key_variable = "SOME_KEY"

[teams.careful]
default = "opus"
plan_reviewer = "manual"
"""


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "models.toml"
    path.write_text(MODELS)
    monkeypatch.setenv("ENVEVO_MODELS", str(path))
    return path


@pytest.mark.usefixtures("models")
def test_models_come_from_their_file_with_keys_from_the_variables_that_it_names(
    monkeypatch: pytest.MonkeyPatch, secret: Path
) -> None:
    assert load_book(load()).model("opus").key is None, "a missing key is no error until it is needed"

    monkeypatch.setenv("SOME_KEY", "sk-1")
    book = load_book(load())
    assert sorted(book.models) == ["manual", "opus"] and book.team("careful")
    assert book.model("opus").key.get_secret_value() == "sk-1"
    assert "sk-1" not in repr(book)

    monkeypatch.delenv("SOME_KEY")
    monkeypatch.setenv("SOME_KEY_FILE", str(secret))
    assert load_book(load()).model("opus").key.get_secret_value() == "hu/sh 1"


@pytest.mark.usefixtures("models")
def test_a_key_given_both_ways_or_in_a_file_that_is_not_there_is_refused(
    monkeypatch: pytest.MonkeyPatch, secret: Path
) -> None:
    monkeypatch.setenv("SOME_KEY_FILE", str(secret))
    monkeypatch.setenv("SOME_KEY", "sk-1")
    with pytest.raises(SystemExit, match="SOME_KEY_FILE: SOME_KEY is set too; keep one of them"):
        load_book(load())

    monkeypatch.delenv("SOME_KEY")
    monkeypatch.setenv("SOME_KEY_FILE", "/nowhere/key")
    with pytest.raises(SystemExit, match="SOME_KEY_FILE: /nowhere/key cannot be read"):
        load_book(load())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("models = ?", "at line 1"),
        ('[models.opus]\nprovider = "anthropic"\n', "models.opus.model is missing"),
        ('[models.opus]\nprovider = "claude"\nmodel = "x"\n', "models.opus.provider: "),
        ('[teams.careful]\ndefault = "opus"\n', "'opus', which is no model here"),
    ],
)
def test_a_wrong_models_file_ends_the_start_and_says_where(text: str, says: str, models: Path) -> None:
    models.write_text(text)

    with pytest.raises(SystemExit) as left:
        load_book(load())

    head, line, *_ = str(left.value).splitlines()
    assert head == "envevo does not start, its settings are wrong:"
    assert line.startswith(f"  {models}: ") and says in line


def test_without_a_models_file_the_only_model_is_a_person(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("envevo_site.config.BASE", tmp_path)
    assert sorted(load_book(load()).models) == ["manual"]

    (tmp_path / "models.toml").write_text(MODELS)
    assert sorted(load_book(load()).models) == ["manual", "opus"]


def test_a_budget_is_no_bound_until_it_is_set_and_0_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENVEVO_BUDGET_DAY", "0")
    monkeypatch.setenv("ENVEVO_BUDGET_LINEAGE", "12.50")
    monkeypatch.setenv("ENVEVO_BUDGET_EVOLUTION", "")

    config = load()

    assert config.budget_evolution is None
    assert (config.budget_lineage, config.budget_day) == (Decimal("12.50"), Decimal(0))


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
