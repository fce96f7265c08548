"""The move from SQLite to PostgreSQL with the commands of docs/how-to/move-to-postgresql.md."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.conftest import ROOT

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(180)]

DUMP = ("dumpdata", "--format=jsonl", "--all")

Manage = Callable[..., str]


def manage(var: Path, database: str) -> Manage:
    """`manage.py` of an installation whose files are in `var`; in the product's own settings."""
    told = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "envevo_site.settings",
        "ENVEVO_VAR": str(var),
        "ENVEVO_DATABASE_URL": database,
        "ENVEVO_REDIS_URL": "",
        "ENVEVO_SANDBOX": "bubblewrap",
        "DJANGO_SUPERUSER_PASSWORD": "a-password-of-the-test-7",
    }

    def run(*words: str, given: str = "") -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=ROOT, env=told, input=given, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{words}: {done.stdout[-1000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("installation")


@pytest.fixture(scope="module")
def lived_in(folder: Path) -> Manage:
    """An installation on SQLite with a person, a seed and a generation grown by the offline author."""
    run = manage(folder, "")
    run("migrate", "--verbosity=0")
    run("createsuperuser", "--noinput", "--username", "ada", "--email", "ada@example.org")
    run("import_tasks", "seeds/log-forensics")
    run("evolve", "log-forensics/g0", "--directions", "length")
    return run


@pytest.fixture
def empty_database() -> Iterator[str]:
    """The address of a new PostgreSQL database, which is gone in the end."""
    server = os.environ["ENVEVO_TEST_DATABASE_URL"]
    name = f"moved_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(server, autocommit=True) as link:
        link.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield server.rpartition("/")[0] + f"/{name}"
        finally:
            link.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def moved(lived_in: Manage, empty_database: str, folder: Path) -> Manage:
    """The same installation after the move: new database, old files."""
    run = manage(folder, empty_database)
    run("migrate", "--verbosity=0")
    assert "lineages.Environment" in run("copy_sqlite", str(folder / "envevo.sqlite3"))
    return run


def rows(dump: str) -> list[dict[str, Any]]:
    return sorted(map(json.loads, dump.splitlines()), key=lambda row: (row["model"], str(row["pk"])))


def test_every_row_is_the_same_after_the_move_which_is_made_once_and_numbering_goes_on(
    lived_in: Manage, moved: Manage, empty_database: str, folder: Path
) -> None:
    before, after = rows(lived_in(*DUMP)), rows(moved(*DUMP))

    counts = Counter(row["model"] for row in before)
    assert (counts["lineages.environment"], counts["lineages.evolution"], counts["auth.user"]) == (2, 1, 1)
    assert counts["lineages.gateresult"] and counts["lineages.commandrun"] and counts["lineages.move"]
    assert after == before
    assert _starts(empty_database) == _starts_in_sqlite(folder / "envevo.sqlite3"), "to the microsecond"

    _refuses(moved, folder / "envevo.sqlite3", "has people or tasks already, and would lose them")
    moved("import_tasks", "seeds/data-wrangling")
    moved("createsuperuser", "--noinput", "--username", "bob", "--email", "bob@example.org")
    fresh = [row for row in rows(moved(*DUMP)) if row not in after]
    assert {row["pk"] for row in fresh if row["model"] == "lineages.environment"} == {3}
    assert {row["pk"] for row in fresh if row["model"] == "auth.user"} == {2}


def test_what_cannot_be_moved_is_refused_in_a_sentence(
    lived_in: Manage, folder: Path, tmp_path: Path
) -> None:
    old, empty, half = folder / "envevo.sqlite3", tmp_path / "empty.sqlite3", tmp_path / "half.sqlite3"
    empty.touch()
    half.write_bytes(old.read_bytes()[: old.stat().st_size // 2])

    _refuses(lived_in, tmp_path / "none.sqlite3", "there is no file")
    _refuses(lived_in, empty, "are not at the same migrations; run `manage.py migrate` for both")
    _refuses(lived_in, half, "error: the old file is no sound SQLite database")
    with closing(sqlite3.connect(old)) as link, link:
        link.execute(
            "UPDATE lineages_evolution SET lease_token = 'held', lease_until = '2999-01-01 00:00:00'"
        )
    _refuses(lived_in, old, "is being worked on; stop its workers")


def test_a_row_that_refers_to_nothing_stops_the_whole_move(
    lived_in: Manage, empty_database: str, folder: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old.sqlite3"
    with closing(sqlite3.connect(folder / "envevo.sqlite3")) as link, closing(sqlite3.connect(old)) as copy:
        link.backup(copy)
        copy.execute("UPDATE lineages_evolution SET lease_token = ''")
        copy.execute("UPDATE lineages_environment SET lineage_id = 99 WHERE generation = 1")
        copy.commit()
    run = manage(folder, empty_database)
    run("migrate", "--verbosity=0")

    _refuses(run, old, "error: a row does not fit into the new database .*; nothing is stored")

    with psycopg.connect(empty_database) as link:
        found = link.execute(
            "SELECT (SELECT count(*) FROM auth_group), (SELECT count(*) FROM auth_user), "
            "(SELECT count(*) FROM lineages_environment), (SELECT count(*) FROM lineages_move)"
        )
        assert found.fetchone() == (4, 0, 0, 0), "what the migrations made is there again, and nothing else"


def _refuses(run: Manage, path: Path, says: str) -> None:
    with pytest.raises(AssertionError, match=says) as refused:
        run("copy_sqlite", str(path))
    assert "Traceback" not in str(refused.value)


def _starts(address: str) -> list[str]:
    with psycopg.connect(address) as link:
        found = link.execute("SELECT started_at AT TIME ZONE 'UTC' FROM lineages_commandrun ORDER BY id")
        return [start.isoformat(" ") for (start,) in found]


def _starts_in_sqlite(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as link:
        return [start for (start,) in link.execute("SELECT started_at FROM lineages_commandrun ORDER BY id")]
